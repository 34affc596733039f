"""The name of a pipeline's parts: two pipelines of the same name answer alike from the same indexes."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from ragstone.caching.keys import Undescribable, key_of
from ragstone.engine.text import ANALYZER
from ragstone.engine.version import __version__
from ragstone.ports import KeywordIndex, ParentChunkStore, VectorStore
from ragstone.retrieval.parts import RetrievalParts

__all__ = ["pipeline_identity"]

_ELSEWHERE: Final = frozenset(
    {"caching_embedder", "pages", "tag_retrieval", "tags", "time_weighting", "clock", "guards"}
)
"""Parts that lie outside the cache, or that each call's key names."""


def pipeline_identity(parts: RetrievalParts, instance: str) -> str:
    """Return the name of the parts; `instance`, which no other pipeline has, where one of them has no name.

    It may read a model's files: call it in a worker thread.
    """
    try:
        described = {
            field.name: _described(getattr(parts, field.name))
            for field in fields(parts)
            if field.name not in _ELSEWHERE
        }
        return key_of("pipeline", __version__, ANALYZER, described)
    except Undescribable:
        return instance


def _described(part: object) -> object:
    """The part's class and its own identity, or the part itself where it is plain data."""
    kind = f"{type(part).__module__}.{type(part).__qualname__}"
    if isinstance(part, (VectorStore, KeywordIndex, ParentChunkStore)):
        return {"class": kind}  # what it holds is told by the generation
    identity: object = getattr(part, "identity", None)
    return part if identity is None else {"class": kind, "identity": identity}
