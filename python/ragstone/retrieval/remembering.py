"""Parts that remember: the caches that a pipeline's options ask for, put around its parts."""

from __future__ import annotations

from dataclasses import replace

from ragstone.caching import CachingEmbedder, IndexGeneration, TwoLevelCache
from ragstone.concurrency import offload
from ragstone.options import CachingOptions
from ragstone.ports import CacheBackend
from ragstone.retrieval.codec import CandidatesCodec
from ragstone.retrieval.identity import pipeline_identity
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.stages.result_cache import PageMemory

__all__ = ["remembering"]


async def remembering(
    parts: RetrievalParts, options: CachingOptions, *, generation: IndexGeneration, backend: CacheBackend | None
) -> RetrievalParts:
    """Return the parts with caches of vectors and of pages.

    Args:
        parts: All parts of the pipeline, since the name of a page's pipeline is made of them.
        options: Which caches there are, and how long they remember.
        generation: Names what the indexes hold.
        backend: Where they remember beyond the process.
    """
    if options.embedding_ttl is not None and parts.embedder is not None:
        embedder = CachingEmbedder(
            parts.embedder,
            ttl=options.embedding_ttl,
            max_entries=options.max_entries,
            clock=parts.clock,
            backend=backend,
        )
        parts = replace(parts, caching_embedder=embedder)
    if options.result_ttl is not None:
        cache = TwoLevelCache(
            CandidatesCodec(),
            ttl=options.result_ttl,
            max_entries=options.max_entries,
            clock=parts.clock,
            backend=backend,
        )
        pipeline = await offload(pipeline_identity, parts, generation.instance)
        parts = replace(parts, pages=PageMemory(cache, generation, pipeline))
    return parts
