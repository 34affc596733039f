"""The protocols at which Ragstone is open: implement one and hand it to the pipeline.

None of them is to be inherited from; a class with the right methods is one. Methods that may wait are `async`; those
that only compute are plain and are called in a worker thread where they may take more than a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from ragstone.metadata import MetadataValue
from ragstone.models import (
    ChunkKey,
    EmbeddedChunk,
    IngestionProgress,
    ParsedDocument,
    ScoreScale,
    SearchOptions,
    SearchResult,
    StoredDocument,
    TextChunk,
    Vector,
    Vectors,
)

__all__ = [
    "ChunkingStrategy",
    "CollectionManageable",
    "DocumentJournal",
    "DocumentParser",
    "DocumentReplaceable",
    "Embedder",
    "EmbeddingReadable",
    "HybridSearchable",
    "InputType",
    "KeywordIndex",
    "NativeOnly",
    "ProgressCallback",
    "ScoreScaleAware",
    "StoreDecorator",
    "TextDocumentParser",
    "TokenCounter",
    "VectorStore",
]

InputType: TypeAlias = Literal["document", "query"]
"""What a text to embed is: some models put another prefix before questions than before passages."""

ProgressCallback: TypeAlias = Callable[[IngestionProgress], None]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def identity(self) -> str:
        """Names the model and everything that changes its vectors; stamped on an index and part of cache keys."""
        ...

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors, or `None` while it is not known."""
        ...

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Return one vector a text, in order, shape (len(texts), dimensions), float32, finite.

        Raises:
            EmbeddingError: The model failed or its answer does not fit the question.
        """
        ...


@runtime_checkable
class VectorStore(Protocol):
    """Holds embedded chunks and finds the nearest."""

    async def initialize(self) -> None:
        """Prepare the store; the first use does it once, only success is remembered."""
        ...

    async def store(self, chunks: Sequence[EmbeddedChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index): all of them or none.

        Raises:
            InvalidInputError: A vector has another dimension or is not finite; nothing was stored.
            StoreError: The backend failed.
        """
        ...

    async def search(self, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the nearest chunks that match the filter and reach `min_score`, best first."""
        ...

    async def delete_by_document_id(self, document_id: str) -> None:
        """Remove every chunk of a document; a document that is not there is no error."""
        ...


@runtime_checkable
class DocumentReplaceable(Protocol):
    """A store that replaces all chunks of a document in one step, so that no reader sees a mixture."""

    async def replace_document(self, document_id: str, chunks: Sequence[EmbeddedChunk]) -> None:
        """Remove the document's chunks and store these in their place: all or nothing."""
        ...


@runtime_checkable
class EmbeddingReadable(Protocol):
    """A store that can give back the vectors it holds; spares MMR and redundancy an embedding call."""

    async def embeddings(self, keys: Sequence[ChunkKey]) -> list[Vector | None]:
        """Return the vector of each key, `None` where the chunk is not there."""
        ...


@runtime_checkable
class HybridSearchable(Protocol):
    """A store that fuses keyword and vector search itself, in one call."""

    async def hybrid_search(self, text: str, embedding: Vector, options: SearchOptions) -> list[SearchResult]:
        """Return the fused page; `options.min_score` is 0.0 here, since fused scores bear no threshold."""
        ...


@runtime_checkable
class NativeOnly(Protocol):
    """A store with a capability that works only through its own hybrid search, such as semantic ranking."""

    @property
    def native_only_capability(self) -> str | None:
        """The capability's name, or `None` when it is not enabled."""
        ...


@runtime_checkable
class StoreDecorator(Protocol):
    """A store that wraps another one, and says so: lets a retriever notice a capability that the wrapper hides."""

    @property
    def inner(self) -> VectorStore:
        """The store inside."""
        ...


@runtime_checkable
class ScoreScaleAware(Protocol):
    """A store whose `search` scores are not similarities."""

    @property
    def score_scale(self) -> ScoreScale:
        """The scale of `search`'s scores."""
        ...


@runtime_checkable
class CollectionManageable(Protocol):
    """A store whose collections can be managed."""

    async def create_collection(self, name: str, dimensions: int) -> None:
        """Create a collection; one that exists with these dimensions is no error."""
        ...

    async def delete_collection(self, name: str) -> None:
        """Drop a collection; one that is not there is no error."""
        ...

    async def collection_exists(self, name: str) -> bool:
        """Whether the collection is there."""
        ...


@runtime_checkable
class KeywordIndex(Protocol):
    """A keyword index in process: live, safe from many threads."""

    def add(self, chunks: Sequence[TextChunk]) -> None:
        """Insert or replace chunks by (document_id, chunk_index)."""
        ...

    def replace_document(self, document_id: str, chunks: Sequence[TextChunk]) -> None:
        """Remove the document's chunks and add these in one step: no reader sees a mixture."""
        ...

    def remove(self, document_id: str) -> int:
        """Remove a document; return how many chunks it had."""
        ...

    def search(
        self, query: str, top_k: int, metadata_filter: Mapping[str, MetadataValue] | None = None
    ) -> list[SearchResult]:
        """Return the best chunks that match the filter, best first, only those with a positive score."""
        ...

    def clear(self) -> None:
        """Remove everything."""
        ...

    def __len__(self) -> int:
        """How many chunks are indexed."""
        ...


@runtime_checkable
class DocumentJournal(Protocol):
    """Keeps committed documents beyond the process. Each method is one transaction, called in a worker thread."""

    def fingerprint(self, document_id: str) -> str | None:
        """Return the fingerprint of the stored document, `None` where there is none."""
        ...

    def put(self, document: StoredDocument) -> None:
        """Store a document in place of every trace of an earlier one with its id.

        Raises:
            PersistenceError: It could not be written; what was there before is untouched.
        """
        ...

    def delete(self, document_id: str) -> bool:
        """Remove every trace of a document; return whether there was one."""
        ...


@runtime_checkable
class DocumentParser(Protocol):
    """Turns a document's bytes into text, sections and pages. Called in a worker thread."""

    @property
    def identity(self) -> str:
        """Names the parser and its settings: a change of it makes stored documents stale."""
        ...

    @property
    def content_types(self) -> Sequence[str]:
        """The MIME types that it reads, for error messages."""
        ...

    def can_parse(self, content_type: str) -> bool:
        """Whether it reads this MIME type."""
        ...

    def parse(self, content: bytes) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The bytes are not what they should be.
        """
        ...


@runtime_checkable
class TextDocumentParser(DocumentParser, Protocol):
    """A parser of a format that is text, which reads it decoded as well."""

    def parse_text(self, text: str) -> ParsedDocument:
        """Parse.

        Raises:
            ParseError: The text is not what it should be.
        """
        ...


@runtime_checkable
class ChunkingStrategy(Protocol):
    """Cuts a parsed document into chunks. Called in a worker thread."""

    @property
    def identity(self) -> str:
        """Names the strategy and its settings: a change of it makes stored documents stale."""
        ...

    def chunk(self, document: ParsedDocument, document_id: str) -> list[TextChunk]:
        """Cut; for every chunk `document.text[chunk.start:chunk.end] == chunk.text`.

        Section and page metadata (`heading`, `heading_level`, `heading_breadcrumb`, `page`, `page_end`) are set here.
        """
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts a model's tokens."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; special tokens in a text count as text."""
        ...
