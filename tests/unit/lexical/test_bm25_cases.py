"""Faults known from other systems, with their exact figures."""

import itertools
import math
import unicodedata

import pytest

from ragstone.engine.lexical import Bm25Index


def build(**texts: str) -> Bm25Index:
    index = Bm25Index()
    for document_id, text in texts.items():
        index.add(document_id, 0, text)
    return index


def page(index: Bm25Index, query: str, top_k: int = 10) -> list[tuple[str | int, float]]:
    return [(hit.document_id, pytest.approx(hit.score, abs=5e-7)) for hit in index.search(query, top_k=top_k)]


@pytest.mark.row("A3", "A6")
@pytest.mark.case("S-001")
def test_a_term_in_half_of_the_chunks_still_counts() -> None:
    index = build(d1="red kite", d2="red lamp", d3="blue fern", d4="blue moss")
    assert page(index, "red") == [("d1", 0.277259), ("d2", 0.277259)]


@pytest.mark.row("A3")
@pytest.mark.case("S-002")
def test_a_term_in_every_chunk_still_counts() -> None:
    index = build(a="tea tea tea", b="tea cup", c="tea")
    assert page(index, "tea") == [("a", 0.079130), ("c", 0.068919), ("b", 0.053413)]


@pytest.mark.row("A3", "A4")
@pytest.mark.case("S-003")
def test_the_average_length_stays_exact() -> None:
    texts = {"x": "iron ore", "y": "iron ore mine shaft", "z": "coal seam dust"}
    at_once = Bm25Index()
    at_once.add_many(list(texts), [0, 0, 0], list(texts.values()))
    orders = [build(**dict(order)) for order in itertools.permutations(texts.items())]
    for index in [at_once, *orders]:
        assert page(index, "iron") == [("x", 0.221178), ("y", 0.163480)]
        assert index.search("iron") == at_once.search("iron")


@pytest.mark.row("A4")
@pytest.mark.case("S-004")
def test_adding_again_replaces() -> None:
    index = build(n1="apple pie crust", n2="fig jam", n3="plum")
    index.add("n1", 0, "pear tart")
    assert page(index, "pear") == [("n1", 0.359937)]
    assert index.search("apple") == []
    assert len(index) == 3


@pytest.mark.row("A7")
@pytest.mark.case("S-005")
def test_nothing_to_divide_by() -> None:
    index = Bm25Index()
    assert index.search("x") == []
    for document_id, text in {"e1": "", "e2": "   ", "e3": "!!! ---"}.items():
        index.add(document_id, 0, text)
    assert [index.search(query) for query in ("x", "", "?!")] == [[], [], []]
    index.add("e4", 0, "x ray")
    (hit,) = index.search("x")
    assert hit.document_id == "e4"
    assert 0 < hit.score < math.inf


@pytest.mark.row("A7")
@pytest.mark.case("S-006")
def test_a_page_longer_than_the_collection() -> None:
    index = build(u="solar panel", v="wind farm")
    assert [hit.document_id for hit in index.search("solar", top_k=10)] == ["u"]
    assert [hit.document_id for hit in index.search("solar wind", top_k=1000)] == ["u", "v"]


@pytest.mark.row("A5")
@pytest.mark.case("S-008")
def test_what_the_filter_excludes_is_absent() -> None:
    index = Bm25Index()
    rows = [("r1", "plum jam", "food"), ("r2", "plum stock report", "money"), ("r3", "rye bread", "food")]
    for document_id, text, category in [*rows, ("r4", "tin roof", "build")]:
        index.add(document_id, 0, text, {"cat": category})
    hits = index.search("plum", top_k=3, metadata_filter={"cat": "food"})
    assert [hit.document_id for hit in hits] == ["r1"]


@pytest.mark.row("A5")
@pytest.mark.case("S-009")
def test_the_filter_comes_before_the_cut() -> None:
    index = Bm25Index()
    for number in range(60):
        index.add(f"x{number}", 0, "alpha alpha alpha", {"team": "x"})
    index.add("z", 0, "alpha beta gamma delta", {"team": "y"})
    assert [hit.document_id for hit in index.search("alpha", top_k=1)] != ["z"]
    assert [hit.document_id for hit in index.search("alpha", top_k=1, metadata_filter={"team": "y"})] == ["z"]


@pytest.mark.row("A2", "A3")
@pytest.mark.case("S-010")
def test_part_of_a_chinese_clause_is_found() -> None:
    index = build(j1="人工智能是未来", j2="人工降雨")
    assert page(index, "人工智能") == [("j1", 0.545606), ("j2", 0.085798)]


@pytest.mark.row("A2", "A3")
@pytest.mark.case("S-011")
def test_korean_is_found() -> None:
    index = build(k1="한국어 검색", k2="한국 음식")
    assert page(index, "한국어") == [("k1", 0.321273), ("k2", 0.080141)]


@pytest.mark.row("A2", "A3")
@pytest.mark.case("S-012")
def test_mixed_scripts_are_found() -> None:
    index = build(g1="GPT模型训练v2", g2="训练模型")
    assert page(index, "模型") == [("g2", 0.082173), ("g1", 0.065554)]
    assert [hit.document_id for hit in index.search("gpt")] == ["g1"]


@pytest.mark.row("A1")
@pytest.mark.case("S-013")
def test_decomposed_spellings_are_found() -> None:
    index = build(p1="caf\u00e9 menu", p2="Zu\u0308rich lake")
    assert [hit.document_id for hit in index.search("cafe\u0301")] == ["p1"]
    assert [hit.document_id for hit in index.search("Z\u00fcrich")] == ["p2"]


@pytest.mark.row("A2")
@pytest.mark.case("S-080")
def test_lone_and_astral_ideographs_are_found() -> None:
    index = build(h1="猫 dog", h2="𠮷野家")
    assert [hit.document_id for hit in index.search("猫")] == ["h1"]
    assert [hit.document_id for hit in index.search("野家")] == ["h2"]


@pytest.mark.row("A2")
@pytest.mark.case("S-081")
def test_decomposed_korean_is_found() -> None:
    index = build(q1="감자 수프")
    (hit,) = index.search("감자")
    assert index.search(unicodedata.normalize("NFD", "감자")) == [hit]
