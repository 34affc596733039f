"""Candidates as bytes and back: JSON of a fixed form, every kind of evidence named, nothing executed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final, get_args, get_type_hints

import numpy as np

from ragstone.metadata import metadata_from_json, metadata_to_json
from ragstone.models import ChunkKey, Evidence, ScoreScale, TextChunk, Vector
from ragstone.retrieval.candidate import ArmReport, Candidate, Candidates, Drop

__all__ = ["CandidatesCodec"]

_FLOAT: Final = np.dtype("<f4")


def _key(value: Sequence[Any]) -> ChunkKey:
    return ChunkKey(*value)


_KINDS: Final[Mapping[str, type]] = {kind.__name__: kind for kind in get_args(Evidence)}
_MAKERS: Final[Mapping[object, Any]] = {ScoreScale: ScoreScale, ChunkKey: _key}
_TYPES: Final = {kind: get_type_hints(kind) for kind in _KINDS.values()}


class CandidatesCodec:
    """Turns the candidates of a call into bytes and back, equal in every field."""

    def encode(self, value: Candidates) -> bytes:
        """Return the candidates as bytes."""
        plain = {
            "kept": [_plain(candidate) for candidate in value.kept],
            "dropped": [_plain(candidate) for candidate in value.dropped],
            "arms": [asdict(arm) for arm in value.arms],
            "path": value.path,
            "exhausted": value.exhausted,
            "bounded": value.bounded,
            "warnings": value.warnings,
            "notes": dict(value.notes),
        }
        return json.dumps(plain, separators=(",", ":")).encode("ascii")

    def decode(self, content: bytes) -> Candidates:
        """Return the candidates of these bytes.

        Raises:
            ValueError: They are not what `encode` gives.
        """
        try:
            plain = json.loads(content)
            return Candidates(
                kept=tuple(map(_candidate, plain["kept"])),
                dropped=tuple(map(_candidate, plain["dropped"])),
                arms=tuple(ArmReport(**arm) for arm in plain["arms"]),
                path=plain["path"],
                exhausted=plain["exhausted"],
                bounded=plain["bounded"],
                warnings=tuple(plain["warnings"]),
                notes=plain["notes"],
            )
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"not the candidates of a call: {type(error).__name__}") from error


def _plain(candidate: Candidate) -> dict[str, Any]:
    child, drop, vector = candidate.best_child, candidate.drop, candidate.vector
    return {
        "chunk": _chunk_plain(candidate.chunk),
        "best_child": None if child is None else _chunk_plain(child),
        "score": candidate.score,
        "scale": candidate.scale,
        "evidence": [_evidence_plain(item) for item in candidate.evidence],
        "vector": None if vector is None else base64.b64encode(vector.astype(_FLOAT).tobytes()).decode("ascii"),
        "drop": None if drop is None else [drop.stage, drop.reason],
        "compressed_text": candidate.compressed_text,
    }


def _chunk_plain(chunk: TextChunk) -> list[Any]:
    return [chunk.text, *chunk.key, chunk.start, chunk.end, metadata_to_json(chunk.metadata)]


def _evidence_plain(item: Evidence) -> list[Any]:
    return [type(item).__name__, {field.name: getattr(item, field.name) for field in fields(item)}]


def _candidate(plain: Mapping[str, Any]) -> Candidate:
    return Candidate(
        chunk=_chunk(plain["chunk"]),
        best_child=None if plain["best_child"] is None else _chunk(plain["best_child"]),
        score=plain["score"],
        scale=ScoreScale(plain["scale"]),
        evidence=tuple(map(_evidence, plain["evidence"])),
        vector=_vector(plain["vector"]),
        drop=None if plain["drop"] is None else Drop(*plain["drop"]),
        compressed_text=plain["compressed_text"],
    )


def _chunk(plain: Sequence[Any]) -> TextChunk:
    text, document_id, chunk_index, start, end, metadata = plain
    return TextChunk(text, document_id, chunk_index, start, end, metadata_from_json(metadata))


def _evidence(plain: Sequence[Any]) -> Evidence:
    name, values = plain
    kind = _KINDS[name]
    made = {key: _MAKERS.get(_TYPES[kind][key], _same)(value) for key, value in values.items()}
    evidence: Evidence = kind(**made)
    return evidence


def _same(value: object) -> object:
    return value


def _vector(encoded: str | None) -> Vector | None:
    if encoded is None:
        return None
    vector = np.frombuffer(base64.b64decode(encoded, validate=True), dtype=_FLOAT).astype(np.float32)
    vector.flags.writeable = False
    return vector
