"""Sparse vectors: every way to build one, and what is refused by position."""

import copy
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

from ragstone import SparseVector
from ragstone.errors import InvalidInputError

weights = st.floats(2.0**-149, 2.0**127, width=32, allow_nan=False)
entries = st.dictionaries(st.integers(0, 2**32 - 1), weights, max_size=20)


class Row:
    """What scipy's sparse rows have in common."""

    def __init__(self, columns: list[int], data: list[float], shape: tuple[int, ...] = (1, 100)) -> None:
        self.shape, self.columns, self.data = shape, columns, data

    def tocoo(self) -> SimpleNamespace:
        return SimpleNamespace(col=np.array(self.columns, np.int32), data=np.array(self.data))


@pytest.mark.row("B1")
@given(entries, st.randoms())
def test_all_ways_lead_to_one_vector(entries: dict[int, float], rng: object) -> None:
    shuffled = list(entries.items())
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    vector = SparseVector.from_dict(dict(shuffled))
    assert vector.to_dict() == dict(sorted(entries.items()))
    assert len(vector) == len(entries)
    assert vector.indices.tolist() == sorted(entries)
    assert (vector.indices.dtype, vector.values.dtype) == (np.uint32, np.float32)
    others = [
        SparseVector.from_arrays([term for term, _ in shuffled], [weight for _, weight in shuffled]),
        SparseVector(vector.indices, vector.values),
        pickle.loads(pickle.dumps(vector)),
        copy.deepcopy(vector),
    ]
    for other in others:
        assert (other, hash(other)) == (vector, hash(vector))
        assert not other.indices.flags.writeable


@pytest.mark.row("B1")
@given(npst.arrays(np.float32, st.integers(0, 9), elements=weights))
def test_equality_is_of_terms_and_weights(values: np.ndarray) -> None:
    vector = SparseVector(np.arange(len(values)), values)
    assert vector != SparseVector(np.arange(len(values) + 1), [*values, 1.0])
    assert vector != vector.to_dict()
    if len(values):
        assert vector != SparseVector(np.arange(len(values)) + 1, values)
        assert vector != SparseVector(
            np.arange(len(values)), [*values[:-1], np.nextafter(values[-1], np.float32(np.inf))]
        )


@pytest.mark.row("B1")
def test_a_row_of_scipy() -> None:
    expected = SparseVector.from_dict({2: 2.0, 9: 0.5})
    assert SparseVector.from_scipy(Row([9, 2], [0.5, 2.0])) == expected
    assert SparseVector.from_scipy(Row([9, 4, 2], [0.5, 0.0, 2.0], (100,))) == expected  # a stored zero is no entry
    with pytest.raises(InvalidInputError, match=r"row must have the shape \(1, n\) or \(n,\), not \(2, 100\)"):
        SparseVector.from_scipy(Row([1], [1.0], (2, 100)))
    with pytest.raises(InvalidInputError, match="holds 9 twice"):
        SparseVector.from_scipy(Row([9, 9], [0.5, 2.0]))


@pytest.mark.row("B1")
@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "csr_matrix", "lil_array", "dok_array"])
def test_a_row_of_the_real_scipy(form: str) -> None:
    row = getattr(sparse, form)(np.array([[0.0, 0, 2.0, 0, 0.5]]))
    assert SparseVector.from_scipy(row) == SparseVector.from_dict({2: 2.0, 4: 0.5})
    if form == "coo_array":
        assert SparseVector.from_scipy(sparse.coo_array(np.array([0.0, 2.0]))) == SparseVector.from_dict({1: 2.0})


@pytest.mark.row("B1")
@pytest.mark.case("S-014")
@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [
        ([1, 2, 3], [1.0, 2.0], "3 indices and 2 values"),
        ([3, 3], [1.0, 1.0], "holds 3 twice, again at position 1"),
        ([5, 3, 1, 3], [1.0] * 4, "holds 3 twice, again at position 3"),
        ([1, -1], [1.0, 1.0], "not -1 at position 1"),
        ([2**32], [1.0], "not 4294967296 at position 0"),
        ([1.5], [1.0], "whole numbers"),
        (["a"], [1.0], "whole numbers"),
        ([True], [1.0], "whole numbers"),
        ([2**70], [1.0], "whole numbers"),
        ([[1]], [1.0], r"shape \(n,\), not \(1, 1\)"),
        ([1], [[1.0]], r"shape \(n,\), not \(1, 1\)"),
        ([1, 2], [1.0, 0.0], "not 0.0 at position 1"),
        ([1, 2], [1.0, -1.0], "not -1.0 at position 1"),
        ([1, 2], [math.nan, 1.0], "not nan at position 0"),
        ([1, 2], [math.inf, 1.0], "not inf at position 0"),
        ([1], [1e39], r"in float32, not 1e\+39 at position 0"),
        ([1], [1e-60], "in float32, not 1e-60 at position 0"),
        ([1], ["x"], "real numbers"),
        ([1], [True], "real numbers"),
        ([1], [1j], "real numbers"),
        ([[1], [1, 2]], [1.0], "must be numbers"),
    ],
)
def test_what_is_no_vector_is_refused_by_position(indices: list[object], values: list[object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        SparseVector.from_arrays(indices, values)  # type: ignore[arg-type]
    assert isinstance(refused.value, ValueError)


@pytest.mark.row("B1")
def test_the_constructor_takes_the_canonical_form_only() -> None:
    with pytest.raises(InvalidInputError, match=r"2 at position 1 follows 9: use SparseVector\.from_arrays"):
        SparseVector([9, 2], [0.5, 2.0])
    with pytest.raises(InvalidInputError, match="3 at position 1 follows 3"):
        SparseVector([3, 3], [0.5, 2.0])
    assert SparseVector([], []) == SparseVector.from_dict({})


@pytest.mark.row("B1")
def test_a_vector_is_immutable_and_keeps_copies() -> None:
    indices, values = np.array([2, 9], np.uint32), np.array([2.0, 0.5], np.float32)
    vector = SparseVector(indices, values)
    indices[0], values[0] = 5, 5.0
    assert vector.to_dict() == {2: 2.0, 9: 0.5}
    for array in (vector.indices, vector.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError, match="immutable"):
        vector.values = values  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del vector.values
    assert repr(vector) == "SparseVector({2: 2.0, 9: 0.5})"
    assert repr(SparseVector(range(9), [1] * 9)).endswith("7: 1.0, …})")
