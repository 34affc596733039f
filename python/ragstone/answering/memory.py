"""Memory that outlives a conversation: its turns in any vector store, found again by what they are about."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from ragstone.encoders import embed_checked
from ragstone.errors import ConfigurationError
from ragstone.metadata import MetadataValue
from ragstone.models import EmbeddedChunk, ScoreScale, SearchOptions, SearchResult, TextChunk
from ragstone.options import PersistentMemoryOptions
from ragstone.ports import Clock, Embedder, ScoreScaleAware, VectorStore

__all__ = ["PersistentMemory", "RememberedTurn"]

_log: Final = logging.getLogger(__name__)
_OWNER: Final = "memory_of"
_WHEN: Final = "remembered_at"
_QUESTION_LENGTH: Final = "question_characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedTurn:
    """A question and its answer from an earlier conversation.

    Attributes:
        id: Names it, for `PersistentMemory.forget`.
        score: How near it is to what it was recalled for, on the store's scale.
        remembered_at: When it was remembered.
    """

    id: str
    question: str
    answer: str
    score: float
    remembered_at: datetime


class PersistentMemory:
    """Remembers turns in a vector store, and recalls those that are about a question.

    Args:
        store: Any vector store; one that is not shared with documents. Its owner closes it.
        embedder: Makes the vectors.
        owner: Whose memory it is, such as a user's id; nobody else's turns are recalled.
        options: How many turns are recalled, and from which similarity on.
        clock: Tells the time; the computer's when left out.

    Raises:
        ConfigurationError: `owner` is empty.

    Example:
        >>> import asyncio
        >>> from ragstone.stores import InMemoryVectorStore
        >>> from ragstone.testing import HashEmbedder
        >>> async def main() -> None:
        ...     memory = PersistentMemory(InMemoryVectorStore(), HashEmbedder(), owner="ada")
        ...     await memory.remember("Where do I work?", "You work in Turin.")
        ...     print([turn.answer for turn in await memory.recall("Where do I work? In Turin?")])
        >>> asyncio.run(main())
        ['You work in Turin.']
    """

    def __init__(
        self,
        store: VectorStore,
        embedder: Embedder,
        *,
        owner: str = "default",
        options: PersistentMemoryOptions | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not owner:
            raise ConfigurationError("owner must name whose memory it is, not ''")
        self._store = store
        self._embedder = embedder
        self._owner = owner
        self._options = options or PersistentMemoryOptions()
        self._clock = clock
        self._opening = asyncio.Lock()
        self._open = False
        self._warned = False

    async def remember(self, question: str, answer: str) -> str:
        """Store a turn and return its id.

        Raises:
            EmbeddingError: The turn cannot be embedded.
            StoreError: The store failed.
        """
        await self._initialize()
        turn_id = uuid4().hex
        text = f"{question}\n{answer}"
        now = datetime.now(UTC) if self._clock is None else self._clock.now()
        metadata: dict[str, MetadataValue] = {_OWNER: self._owner, _WHEN: now, _QUESTION_LENGTH: len(question)}
        (vector,) = await embed_checked(self._embedder, [text])
        await self._store.store([EmbeddedChunk(TextChunk(text, turn_id, 0, 0, len(text), metadata), vector)])
        return turn_id

    async def recall(self, query: str) -> tuple[RememberedTurn, ...]:
        """Return the turns that are about a question, oldest first.

        Raises:
            EmbeddingError: The question cannot be embedded.
            StoreError: The store failed.
        """
        await self._initialize()
        (vector,) = await embed_checked(self._embedder, [query], input_type="query")
        options = SearchOptions(
            top_k=self._options.top_k, min_score=self._threshold(), metadata_filter={_OWNER: self._owner}
        )
        turns = map(_turn, await self._store.search(vector, options))
        return tuple(sorted(turns, key=lambda turn: (turn.remembered_at, turn.id)))

    async def forget(self, turn_id: str) -> None:
        """Remove a turn; one that is not there is no error."""
        await self._store.delete_by_document_id(turn_id)

    async def _initialize(self) -> None:
        async with self._opening:
            if not self._open:
                await self._store.initialize()
                self._open = True

    def _threshold(self) -> float:
        """`min_score`, unless the store's scores are of another kind."""
        store = self._store
        scale = store.score_scale if isinstance(store, ScoreScaleAware) else ScoreScale.SIMILARITY
        if scale is ScoreScale.SIMILARITY or self._options.min_score == 0.0:
            return self._options.min_score
        if not self._warned:
            self._warned = True
            _log.warning(
                "memory_threshold_skipped: %s scores on the scale '%s', for which min_score has no meaning",
                type(store).__name__,
                scale,
            )
        return 0.0


def _turn(result: SearchResult) -> RememberedTurn:
    text, metadata = result.chunk.text, result.chunk.metadata
    length = int(str(metadata[_QUESTION_LENGTH]))
    when = metadata[_WHEN]
    return RememberedTurn(
        id=result.chunk.document_id,
        question=text[:length],
        answer=text[length + 1 :],
        score=result.score,
        remembered_at=when if isinstance(when, datetime) else datetime.fromisoformat(str(when)),
    )
