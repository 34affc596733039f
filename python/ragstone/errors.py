"""Every error that Ragstone raises, under one root.

```
RagError
├── ConfigurationError (ValueError)        an option, a parameter or a combination of parts that cannot work
│   ├── MissingDependencyError (ImportError)   an optional package is not installed; carries the pip command
│   └── CapabilityError                    asked for something that the configured parts cannot do
├── InvalidInputError (ValueError)         data handed to a call is malformed
│   ├── MetadataError                      a metadata or filter value of a kind that cannot be stored or compared
│   ├── DimensionMismatchError             a vector of another length than the index holds
│   └── InvalidVectorError                 a vector with NaN or infinity
├── IngestionError                         a document could not be taken in; nothing of it was stored
│   ├── UnsupportedContentTypeError        no parser reads this type
│   ├── ParseError                         the bytes are not what their type says
│   ├── EmptyDocumentError                 no text in it
│   └── DocumentExistsError                the id is taken and overwriting was not allowed
├── EmbeddingError                         an embedding model or service failed or answered nonsense
├── StoreError                             a vector store failed
├── RerankError                            a reranker failed or answered nonsense
├── CompressionError                       a compressor failed or answered nonsense
├── GuardError                             a retrieval guard answered nonsense
├── ChatError                              a chat model failed or gave no answer
├── WebSearchError                         a web search failed
├── CacheError                             a cache beyond the process could not be reached
└── PersistenceError                       an index directory could not be read or written
    ├── IndexCorruptedError                what is on disk is damaged
    └── IndexMismatchError                 the index was made with another model, analyzer or version
```

Cancellation (`asyncio.CancelledError`) is never among them and is never swallowed.
"""

from __future__ import annotations

__all__ = [
    "CacheError",
    "CapabilityError",
    "ChatError",
    "CompressionError",
    "ConfigurationError",
    "DimensionMismatchError",
    "DocumentExistsError",
    "EmbeddingError",
    "EmptyDocumentError",
    "GuardError",
    "IndexCorruptedError",
    "IndexMismatchError",
    "IngestionError",
    "InvalidInputError",
    "InvalidVectorError",
    "MetadataError",
    "MissingDependencyError",
    "ParseError",
    "PersistenceError",
    "RagError",
    "RerankError",
    "StoreError",
    "UnsupportedContentTypeError",
    "WebSearchError",
]


class RagError(Exception):
    """The root of every error that Ragstone raises on purpose. Its message says what to do."""


class ConfigurationError(RagError, ValueError):
    """An option or a combination of options that cannot work, raised where it is written down."""


class MissingDependencyError(ConfigurationError, ImportError):
    """An optional package is not installed.

    Attributes:
        package: The import name that was not found.
        extra: The extra of `ragstone` that brings it.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package '{package}': run  pip install 'ragstone[{extra}]'")
        self.package = package
        self.extra = extra


class CapabilityError(ConfigurationError):
    """A call asked for something that the configured store, index or model cannot do."""


class InvalidInputError(RagError, ValueError):
    """Data handed to a call is malformed; nothing was stored or searched."""


class MetadataError(InvalidInputError):
    """A metadata or filter value that is not a string, finite number, boolean or datetime."""


class DimensionMismatchError(InvalidInputError):
    """A vector of another length than the index or model uses.

    Attributes:
        expected: The number of dimensions in use.
        actual: The number of dimensions that came.
    """

    def __init__(self, message: str, *, expected: int, actual: int) -> None:
        super().__init__(message)
        self.expected = expected
        self.actual = actual


class InvalidVectorError(InvalidInputError):
    """A vector holds NaN or infinity."""


class IngestionError(RagError):
    """A document could not be taken in; nothing of it was stored.

    Attributes:
        document_id: The document, where known.
    """

    def __init__(self, message: str, *, document_id: str | None = None) -> None:
        super().__init__(message)
        self.document_id = document_id


class UnsupportedContentTypeError(IngestionError):
    """No configured parser reads this content type."""


class ParseError(IngestionError):
    """The bytes are not what their content type says: damaged, binary, or in another encoding."""


class EmptyDocumentError(IngestionError):
    """The document holds no text to index."""


class DocumentExistsError(IngestionError):
    """The document id is already indexed and `overwrite=False` was asked for."""


class EmbeddingError(RagError):
    """An embedding model failed, or answered with a wrong count, a wrong dimension or NaN.

    Attributes:
        text_index: Which of the texts is to blame, counted from 0; `None` where no single one is.
    """

    def __init__(self, message: str, *, text_index: int | None = None) -> None:
        super().__init__(message)
        self.text_index = text_index


class StoreError(RagError):
    """A vector store could not be reached or refused a request."""


class RerankError(RagError):
    """A reranker failed, or answered with a wrong number of scores or with NaN."""


class CompressionError(RagError):
    """A compressor failed, or answered with a wrong number of texts."""


class GuardError(RagError):
    """A retrieval guard did not give one verdict a result; the call ends without results."""


class ChatError(RagError):
    """A chat model or its service failed, or gave no answer."""


class WebSearchError(RagError):
    """A web search failed or answered nonsense."""


class CacheError(RagError):
    """A cache beyond the process could not be reached; whoever uses it goes on without it."""


class PersistenceError(RagError):
    """An index directory could not be read or written; what was there before is untouched."""


class IndexCorruptedError(PersistenceError):
    """What is on disk is damaged: a checksum, the format or a row does not hold."""


class IndexMismatchError(PersistenceError):
    """The index was made with another embedding model, analyzer or format version."""
