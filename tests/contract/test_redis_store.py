"""The store contract, run against a real Redis with its search module."""

from uuid import uuid4

import pytest

from ragstone.ports import VectorStore
from ragstone.stores import RedisVectorStore
from ragstone.testing.store_contract import VectorStoreContract

KEYS = ("flag", "a b", "a.b", 'q"uote', "ключ", "$where", "lang", "v", "k")


@pytest.mark.row("K1")
@pytest.mark.row("K8")
class TestRedisVectorStore(VectorStoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, redis_url: str) -> None:
        type(self).url = redis_url

    async def make_store(self, dimensions: int) -> RedisVectorStore:
        self.name = f"test-{uuid4().hex}"
        return RedisVectorStore(self.url, self.name, dimensions=dimensions, filterable_keys=KEYS)

    async def close_store(self, store: VectorStore) -> None:
        assert isinstance(store, RedisVectorStore)
        await store.delete_collection(self.name)
        await store.aclose()
