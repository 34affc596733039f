"""The store contract, run against Azure AI Search's double through the vendor's client."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from ragstone.ports import VectorStore
from ragstone.stores import AzureAISearchStore
from ragstone.testing.store_contract import VectorStoreContract
from support.azure_search_service import KEY, Service, running_azure_search


@pytest.fixture(scope="class", autouse=True)
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with running_azure_search() as service:
        request.cls.service = service
        yield service


@pytest.mark.row("K1")
@pytest.mark.row("K4")
class TestAzureAISearchStore(VectorStoreContract):
    service: Service

    async def make_store(self, dimensions: int) -> AzureAISearchStore:
        return AzureAISearchStore(
            self.service.url, f"test-{uuid4().hex}", KEY, dimensions=dimensions, indexing_delay=0.0, max_retries=0
        )

    async def close_store(self, store: VectorStore) -> None:
        assert isinstance(store, AzureAISearchStore)
        await store.delete_collection(store.index_name)
        await store.aclose()
