"""Candidates as bytes: equal in every field after the journey, refused where they are something else."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from ragstone.models import ChunkKey, Evidence, ScoreScale, TextChunk
from ragstone.retrieval.candidate import ArmReport, Candidate, Candidates, Drop
from ragstone.retrieval.codec import CandidatesCodec

EXAMPLES = {str: "text \ud83d é", int: 3, float: 0.1 + 0.2, ScoreScale: ScoreScale.BM25, ChunkKey: ChunkKey("d:1", 7)}
METADATA = {"s": "x", "i": 3, "f": 2.5, "b": True, "d": datetime(2024, 1, 1, tzinfo=UTC)}


def example(hint):
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if hint in EXAMPLES:
        return EXAMPLES[hint]
    return EXAMPLES[next(item for item in get_args(hint) if item is not type(None))]


def filled(kind):
    """Evidence of this kind with a value in every field."""
    hints = get_type_hints(kind)
    return kind(**{field.name: example(hints[field.name]) for field in fields(kind)})


EVIDENCE = tuple(filled(kind) for kind in get_args(Evidence))
FOUND = Candidates(
    kept=(
        Candidate(
            TextChunk("text", "d:1", 7, 10, 14, METADATA),
            -1.5,
            ScoreScale.RERANK,
            EVIDENCE,
            np.array([0.25, -1.0], dtype=np.float32),
            compressed_text="te",
            best_child=TextChunk("ex", "d:1", 3, 11, 13),
        ),
    ),
    dropped=(Candidate(TextChunk("", "e", 0), 0.5, ScoreScale.RRF, drop=Drop("cut", "rank 2")),),
    arms=(ArmReport(arm="bm25", depth=50, hits=2, seconds=0.1, error="down"),),
    path="client",
    exhausted=True,
    bounded=True,
    warnings=("w",),
    notes={"n": "v"},
)


@pytest.mark.row("G8")
def test_every_field_and_every_kind_of_evidence_survives():
    codec = CandidatesCodec()
    back = codec.decode(codec.encode(FOUND))
    assert np.array_equal(back.kept[0].vector, FOUND.kept[0].vector)
    plain = [replace(found, kept=tuple(replace(c, vector=None) for c in found.kept)) for found in (back, FOUND)]
    assert plain[0] == plain[1]
    assert type(back.kept[0].scale) is ScoreScale
    assert type(back.kept[0].chunk.metadata["b"]) is bool


def test_the_example_leaves_no_field_at_its_default():
    candidates = (*FOUND.kept, *FOUND.dropped)
    for kind, examples in ((Candidates, [FOUND]), (Candidate, candidates)):
        for field in fields(kind):
            told = [getattr(example, field.name) for example in examples]
            assert field.default is MISSING or any(value is not field.default for value in told), field.name


@pytest.mark.row("G8")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\x80\x04N.",
        CandidatesCodec().encode(FOUND).replace(b"ArmEvidence", b"Path"),
        CandidatesCodec().encode(FOUND).replace(b'"scale":"rerank"', b'"scale":"none"'),
        CandidatesCodec().encode(FOUND).replace(b'"kept":[', b'"kept":[1,'),
        CandidatesCodec().encode(FOUND)[:-2],
    ],
)
def test_anything_else_is_refused(content):
    with pytest.raises(ValueError):  # noqa: PT011  each kind of damage has its own words
        CandidatesCodec().decode(content)
