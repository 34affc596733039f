"""The index's face: writes, pages, filters, explanations, and what is refused."""

import functools
import math
import operator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragstone.engine.lexical import Bm25Hit, Bm25Index, Bm25Term
from ragstone.errors import ConfigurationError, InvalidInputError, MetadataError


def found(index: Bm25Index, query: str, **options: object) -> list[tuple[str | int, int]]:
    return [(hit.document_id, hit.chunk_index) for hit in index.search(query, **options)]  # type: ignore[arg-type]


@pytest.mark.row("A3")
def test_the_formula_by_hand() -> None:
    index = Bm25Index(k1=1.2, b=0.5)
    index.add_many(["a", "b", "c"], [0, 0, 0], ["red red kite", "red lamp", "blue"])
    average = 6 / 3
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    score = idf * (2 / (2 + 1.2 * (1 - 0.5 + 0.5 * 3 / average)))
    assert index.search("red")[0] == Bm25Hit("a", 0, pytest.approx(score, rel=1e-15))
    assert index.search("red red")[0].score == pytest.approx(2 * score, rel=1e-15)  # a repeated term counts again
    assert (index.k1, index.b, len(index)) == (1.2, 0.5, 3)
    assert repr(index) == "Bm25Index(k1=1.2, b=0.5, chunks=3)"


@pytest.mark.row("A3")
def test_defaults() -> None:
    assert (Bm25Index().k1, Bm25Index().b) == (1.5, 0.75)


@pytest.mark.row("A3")
@pytest.mark.parametrize("options", [{"k1": 0.0}, {"b": 0.0}, {"b": 1.0}, {"k1": 1e308}, {"k1": 0, "b": 1}])
def test_extreme_parameters_give_finite_scores(options: dict[str, float]) -> None:
    index = Bm25Index(**options)
    index.add_many(["a", "b", "c"], [0, 0, 0], ["x x y", "x", "z " * 500])
    assert all(0 < hit.score < math.inf for hit in index.search("x y z"))


@pytest.mark.row("A3")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k1": -0.1}, "k1 must be a finite number of at least 0, not -0.1"),
        ({"k1": math.nan}, "k1 must be finite"),
        ({"k1": "1.5"}, "k1 must be a number, not '1.5'"),
        ({"k1": True}, "k1 must be a number, not True"),
        ({"b": 1.01}, "b must be between 0 and 1, not 1.01"),
        ({"b": -1}, "b must be between 0 and 1, not -1"),
        ({"b": math.inf}, "b must be finite"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Bm25Index(**options)


@pytest.mark.row("A4")
def test_writes_show_at_once() -> None:
    index = Bm25Index()
    index.add("a", 0, "red kite")
    index.add("a", 1, "red lamp")
    index.add(7, 0, "red fern")
    assert found(index, "red") == [(7, 0), ("a", 0), ("a", 1)]
    index.replace_document("a", [5], ["red moss"])
    assert found(index, "red") == [(7, 0), ("a", 5)]
    assert (index.remove("a"), index.remove("a"), index.remove("7")) == (1, 0, 0)
    assert found(index, "red") == [(7, 0)]
    index.replace_document(7, [], [])
    assert (len(index), found(index, "red")) == (0, [])
    index.add_many([], [], [])
    index.add("b", 0, "red")
    index.clear()
    assert (len(index), found(index, "red")) == (0, [])
    index.add("c", 0, "red")
    assert found(index, "red") == [("c", 0)]


@pytest.mark.row("A4")
def test_of_one_key_given_twice_the_later_stays() -> None:
    index = Bm25Index()
    index.add_many(["a", "a"], [0, 0], ["first", "second"], [{"n": 1}, {"n": 2}])
    assert (len(index), found(index, "first")) == (1, [])
    assert found(index, "second", metadata_filter={"n": 1}) == []
    assert found(index, "second", metadata_filter={"n": 2}) == [("a", 0)]


@pytest.mark.row("A4")
def test_identity_is_the_pair_and_its_types() -> None:
    index = Bm25Index()
    for document_id, chunk_index in [("a", 11), ("a:1", 1), ("1", 0), (1, 0), ("", 0), ("ключ'\"", 0)]:
        index.add(document_id, chunk_index, "same text")
    assert found(index, "same") == [(1, 0), ("", 0), ("1", 0), ("a", 11), ("a:1", 1), ("ключ'\"", 0)]


@pytest.mark.row("A5", "G5")
def test_kinds_of_metadata_never_cross() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    index = Bm25Index()
    values = {"text": "3", "number": 3, "yes": True, "one": 1, "date": noon, "none": None}
    for document_id, value in values.items():
        index.add(document_id, 0, "word", {"key": value, "shared": "x"})
    elsewhere = noon.astimezone(timezone(timedelta(hours=5)))
    for wanted, document_id in [("3", "text"), (3.0, "number"), (True, "yes"), (1, "one"), (elsewhere, "date")]:
        assert found(index, "word", metadata_filter={"key": wanted}) == [(document_id, 0)]
        assert found(index, "word", metadata_filter={"key": wanted, "shared": "x"}) == [(document_id, 0)]
        assert found(index, "word", metadata_filter={"key": wanted, "shared": "y"}) == []
    assert found(index, "word", metadata_filter={"absent": 1}) == []
    assert len(found(index, "word", metadata_filter={})) == len(values)


@pytest.mark.row("A5")
def test_a_filter_follows_replacement() -> None:
    index = Bm25Index()
    index.add("a", 0, "word", {"team": "x"})
    index.add("a", 0, "word", {"team": "y"})
    assert found(index, "word", metadata_filter={"team": "x"}) == []
    assert found(index, "word", metadata_filter={"team": "y"}) == [("a", 0)]


@pytest.mark.row("A7")
def test_pages_of_any_length() -> None:
    index = Bm25Index()
    index.add_many(["a", "b"], [0, 0], ["word", "word"])
    assert found(index, "word", top_k=0) == []
    assert found(index, "word", top_k=1) == [("a", 0)]
    assert found(index, "word", top_k=10**30) == [("a", 0), ("b", 0)]
    assert found(index, "unknown") == []
    assert index.search_many([]) == []
    for refused in (-1, 2.5, True, None):
        with pytest.raises(ConfigurationError, match="top_k"):
            index.search("word", top_k=refused)  # type: ignore[arg-type]


@pytest.mark.row("A7")
def test_a_text_of_ten_megabytes() -> None:
    index = Bm25Index()
    index.add("small", 0, "needle in a haystack")
    straw = "straw " * 1_700_000 + "needle " + "人工" * 10_000 + "x" * 100_000
    index.add("large", 0, straw)
    assert found(index, "needle") == [("small", 0), ("large", 0)]
    assert found(index, "x" * 100_000) == [("large", 0)]
    assert [term.term_frequency for term in index.explain("straw needle", "large", 0)] == [1_700_000, 1]
    assert index.remove("large") == 1
    fresh = Bm25Index()
    fresh.add("small", 0, "needle in a haystack")
    assert index.search("needle") == fresh.search("needle")


@pytest.mark.row("A7")
def test_arguments_that_do_not_fit_store_nothing() -> None:
    index = Bm25Index()
    index.add("a", 0, "old")
    calls = [
        lambda: index.add_many(["a", "b"], [0], ["x"]),
        lambda: index.add_many(["a"], [0], ["x", "y"]),
        lambda: index.add_many(["a"], [0], ["x"], []),
        lambda: index.add_many(["a", "b"], [0, -1], ["x", "y"]),
        lambda: index.add_many(["a", "b"], [0, 2**32], ["x", "y"]),
        lambda: index.add_many(["a", 2**63], [0, 0], ["x", "y"]),
        lambda: index.add_many(["a", "b"], [0, 0], ["x", "secret\ud800"]),
        lambda: index.replace_document("a", [0, 1], ["x"]),
        lambda: index.replace_document("a", [0], ["\udfff"]),
        lambda: index.add("b", 0, "x", {"key": "secret\ud800"}),
        lambda: index.add("b", 0, "x", {"\ud800": "value"}),
        lambda: index.add("\ud800", 0, "x"),
        lambda: index.search("\ud800"),
        lambda: index.search("old", metadata_filter={"key": "\ud800"}),
        lambda: index.explain("old", "a", -1),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError) as refused:
            call()
        assert "secret" not in str(refused.value)
    with pytest.raises(MetadataError, match="'tags'"):
        index.add_many(["a", "b"], [0, 0], ["x", "y"], [{}, {"tags": ["no", "lists"]}])
    with pytest.raises(TypeError, match="document id"):
        index.add(1.5, 0, "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        index.add_many("a", [0], "x")
    assert (len(index), found(index, "old x y")) == (1, [("a", 0)])


@pytest.mark.row("A5")
def test_a_filter_that_cannot_be_compared_is_refused() -> None:
    for refused in ({"key": None}, {"key": ["x"]}, {"": 1}):
        with pytest.raises(MetadataError):
            Bm25Index().search("word", metadata_filter=refused)  # type: ignore[dict-item]


@pytest.mark.row("A3")
def test_an_explanation_adds_up() -> None:
    index = Bm25Index()
    index.add_many(["a", "b", "c"], [0, 0, 0], ["red red kite", "red lamp", "blue lamp"])
    terms = index.explain("Kite red unknown lamp red", "a", 0)
    assert [(t.term, t.query_frequency, t.term_frequency, t.document_frequency) for t in terms] == [
        ("kite", 1, 1, 1),
        ("red", 2, 2, 2),
        ("unknown", 1, 0, 0),
        ("lamp", 1, 0, 2),
    ]
    assert terms[0].idf == pytest.approx(math.log(1 + 2.5 / 1.5), rel=1e-15)
    score = functools.reduce(operator.add, (term.contribution for term in terms), 0.0)
    assert score == index.search("Kite red unknown lamp red")[0].score
    assert isinstance(terms[0], Bm25Term)
    assert index.explain("red", "a", 1) == index.explain("red", "absent", 0) == index.explain("", "a", 0) == []
