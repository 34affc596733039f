"""The store contract, run against Weaviate's double."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from ragstone.ports import VectorStore
from ragstone.stores import WeaviateStore
from ragstone.testing.store_contract import VectorStoreContract
from support.weaviate_service import Service, running_weaviate


@pytest.fixture(scope="class", autouse=True)
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with running_weaviate() as service:
        request.cls.service = service
        yield service


@pytest.mark.row("K1")
@pytest.mark.row("K5")
class TestWeaviateStore(VectorStoreContract):
    service: Service

    def score_of(self, cosine: float) -> float:
        return (1 + cosine) / 2

    async def make_store(self, dimensions: int) -> WeaviateStore:
        name = f"Test{uuid4().hex}"
        return WeaviateStore(name, base_url=self.service.url, dimensions=dimensions, max_retries=0)

    async def close_store(self, store: VectorStore) -> None:
        assert isinstance(store, WeaviateStore)
        await store.delete_collection(store.class_name)
        await store.aclose()
