"""Which sources an answer cites, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answering import read_citations
from ragstone.models import SearchResult, TextChunk

SOURCES = [SearchResult(TextChunk(f"text {n}", f"d{n}", 4, 10 * n, 10 * n + 6), 0.5) for n in range(1, 4)]


def numbers(answer):
    return [citation.source for citation in read_citations(answer, SOURCES)[0]]


@pytest.mark.row("I7")
@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("So it is [Source 2].", [2]),
        ("So [Source 1], and so [source 3] and [SOURCE 1].", [1, 3, 1]),
        ("[Source 1, 2] [Sources 2 and 3] [Source 1, Source 3] [Sources 1, 2, and 3]", [1, 2, 2, 3, 1, 3, 1, 2, 3]),
        ("[Source 1; Source 2] [Source 1 & 2] [Source 1 2]", [1, 2, 1, 2, 1, 2]),
        ("[Source 1-3] [Sources 2–3] [Source 3-1]", [1, 2, 3, 2, 3, 3, 1]),
        ("[ Source  2 ]", [2]),
        ("[Source 1, 1]", [1]),
        ("[Source 02]", [2]),
        ("[1] x[2] (Source 1) Source 2 [Source] [Sources] [Source a] [Resource 1] [Source 1.5]", []),
        ("[Source 1", []),
        ("", []),
    ],
)
def test_what_counts_as_a_citation(answer, cited):
    assert numbers(answer) == cited
    assert read_citations(answer, SOURCES)[1] == ()


@pytest.mark.row("I7")
def test_a_citation_leads_to_the_span_of_the_document_and_of_the_answer():
    answer = "Ä🙂 it is so [Source 2]."
    (citation,), unknown = read_citations(answer, SOURCES)
    assert answer[citation.start : citation.end] == "[Source 2]"
    assert (citation.document_id, citation.document_span) == ("d2", (20, 26))
    assert citation.chunk is SOURCES[1].chunk
    assert unknown == ()


@pytest.mark.row("I7")
def test_numbers_without_a_source_are_told_apart():
    citations, unknown = read_citations("[Source 0] [Source 2, 7] [Source 3-5] [Source 9999-9998]", SOURCES)
    assert [citation.source for citation in citations] == [2, 3]
    assert unknown == (0, 4, 5, 7, 9998, 9999)


@given(st.text(alphabet="[]Source 0123456789,-and&;\n🙂"))
def test_any_answer_is_read(answer):
    citations, _ = read_citations(answer, SOURCES)
    for citation in citations:
        label = answer[citation.start : citation.end]
        assert label.startswith("[")
        assert label.endswith("]")
        assert 1 <= citation.source <= len(SOURCES)
