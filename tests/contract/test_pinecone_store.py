"""The store contract, run against Pinecone's double."""

from collections.abc import Iterator
from typing import ClassVar
from uuid import uuid4

import pytest

from ragstone.ports import VectorStore
from ragstone.stores import PineconeSparseStore, PineconeStore
from ragstone.testing.store_contract import VectorStoreContract
from support.pinecone_service import KEY, PineconeService, running_pinecone


@pytest.mark.row("K1", "K7")
class TestPineconeStore(VectorStoreContract):
    kind: ClassVar[type[PineconeStore]] = PineconeStore
    service: ClassVar[PineconeService]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _service(cls) -> Iterator[None]:
        with running_pinecone() as cls.service:
            yield

    async def make_store(self, dimensions: int) -> PineconeStore:
        name = f"test-{uuid4().hex}"
        return self.kind(name, api_key=KEY, base_url=self.service.url, dimensions=dimensions, max_retries=0)

    async def close_store(self, store: VectorStore) -> None:
        assert isinstance(store, PineconeStore)
        await store.delete_collection(store.index_name)
        await store.aclose()


@pytest.mark.row("K1", "K7")
class TestPineconeSparseStore(TestPineconeStore):
    kind = PineconeSparseStore
