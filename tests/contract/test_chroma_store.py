"""The store contract, run against a real Chroma server."""

from uuid import uuid4

import pytest

from ragstone.ports import VectorStore
from ragstone.stores import ChromaStore
from ragstone.testing.store_contract import VectorStoreContract


@pytest.mark.row("K1")
@pytest.mark.row("K6")
class TestChromaStore(VectorStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, chroma_url: str) -> None:
        type(self).url = chroma_url

    async def make_store(self, dimensions: int) -> ChromaStore:
        self.name = f"test-{uuid4().hex}"
        return ChromaStore(self.name, base_url=self.url)

    async def close_store(self, store: VectorStore) -> None:
        assert isinstance(store, ChromaStore)
        await store.delete_collection(self.name)
        await store.aclose()
