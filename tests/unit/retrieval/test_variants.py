"""Reading query variants out of a model's answer."""

from __future__ import annotations

import pytest

from ragstone.retrieval.variants import distinct, read_variants


@pytest.mark.row("F2")
@pytest.mark.parametrize(
    ("answer", "variants"),
    [
        pytest.param(
            "Here are 3 variants:\n\n1. How tall is the tower?\n\n2) tower height in metres\n"
            "3: What height has the tower?\n",
            ["How tall is the tower?", "tower height in metres", "What height has the tower?"],
            marks=pytest.mark.case("S-045"),
        ),
        ("a b\n\n  c d  \r\ne f", ["a b", "c d", "e f"]),
        ("Sure, here you go\n- a b\n* c d\n• e f\nHope it helps!", ["a b", "c d", "e f"]),
        ("(1) a\n(2) b", ["a", "b"]),
        ('1. "quoted one"\n2. **bold one**', ["quoted one", "bold one"]),
        ("```\na b\n```", ["a b"]),
        ("Variants:\nthe 3D printer\n2.5 inch disks", ["the 3D printer", "2.5 inch disks"]),
        ("one\ntwo\nthree\nfour\nfive", ["one", "two", "three"]),
        ("How HIGH  is it?\nhow high is it?\nother\nOTHER", ["other"]),
        ("1. \n2. ", []),
        ("", []),
    ],
)
def test_variants_are_read_a_line_each(answer, variants):
    assert read_variants(answer, count=3, query="how high is it?") == variants


def test_distinct_queries_differ_in_more_than_case_and_spacing():
    assert distinct(["A b", "a  B", "", "  ", "c"], besides=["C"]) == ["A b"]
