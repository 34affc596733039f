"""The store contract, run against PostgreSQL with pgvector."""

from __future__ import annotations

from uuid import uuid4

import pytest

from ragstone.stores import PgVectorHybridStore, PgVectorSparseStore, PgVectorStore
from ragstone.testing.store_contract import VectorStoreContract


class PgVectorContract(VectorStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres_url: str) -> None:
        type(self).url = postgres_url

    async def close_store(self, store: PgVectorStore) -> None:
        await store.delete_collection(store.collection)
        await store.aclose()


@pytest.mark.row("K1")
@pytest.mark.row("K2")
class TestPgVectorStore(PgVectorContract):
    async def make_store(self, dimensions: int) -> PgVectorStore:
        return PgVectorStore(self.url, dimensions=dimensions, collection=f"test_{uuid4().hex}")


@pytest.mark.row("K1")
@pytest.mark.row("K2")
class TestPgVectorSparseStore(PgVectorContract):
    async def make_store(self, dimensions: int) -> PgVectorSparseStore:
        return PgVectorSparseStore(self.url, dimensions=dimensions, collection=f"test_{uuid4().hex}")


@pytest.mark.row("K1")
@pytest.mark.row("K2")
class TestPgVectorHybridStore(PgVectorContract):
    async def make_store(self, dimensions: int) -> PgVectorHybridStore:
        return PgVectorHybridStore(self.url, dimensions=dimensions, collection=f"test_{uuid4().hex}")
