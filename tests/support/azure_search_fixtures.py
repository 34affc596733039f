"""What the tests of the store over Azure AI Search share."""

from __future__ import annotations

from typing import Any

from ragstone.models import SearchOptions, SearchResult
from ragstone.stores import AzureAISearchStore
from ragstone.testing._samples import query
from support.azure_search_service import KEY, Service

INDEX = "chunks"


def make_store(service: Service, **options: Any) -> AzureAISearchStore:
    """A store of two dimensions that waits for nothing and tries once."""
    settings = {"dimensions": 2, "indexing_delay": 0.0, "max_retries": 0, **options}
    return AzureAISearchStore(
        service.url, settings.pop("index_name", INDEX), settings.pop("credential", KEY), **settings
    )


async def everything(store: AzureAISearchStore, **options: Any) -> list[SearchResult]:
    return await store.search(query(1, 0), SearchOptions(top_k=1000, **options))


LEGACY_FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "Edm.String", "key": True},
    {"name": "document_id", "type": "Edm.String", "filterable": True},
    {"name": "chunk_index", "type": "Edm.Int32"},
    {"name": "text", "type": "Edm.String", "searchable": True},
    {"name": "metadata", "type": "Edm.String"},
    {
        "name": "embedding",
        "type": "Collection(Edm.Single)",
        "searchable": True,
        "dimensions": 2,
        "vectorSearchProfile": "old-profile",
    },
]


def legacy_index(*, metric: str = "cosine", **changes: dict[str, Any]) -> dict[str, Any]:
    """An index from before metadata had kinds, with whatever its owner added; `changes` are of fields, by name."""
    return {
        "name": INDEX,
        "fields": [item | changes.get(item["name"], {}) for item in LEGACY_FIELDS],
        "scoringProfiles": [{"name": "of the owner"}],
        "vectorSearch": {
            "algorithms": [{"name": "old", "kind": "hnsw", "hnswParameters": {"metric": metric}}],
            "profiles": [{"name": "old-profile", "algorithm": "old"}],
        },
    }
