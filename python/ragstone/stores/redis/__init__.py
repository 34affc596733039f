"""Chunks as hashes in Redis, searched by its search module."""

from ragstone.stores.redis.store import RedisVectorStore

__all__ = ["RedisVectorStore"]
