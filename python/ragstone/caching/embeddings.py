"""Vectors remembered by text: an embedder around another."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from ragstone.caching.keys import key_of
from ragstone.caching.levels import TwoLevelCache
from ragstone.concurrency import offload
from ragstone.encoders.checked import embed_checked
from ragstone.errors import EmbeddingError
from ragstone.models import Vector, Vectors
from ragstone.ports import CacheBackend, Clock, Embedder, InputType

__all__ = ["CachingEmbedder"]

_FLOAT: Final = np.dtype("<f4")


class CachingEmbedder:
    """An embedder that asks another only for what it does not remember.

    A vector is remembered by the model's identity and dimensions, whether the text is a question or a passage, and the
    text. A batch asks for its missing texts alone. Callers that want the same text at the same time share one request,
    which goes on as long as one of them waits for it. Vectors are copied on their way in and out.

    Args:
        embedder: The embedder to ask.
        ttl: Seconds that a vector is remembered.
        max_entries: How many are kept in process.
        clock: Tells the time; the system's when left out.
        backend: A cache beyond the process.

    Example:
        >>> from ragstone.testing import HashEmbedder
        >>> inner = HashEmbedder()
        >>> embedder = CachingEmbedder(inner)
        >>> async def twice():
        ...     await embedder.embed(["a", "b"])
        ...     await embedder.embed(["b", "c", "b"])
        >>> asyncio.run(twice())
        >>> [request.texts for request in inner.requests]
        [('a', 'b'), ('c',)]
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        ttl: float = 1800.0,
        max_entries: int = 4096,
        clock: Clock | None = None,
        backend: CacheBackend | None = None,
    ) -> None:
        self._embedder = embedder
        self._cache = TwoLevelCache(_VectorCodec(), ttl=ttl, max_entries=max_entries, clock=clock, backend=backend)
        self._requests: dict[str, _Request] = {}
        self._known_identity: str | None = None

    @property
    def identity(self) -> str:
        """That of the embedder inside: the vectors are its own."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors, or `None` while it is not known."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Return one vector a text, in order, shape (len(texts), dimensions), float32.

        Raises:
            EmbeddingError: The embedder failed or its answer does not fit; nothing of it is remembered.
        """
        if self._known_identity is None:
            # An identity may be made of a model's files.
            self._known_identity = await offload(lambda: self._embedder.identity)
        keys = [self._key(text, input_type) for text in texts]
        held = await self._cache.get_many(dict.fromkeys(keys))
        vectors = {key: vector for key, vector in held.items() if self.dimensions in (None, len(vector))}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if missing:
            vectors.update(await self._asked(missing, input_type))
        if not keys:
            return np.empty((0, self.dimensions or 0), dtype=np.float32)
        return np.stack([vectors[key] for key in keys])

    def _key(self, text: str, input_type: InputType) -> str:
        return key_of("embedding", self._known_identity, self._embedder.dimensions, input_type, text)

    async def _asked(self, missing: Mapping[str, str], input_type: InputType) -> dict[str, Vector]:
        """Wait for the requests under way that hold these keys, and for one of our own for the others."""
        own = {key: text for key, text in missing.items() if key not in self._requests}
        if own:
            task = asyncio.create_task(self._request(own, input_type))
            request = _Request(task, tuple(own))
            self._requests.update(dict.fromkeys(own, request))
            task.add_done_callback(partial(self._end, request))
        requests = {self._requests[key] for key in missing}
        for request in requests:
            request.waiting += 1
        try:
            await asyncio.wait({request.task for request in requests})
            return {key: vector for request in requests for key, vector in request.task.result().items()}
        finally:
            await self._leave(requests)

    async def _leave(self, requests: set[_Request]) -> None:
        """Stop waiting; a request that nobody waits for any more is cancelled."""
        abandoned: set[asyncio.Task[dict[str, Vector]]] = set()
        for request in requests:
            request.waiting -= 1
            if not request.waiting and not request.task.done():
                self._forget(request)
                request.task.cancel()
                abandoned.add(request.task)
        if abandoned:
            await asyncio.wait(abandoned)

    async def _request(self, texts: Mapping[str, str], input_type: InputType) -> dict[str, Vector]:
        try:
            rows = await embed_checked(self._embedder, list(texts.values()), input_type=input_type)
            vectors = dict(zip(texts, map(_kept, rows), strict=True))
            # Asked for the first time, a model may have learnt its dimensions meanwhile.
            await self._cache.set_many({self._key(texts[key], input_type): row for key, row in vectors.items()})
        except EmbeddingError as error:
            if error.text_index is None:
                raise
            raise EmbeddingError(str(error)) from error  # a place among the missing says nothing to the callers
        return vectors

    def _end(self, request: _Request, task: asyncio.Task[dict[str, Vector]]) -> None:
        self._forget(request)
        if not task.cancelled():
            task.exception()  # seen, though of several requests a caller raises but one's

    def _forget(self, request: _Request) -> None:
        """Let nobody join the request any more."""
        for key in request.keys:
            if self._requests.get(key) is request:
                del self._requests[key]


@dataclass(slots=True, eq=False)
class _Request:
    """A request to the embedder, the keys of its texts, and how many wait for it."""

    task: asyncio.Task[dict[str, Vector]]
    keys: tuple[str, ...]
    waiting: int = 0


class _VectorCodec:
    """Vectors as little-endian float32."""

    def encode(self, value: Vector) -> bytes:
        return value.astype(_FLOAT).tobytes()

    def decode(self, content: bytes) -> Vector:
        vector = _kept(np.frombuffer(content, dtype=_FLOAT))
        if not vector.size or not np.isfinite(vector).all():
            raise ValueError("not a vector")
        return vector


def _kept(row: Vector) -> Vector:
    """A copy that nobody changes."""
    vector = np.array(row, dtype=np.float32)
    vector.flags.writeable = False
    return vector
