"""The store contract, run against a resilient store: the wrapper changes nothing."""

import pytest

from ragstone.stores import InMemoryVectorStore, ResilientVectorStore
from ragstone.testing.store_contract import VectorStoreContract


@pytest.mark.row("K1", "K10")
class TestResilientVectorStore(VectorStoreContract):
    async def make_store(self, dimensions: int) -> ResilientVectorStore:
        return ResilientVectorStore(InMemoryVectorStore(dimensions))
