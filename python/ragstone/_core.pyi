"""The compiled core. Private: `ragstone.engine` is its typed face and the only module that imports it."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from ragstone.metadata import MetadataValue

__all__ = [
    "ANALYZER",
    "Bm25Index",
    "Fusion",
    "SparseIndex",
    "VectorIndex",
    "__version__",
    "count_tokens",
    "count_tokens_many",
    "fit_budget",
    "lost_in_the_middle",
    "mmr",
    "redundancy_filter",
    "relative_score_fusion",
    "rrf",
    "sentence_spans",
    "token_spans",
    "tokenize",
]

__version__: str

_T = TypeVar("_T")
_Id = TypeVar("_Id", bound=Hashable)

# --- text

ANALYZER: str

def tokenize(text: str) -> list[str]: ...
def sentence_spans(text: str) -> list[tuple[int, int]]: ...

# --- lexical

@final
class Bm25Index:
    def __new__(cls, k1: float, b: float) -> Bm25Index: ...
    def upsert(
        self,
        document_ids: Sequence[str | int],
        chunk_indices: Sequence[int],
        texts: Sequence[str],
        metadata: Iterable[dict[str, MetadataValue]] | None,
    ) -> None: ...
    def replace_document(
        self,
        document_id: str | int,
        chunk_indices: Sequence[int],
        texts: Sequence[str],
        metadata: Iterable[dict[str, MetadataValue]] | None,
    ) -> None: ...
    def remove(self, document_id: str | int) -> int: ...
    def search(
        self, query: str, top_k: int, metadata_filter: dict[str, MetadataValue] | None
    ) -> list[tuple[str | int, int, float]]: ...
    def search_many(
        self, queries: Sequence[str], top_k: int, metadata_filter: dict[str, MetadataValue] | None
    ) -> list[list[tuple[str | int, int, float]]]: ...
    def explain(
        self, query: str, document_id: str | int, chunk_index: int
    ) -> list[tuple[str, int, int, int, float, float]]: ...
    def memory(self) -> tuple[int, int, int, int, int, int]: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def k1(self) -> float: ...
    @property
    def b(self) -> float: ...

# --- dense

@final
class VectorIndex:
    def __new__(cls, dimensions: int | None, quantization: str | None, oversampling: int | None) -> VectorIndex: ...
    def upsert(
        self,
        document_ids: Sequence[str | int],
        chunk_indices: Sequence[int],
        vectors: NDArray[np.float32],
        metadata: list[dict[str, MetadataValue]] | None,
    ) -> list[int]: ...
    def replace_document(
        self,
        document_id: str | int,
        chunk_indices: Sequence[int],
        vectors: NDArray[np.float32],
        metadata: list[dict[str, MetadataValue]] | None,
    ) -> list[int]: ...
    def remove(self, document_id: str | int) -> int: ...
    def search(
        self,
        query: NDArray[np.float32],
        top_k: int,
        min_score: float,
        metadata_filter: dict[str, MetadataValue] | None,
    ) -> list[tuple[str | int, int, float, int]]: ...
    def search_many(
        self,
        queries: NDArray[np.float32],
        top_k: int,
        min_score: float,
        metadata_filter: dict[str, MetadataValue] | None,
    ) -> list[list[tuple[str | int, int, float, int]]]: ...
    def vectors(
        self, document_ids: Sequence[str | int], chunk_indices: Sequence[int]
    ) -> tuple[NDArray[np.float32], list[bool]]: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def dimensions(self) -> int | None: ...

# --- sparse

_SparseVectors: TypeAlias = tuple[NDArray[np.uintp], NDArray[np.uint32], NDArray[np.float32]]

@final
class SparseIndex:
    def __new__(cls) -> SparseIndex: ...
    def upsert(
        self,
        document_ids: Sequence[str | int],
        chunk_indices: Sequence[int],
        vectors: _SparseVectors,
        metadata: Iterable[dict[str, MetadataValue]] | None,
    ) -> None: ...
    def replace_document(
        self,
        document_id: str | int,
        chunk_indices: Sequence[int],
        vectors: _SparseVectors,
        metadata: Iterable[dict[str, MetadataValue]] | None,
    ) -> None: ...
    def remove(self, document_id: str | int) -> int: ...
    def search(
        self,
        queries: _SparseVectors,
        top_k: int,
        min_score: float,
        metadata_filter: dict[str, MetadataValue] | None,
    ) -> list[list[tuple[str | int, int, float]]]: ...
    def clear(self) -> None: ...
    def __len__(self) -> int: ...

# --- rank

@final
class Fusion(Generic[_Id]):
    def __len__(self) -> int: ...
    def ids(self) -> list[_Id]: ...
    def scores(self) -> list[float]: ...
    def row(self, place: int) -> tuple[_Id, float, tuple[float, ...]]:
        """The id, score and contributions at a place, the best at 0."""

    def rows(self) -> list[tuple[_Id, float, tuple[float, ...]]]:
        """All of them, best first."""

def rrf(
    rankings: Sequence[Sequence[_Id]] | Sequence[NDArray[np.int64]],
    k: float,
    weights: Sequence[float] | None,
    top_k: int | None,
) -> Fusion[_Id]: ...
def relative_score_fusion(
    rankings: Sequence[Sequence[_Id]] | Sequence[NDArray[np.int64]],
    scores: Sequence[Sequence[float]],
    weights: Sequence[float] | None,
    top_k: int | None,
) -> Fusion[_Id]: ...
def mmr(
    query_vector: NDArray[np.float32], vectors: NDArray[np.float32], k: int, lambda_: float
) -> list[tuple[int, float, float, float]]:
    """Row, relevance, redundancy and value of each pick, in the order of picking."""

def redundancy_filter(vectors: NDArray[np.float32], threshold: float) -> tuple[list[int], list[tuple[int, int, float]]]:
    """The rows kept; row, twin and similarity of each one dropped."""

def lost_in_the_middle(items: Iterable[_T]) -> list[_T]:
    """The items 1, 3, 5, … 6, 4, 2."""

# --- tokens

def count_tokens(text: str, encoding: str) -> int:
    """The number of tokens."""

def count_tokens_many(texts: Sequence[str], encoding: str) -> list[int]:
    """The number of tokens of each text."""

def token_spans(text: str, encoding: str) -> list[tuple[int, int]]:
    """Start and end of each token in code points."""

def fit_budget(counts: Sequence[int], max_tokens: int) -> tuple[int, int]:
    """How many are kept, and their total."""
