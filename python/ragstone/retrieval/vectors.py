"""The vectors that a call needs: the query's, once, and those of candidates, from the cheapest source."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ragstone.encoders.checked import embed_checked, embed_sparse_checked
from ragstone.errors import CapabilityError
from ragstone.models import ChunkKey, Vector, Vectors
from ragstone.ports import Embedder, EmbeddingReadable, InputType, SparseEmbedder, VectorStore
from ragstone.retrieval.candidate import Candidate
from ragstone.retrieval.memo import Memo
from ragstone.sparse_vector import SparseVector

__all__ = ["CallVectors"]


class CallVectors:
    """The embeddings of one call: lives as long as the call, so that nothing is embedded twice in it.

    It is an embedder too, for parts that take one.
    """

    __slots__ = ("_embedder", "_of_chunk", "_of_query", "_sparse_encoder", "_sparse_of_query", "_store")

    def __init__(
        self, embedder: Embedder | None, store: VectorStore | None, sparse_encoder: SparseEmbedder | None = None
    ) -> None:
        self._embedder = embedder
        self._sparse_encoder = sparse_encoder
        self._sparse_of_query: dict[str, SparseVector] = {}
        self._store = store
        self._of_query = Memo[str, Vector]()
        self._of_chunk: dict[ChunkKey, Vector] = {}

    @property
    def readable(self) -> bool:
        """Whether the store gives back the vectors that it holds."""
        store: object = self._store
        return isinstance(store, EmbeddingReadable)

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
        return await self._of_query.get(text, partial(self._embed_query, text))

    async def _embed_query(self, text: str) -> Vector:
        embedder = self._require("dense search")
        vector: Vector = (await embed_checked(embedder, [text], input_type="query"))[0]
        return vector

    async def sparse_of_query(self, text: str) -> SparseVector:
        """Encode the query as a sparse vector; the second time it costs nothing.

        Raises:
            CapabilityError: The pipeline has no sparse encoder.
            EmbeddingError: The encoder failed.
        """
        vector = self._sparse_of_query.get(text)
        if vector is None:
            if self._sparse_encoder is None:
                raise CapabilityError("sparse search needs an encoder: give the pipeline sparse_encoder=…")
            [vector] = await embed_sparse_checked(self._sparse_encoder, [text], input_type="query")
            self._sparse_of_query[text] = vector
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
        """Return the candidates with vectors: those the store sent, those it can give, else one embedding batch.

        A vector belongs to the chunk that was embedded, which for a parent is its best child.
        """
        embedded = [(candidate, candidate.embedded_chunk) for candidate in candidates]
        for candidate, chunk in embedded:
            if candidate.vector is not None:
                self._of_chunk.setdefault(chunk.key, candidate.vector)
        await self._read_from_store([chunk.key for _, chunk in embedded if chunk.key not in self._of_chunk])
        missing = {chunk.key: chunk.text for _, chunk in embedded if chunk.key not in self._of_chunk}
        if missing:
            embedder = self._require("comparing chunks by their embeddings")
            vectors = await embed_checked(embedder, list(missing.values()), input_type="document")
            self._of_chunk.update(zip(missing, vectors, strict=True))
        return [candidate.holding(self._of_chunk[chunk.key]) for candidate, chunk in embedded]

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
