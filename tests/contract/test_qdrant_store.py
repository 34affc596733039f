"""The store contract, run against Qdrant's client in memory, and its engine behind a double of REST."""

from collections.abc import Iterator
from typing import ClassVar
from uuid import uuid4

import pytest

from ragstone.ports import VectorStore
from ragstone.stores import QdrantSparseStore, QdrantStore
from ragstone.testing.store_contract import VectorStoreContract
from support.qdrant_server import KEY, QdrantServer, qdrant


class QdrantContract(VectorStoreContract):
    kind: ClassVar[type[QdrantStore]] = QdrantStore

    async def close_store(self, store: VectorStore) -> None:
        assert isinstance(store, QdrantStore)
        await store.delete_collection(store.collection)
        await store.aclose()


@pytest.mark.row("K1", "K3")
class TestQdrantInMemory(QdrantContract):
    async def make_store(self, dimensions: int) -> QdrantStore:
        return self.kind(":memory:", collection="chunks", dimensions=dimensions)


@pytest.mark.row("K1", "K3")
class TestQdrantSparseInMemory(TestQdrantInMemory):
    kind = QdrantSparseStore


@pytest.mark.row("K1", "K3")
@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
class TestQdrantEngine(QdrantContract):
    server: ClassVar[QdrantServer]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _engine(cls) -> Iterator[None]:
        with qdrant() as cls.server:
            yield

    async def make_store(self, dimensions: int) -> QdrantStore:
        return QdrantSparseStore(self.server.url, collection=f"chunks {uuid4()}", dimensions=dimensions, api_key=KEY)
