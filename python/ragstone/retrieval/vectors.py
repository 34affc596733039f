"""The vectors that a call needs: the query's, once, and those of candidates, from the cheapest source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragstone.encoders.checked import embed_checked
from ragstone.errors import CapabilityError
from ragstone.models import ChunkKey, Vector, Vectors
from ragstone.ports import Embedder, EmbeddingReadable, InputType, VectorStore
from ragstone.retrieval.candidate import Candidate

__all__ = ["CallVectors"]


class CallVectors:
    """The embeddings of one call: lives as long as the call, so that nothing is embedded twice in it.

    It is an embedder too, for parts that take one.
    """

    __slots__ = ("_embedder", "_of_chunk", "_of_query", "_store")

    def __init__(self, embedder: Embedder | None, store: VectorStore | None) -> None:
        self._embedder = embedder
        self._store = store
        self._of_query: dict[str, Vector] = {}
        self._of_chunk: dict[ChunkKey, Vector] = {}

    def _require(self, purpose: str) -> Embedder:
        if self._embedder is None:
            raise CapabilityError(f"{purpose} needs an embedder: give the pipeline one, such as OnnxEmbedder.local()")
        return self._embedder

    async def of_query(self, text: str) -> Vector:
        """Embed the query; the second time it costs nothing.

        Raises:
            CapabilityError: The pipeline has no embedder.
            EmbeddingError: The embedder failed.
        """
        vector = self._of_query.get(text)
        if vector is None:
            embedder = self._require("dense search")
            vector = (await embed_checked(embedder, [text], input_type="query"))[0]
            self._of_query[text] = vector
        return vector

    @property
    def identity(self) -> str:
        """The embedder's."""
        return self._require("embedding").identity

    @property
    def dimensions(self) -> int | None:
        """Length of the embedder's vectors."""
        return self._require("embedding").dimensions

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Embed as the embedder does, so that a part which takes one gets the query's vector for nothing.

        Raises:
            CapabilityError: The pipeline has no embedder.
            EmbeddingError: The embedder failed.
        """
        if input_type == "query" and len(texts) == 1:
            return (await self.of_query(texts[0]))[np.newaxis, :]
        return await self._require("embedding").embed(texts, input_type=input_type)

    async def of_candidates(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with vectors: those the store sent, those it can give, else one embedding batch."""
        candidates = tuple(candidates)
        for candidate in candidates:
            if candidate.vector is not None:
                self._of_chunk.setdefault(candidate.key, candidate.vector)
        await self._read_from_store([c.key for c in candidates if c.key not in self._of_chunk])
        missing = [c for c in candidates if c.key not in self._of_chunk]
        if missing:
            embedder = self._require("comparing chunks by their embeddings")
            vectors = await embed_checked(embedder, [c.chunk.text for c in missing], input_type="document")
            self._of_chunk.update(zip((c.key for c in missing), vectors, strict=True))
        return [c.holding(self._of_chunk[c.key]) for c in candidates]

    async def _read_from_store(self, keys: Sequence[ChunkKey]) -> None:
        store: object = self._store
        if not keys or not isinstance(store, EmbeddingReadable):
            return
        held = await store.embeddings(keys)
        self._of_chunk.update((key, vector) for key, vector in zip(keys, held, strict=True) if vector is not None)

    @staticmethod
    def matrix(candidates: Sequence[Candidate]) -> Vectors:
        """Stack the candidates' vectors, shape (n, dimensions), float32."""
        rows = [candidate.vector for candidate in candidates if candidate.vector is not None]
        return np.ascontiguousarray(np.stack(rows), dtype=np.float32)
