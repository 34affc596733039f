"""What the spans of a retrieval carry: read from the record, nothing measured twice."""

from __future__ import annotations

import json
from typing import Any, Final

from ragstone.models import SearchResult
from ragstone.observability.tracing import Span, captures_text, span
from ragstone.options import RetrievalOptions
from ragstone.retrieval.candidate import Candidates, Query, Search, Stage
from ragstone.retrieval.page import SearchPage

__all__ = ["note_page", "traced", "traced_search"]

_MOST_DOCUMENTS: Final = 50


def note_page(current: Span, options: RetrievalOptions, page: SearchPage) -> None:
    """Note a finished call on its span, in the conventions for generative AI where they have a name for it."""
    if not current.recording:
        return
    current.set_attribute("gen_ai.operation.name", "retrieval")
    current.set_attribute("gen_ai.retrieval.top_k", options.top_k)
    current.set_attribute("gen_ai.retrieval.documents", json.dumps([_told(r) for r in page[:_MOST_DOCUMENTS]]))
    current.set_attribute("retrieval.path", page.path)
    current.set_attribute("retrieval.results", len(page))
    current.set_attribute("retrieval.dropped", len(page.candidates_dropped))
    current.set_attribute("retrieval.exhausted", page.exhausted)
    current.set_attribute("retrieval.warnings", len(page.warnings))
    if "cache" in page.notes:
        current.set_attribute("retrieval.cache", page.notes["cache"])
    if captures_text():
        current.set_attribute("gen_ai.retrieval.query.text", page.query)


def _told(result: SearchResult) -> dict[str, Any]:
    key = result.chunk.key
    told: dict[str, Any] = {
        "id": f"{key.document_id}#{key.chunk_index}",
        "score": result.score,
        "score_scale": result.score_scale,
    }
    return {**told, "content": result.chunk.text} if captures_text() else told


def traced(name: str, stage: Stage) -> Stage:
    """Return the stage in a span of its own, with how many candidates it leaves and how many it dropped."""

    async def call(query: Query, search: Search) -> Candidates:
        dropped_before = 0

        async def inner(query: Query) -> Candidates:
            nonlocal dropped_before
            found = await search(query)
            dropped_before = len(found.dropped)
            return found

        with span(_name(name)) as current:
            found = await stage(query, inner)
            current.set_attribute("retrieval.depth", query.depth)
            current.set_attribute("retrieval.candidates", len(found.kept))
            current.set_attribute("retrieval.dropped", len(found.dropped) - dropped_before)
            return found

    return call


def traced_search(search: Search) -> Search:
    """Return the search at the heart of the chain in a span of its own, with what each arm found."""

    async def call(query: Query) -> Candidates:
        with span(_name("search")) as current:
            found = await search(query)
            current.set_attribute("retrieval.depth", query.depth)
            current.set_attribute("retrieval.candidates", len(found.kept))
            for arm in found.arms:
                current.set_attribute(f"retrieval.arm.{arm.arm}.hits", arm.hits)
                current.set_attribute(f"retrieval.arm.{arm.arm}.status", arm.status)
            return found

    return call


def _name(stage: str) -> str:
    return f"ragstone.retrieve.{stage}"
