"""Orders over candidates: fusing rankings, diversity, redundancy, reading order.

Each function stands alone: ids are any hashable values, vectors are numpy arrays or anything that numpy makes one of.
An array of C-contiguous float32 is read where it lies, without a copy and with the interpreter lock released, so do not
write to it before the call returns; any other array is converted once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import starmap
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragstone import _core
from ragstone.engine.arrays import as_matrix, as_vector
from ragstone.errors import InvalidInputError
from ragstone.validation import require_at_least, require_finite

__all__ = [
    "Fused",
    "FusedRanking",
    "MmrPick",
    "Ranking",
    "Twin",
    "lost_in_the_middle",
    "mmr",
    "redundancy_filter",
    "relative_score_fusion",
    "rrf",
]

T = TypeVar("T")
Id = TypeVar("Id", bound=Hashable)

Ranking: TypeAlias = Sequence[Id] | NDArray[np.integer[Any]]
"""Ids, best first: strings, integers, tuples such as `ChunkKey`, or a one-dimensional array of integers."""


class Fused(NamedTuple, Generic[Id]):
    """An id of a fused ranking.

    Attributes:
        id: As it came; an array's integers come back as `int`.
        score: The contributions added up from the first to the last, in double precision. Adding them in a loop gives
            exactly this number (`sum()` rounds differently from Python 3.12 on, in the last bit).
        contributions: What each ranking adds, in the order of the rankings; 0.0 where it does not hold the id.
    """

    id: Id
    score: float
    contributions: tuple[float, ...]


class FusedRanking(Sequence[Fused[Id]]):
    """A fused ranking, best first: a sequence of `Fused`, each made when it is looked at.

    It cannot be changed, and equals every sequence of the same items. `ids()` and `scores()` give whole columns without
    making the items.

    Example:
        >>> ranking = rrf([["a", "b"], ["b"]])
        >>> ranking.ids(), ranking[0].id, len(ranking)
        (['b', 'a'], 'b', 2)
    """

    __slots__ = ("_core",)
    __hash__ = None  # type: ignore[assignment]  # ids may be equal and differ in kind

    def __init__(self, core: _core.Fusion[Id]) -> None:
        self._core = core

    def ids(self) -> list[Id]:
        """Return the ids, best first."""
        return self._core.ids()

    def scores(self) -> list[float]:
        """Return the scores beside `ids()`."""
        return self._core.scores()

    def __len__(self) -> int:
        return len(self._core)

    @overload
    def __getitem__(self, index: int) -> Fused[Id]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Fused[Id]]: ...
    def __getitem__(self, index: int | slice) -> Fused[Id] | list[Fused[Id]]:
        if isinstance(index, slice):
            return [Fused(*self._core.row(place)) for place in range(len(self))[index]]
        return Fused(*self._core.row(range(len(self))[index]))

    def __iter__(self) -> Iterator[Fused[Id]]:
        # What Fused._make does, without a Python frame for each of thousands of items.
        make = partial(cast("Callable[[type[Fused[Id]], object], Fused[Id]]", tuple.__new__), Fused)
        return map(make, self._core.rows())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(cast("Sequence[object]", other))

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[type[list[Fused[Id]]], tuple[list[Fused[Id]]]]:
        return list, (list(self),)


class MmrPick(NamedTuple):
    """A vector that MMR picked.

    Attributes:
        index: Its row.
        relevance: Its cosine to the query.
        redundancy: Its largest cosine to a vector picked before; 0.0 for the first.
        value: `lambda_ * relevance - (1 - lambda_) * redundancy`, the largest of those that were left.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index
    relevance: float
    redundancy: float
    value: float


class Twin(NamedTuple):
    """A vector that the redundancy filter dropped.

    Attributes:
        index: Its row.
        twin: The kept, better-ranked row most similar to it.
        similarity: Their cosine, at least the threshold.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index
    twin: int
    similarity: float


def rrf(
    rankings: Sequence[Ranking[Id]],
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    top_k: int | None = None,
) -> FusedRanking[Id]:
    """Fuse rankings by reciprocal ranks: score(d) = Σ weightᵢ / (k + rankᵢ), over the rankings that hold d.

    Ranks count from 1. A ranking counts an id once, at its first place, and what follows a repeat moves up. A ranking
    of weight 0 is as good as absent. Weights are used as given. Ids are the same where Python's `==` says so, so an
    `int` and a numpy integer of one value are one id.

    Equal scores keep the order in which the rankings, one after the other, first name the ids: by the first ranking
    that holds them, then by their place in it. For another order of ties, fuse all and sort:
    `sorted(fused, key=lambda item: (-item.score, item.id))`.

    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods", SIGIR 2009 (k = 60, no weights).

    Args:
        rankings: Ids, best first, a list a ranking. Where all are integer arrays, no Python object is made for an item
            that is read.
        k: At least 1. The larger, the less the first places stand out.
        weights: One a ranking, finite, at least 0, not all 0; `None` is 1 for each.
        top_k: How many ids come back at most, at least 1; `None` is all.

    Returns:
        The ids with their scores and contributions, best first.

    Raises:
        ConfigurationError: `k`, a weight or `top_k` is out of range.
        InvalidInputError: There are not as many weights as rankings, a ranking is a string or an array of another
            shape, or an id is not hashable.

    Example:
        >>> [(item.id, round(item.score, 6)) for item in rrf([["a", "b"], ["b", "c"]], weights=[0.7, 0.3])]
        [('b', 0.016208), ('a', 0.011475), ('c', 0.004839)]
    """
    return FusedRanking(_core.rrf(_rankings(rankings), require_finite("k", k), _weights(weights), _top_k(top_k)))


def relative_score_fusion(
    rankings: Sequence[Ranking[Id]],
    scores: Sequence[Sequence[float] | NDArray[np.floating[Any]]],
    *,
    weights: Sequence[float] | None = None,
    top_k: int | None = None,
) -> FusedRanking[Id]:
    """Fuse rankings by their scores, each list's scaled to [0, 1]: score(d) = Σ wᵢ/W · (sᵢ − minᵢ) / (maxᵢ − minᵢ).

    W is the sum of the weights; minᵢ and maxᵢ are taken over list i, so its best hit gets its full share wᵢ/W and its
    worst gets 0.0, however far apart they are. A list that has one hit, or whose scores are all equal, tells none of
    its hits from its best: each gets the full share. Repeats, weights of 0 and ties are treated as in `rrf`.

    Scaling by the extremes makes the most of a list's differences, those between two equally bad hits too. Where the
    scores of a list may be all noise, prefer `rrf`.

    Args:
        rankings: Ids, a list a ranking, as in `rrf`.
        scores: One finite score an id, beside `rankings`; higher is better.
        weights: One a ranking, finite, at least 0, not all 0; `None` is 1 for each. They are divided by their sum.
        top_k: How many ids come back at most, at least 1; `None` is all.

    Returns:
        The ids, best first, scores in [0, 1].

    Raises:
        ConfigurationError: A weight or `top_k` is out of range.
        InvalidInputError: Lengths do not fit, a score is not a finite number, or the rankings are as in `rrf`.

    Example:
        >>> relative_score_fusion([["a", "b"], ["b"]], [[0.9, 0.1], [7.5]])
        [Fused(id='a', score=0.5, contributions=(0.5, 0.0)), Fused(id='b', score=0.5, contributions=(0.0, 0.5))]
    """
    columns = _rankings(rankings), _scores(scores)
    return FusedRanking(_core.relative_score_fusion(*columns, _weights(weights), _top_k(top_k)))


def mmr(query_vector: ArrayLike, vectors: ArrayLike, *, k: int = 10, lambda_: float = 0.5) -> list[MmrPick]:
    """Pick vectors by maximal marginal relevance: λ·cos(query, d) − (1 − λ)·max over picked p of cos(p, d).

    λ = 1 is pure relevance; λ = 0 starts with the most relevant vector and then looks only for what is unlike it. Equal
    values are ordered by relevance, then by row, so of duplicates the first row comes first. A zero vector has a cosine
    of 0.0 with everything and is picked after all others. Cosines are computed in double precision and are the same on
    every machine.

    Source: Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
    Summaries", SIGIR 1998.

    Args:
        query_vector: Shape (dimensions,).
        vectors: Shape (n, dimensions); need not be of unit length.
        k: How many to pick, at least 1; more than there are picks all.
        lambda_: In [0, 1].

    Returns:
        The picks in the order of picking.

    Raises:
        ConfigurationError: `k` or `lambda_` is out of range.
        DimensionMismatchError: The query is of another length than the vectors.
        InvalidVectorError: A vector holds NaN or infinity; names the row, or the query.
        InvalidInputError: The arguments are not numbers, or of another shape.

    Example:
        >>> [pick.index for pick in mmr([1.0, 0.0], [[1.0, 0.1], [1.0, 0.1], [0.7, -0.7]], k=2)]
        [0, 2]
    """
    query = as_vector("query_vector", query_vector)
    matrix = as_matrix("vectors", vectors)
    picks = _core.mmr(query, matrix, require_at_least("k", k, 1), require_finite("lambda_", lambda_))
    return list(starmap(MmrPick, picks))


def redundancy_filter(vectors: ArrayLike, *, threshold: float = 0.95) -> tuple[list[int], list[Twin]]:
    """Drop each vector whose cosine to a better-ranked, kept one reaches `threshold`.

    Rows are in the order of rank. Only kept rows count, so what resembles nothing but a dropped row stays. A zero
    vector resembles nothing.

    Args:
        vectors: Shape (n, dimensions), best ranked first; need not be of unit length.
        threshold: In [-1, 1]; 1.0 drops only vectors of the same direction.

    Returns:
        The rows kept, in order, and the rows dropped, in order.

    Raises:
        ConfigurationError: `threshold` is out of range.
        InvalidVectorError: A vector holds NaN or infinity; names the row.
        InvalidInputError: `vectors` is not numbers, or of another shape.

    Example:
        >>> redundancy_filter([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
        ([0, 2], [Twin(index=1, twin=0, similarity=1.0)])
    """
    kept, dropped = _core.redundancy_filter(as_matrix("vectors", vectors), require_finite("threshold", threshold))
    return kept, list(starmap(Twin, dropped))


def lost_in_the_middle(items: Iterable[T]) -> list[T]:
    """Arrange ranked items so that the best stand at both ends and the least in the middle: 1, 3, 5, … 6, 4, 2.

    Language models make most of what is at the ends of a long context. The items themselves, and the list they came in,
    stay as they are.

    Source: Liu et al., "Lost in the Middle: How Language Models Use Long Contexts", TACL 2024.

    Example:
        >>> lost_in_the_middle([1, 2, 3, 4, 5])
        [1, 3, 5, 4, 2]
    """
    return _core.lost_in_the_middle(items)


def _rankings(rankings: Sequence[Ranking[Id]]) -> list[Sequence[Id]] | list[NDArray[np.int64]]:
    columns = [_ranking(place, ranking) for place, ranking in enumerate(rankings)]
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) == len(columns):
        return arrays
    return [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]


def _ranking(place: int, ranking: Ranking[Id]) -> Sequence[Id] | NDArray[np.int64]:
    if isinstance(ranking, np.ndarray):
        if ranking.ndim != 1:
            raise InvalidInputError(f"rankings[{place}] must have one dimension, not the shape {ranking.shape}")
        whole = ranking.dtype.kind in "iu" and np.can_cast(ranking.dtype, np.int64)
        return ranking.astype(np.int64, copy=False) if whole else cast("list[Id]", ranking.tolist())
    if isinstance(ranking, str | bytes):
        raise InvalidInputError(f"rankings[{place}] must be a sequence of ids, not a {type(ranking).__name__}")
    return ranking


def _weights(weights: Sequence[float] | None) -> list[float] | None:
    return None if weights is None else [require_finite(f"weights[{i}]", weight) for i, weight in enumerate(weights)]


def _top_k(top_k: int | None) -> int | None:
    return None if top_k is None else require_at_least("top_k", top_k, 1)


def _scores(scores: Sequence[Sequence[float] | NDArray[np.floating[Any]]]) -> list[list[float]]:
    try:
        columns = [np.asarray(column, dtype=np.float64) for column in scores]
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"scores must be one list of numbers a ranking: {error}") from error
    for place, column in enumerate(columns):
        if column.ndim != 1:
            raise InvalidInputError(f"scores[{place}] must have one dimension, not the shape {column.shape}")
    return [column.tolist() for column in columns]
