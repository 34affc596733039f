"""The store contract, run against Qdrant's own imitation of a server: its filters, its cosine, no network."""

import pytest

from ragstone.ports import VectorStore
from ragstone.stores import QdrantSparseStore, QdrantStore
from ragstone.testing.store_contract import VectorStoreContract


@pytest.mark.row("K1", "K3")
class TestQdrantStore(VectorStoreContract):
    async def make_store(self, dimensions: int) -> QdrantStore:
        return QdrantStore(":memory:", collection="chunks", dimensions=dimensions)

    async def close_store(self, store: VectorStore) -> None:
        assert isinstance(store, QdrantStore)
        await store.aclose()


@pytest.mark.row("K1", "K3")
class TestQdrantSparseStore(TestQdrantStore):
    async def make_store(self, dimensions: int) -> QdrantStore:
        return QdrantSparseStore(":memory:", collection="chunks", dimensions=dimensions)
