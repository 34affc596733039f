"""What is remembered, so that it is not paid for twice: vectors of texts, whole pages, answers."""

from ragstone.caching.answers import CachingChat
from ragstone.caching.embeddings import CachingEmbedder
from ragstone.caching.generation import IndexGeneration
from ragstone.caching.levels import Codec, TwoLevelCache
from ragstone.caching.memory import MemoryCache
from ragstone.caching.redis import RedisCache

__all__ = [
    "CachingChat",
    "CachingEmbedder",
    "Codec",
    "IndexGeneration",
    "MemoryCache",
    "RedisCache",
    "TwoLevelCache",
]
