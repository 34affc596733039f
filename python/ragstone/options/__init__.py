"""Every option of retrieving, ingesting and asking: frozen, validated where it is constructed, never in mid-request."""

from ragstone.options.asking import PersistentMemoryOptions, RagOptions
from ragstone.options.ensemble import EnsembleOptions, Fusion
from ragstone.options.ingestion import IngestionOptions
from ragstone.options.retrieval import RetrievalOptions
from ragstone.options.techniques import (
    CachingOptions,
    CompressionOptions,
    DeepResearchOptions,
    HydeOptions,
    MultiQueryOptions,
    ParentDocumentOptions,
    TagRetrievalOptions,
    TimeWeightedOptions,
)

__all__ = [
    "CachingOptions",
    "CompressionOptions",
    "DeepResearchOptions",
    "EnsembleOptions",
    "Fusion",
    "HydeOptions",
    "IngestionOptions",
    "MultiQueryOptions",
    "ParentDocumentOptions",
    "PersistentMemoryOptions",
    "RagOptions",
    "RetrievalOptions",
    "TagRetrievalOptions",
    "TimeWeightedOptions",
]
