"""Guards: what they see, what becomes of what they drop, and that nothing passes one that fails."""

from __future__ import annotations

import asyncio
import contextvars
import json

import pytest

import ragstone as rs
from ragstone.errors import ConfigurationError, GuardError
from ragstone.models import SearchResult, WebEvidence, WebResult
from ragstone.options import RetrievalOptions
from ragstone.ports import RetrievalGuard
from ragstone.retrieval.planning import Cost
from ragstone.retrieval.stages.guards import Guarding
from ragstone.testing import HashEmbedder, ScriptedReranker, ScriptedWebSearch
from support.parts import ScriptedGuard, names, searching
from support.retrieval import ScriptedStore, hit


def odd(result: SearchResult) -> str | None:
    return "odd" if int(result.chunk.document_id[1:]) % 2 else None


def ladder(count):
    return [hit(f"c{i:02}", 1 - i / 1000, text=f"secret of {i}", owner="jane") for i in range(count)]


@pytest.mark.row("G10")
async def test_a_guard_drops_with_a_reason_and_the_page_is_filled_from_deeper():
    store, guard = ScriptedStore(ladder(40)), ScriptedGuard(odd, name="even-only")
    page = await searching([], store=store, guards=[guard]).retrieve("q", RetrievalOptions(top_k=5))
    assert names(page) == ["c00", "c02", "c04", "c06", "c08"]
    drop = next(d for d in page.dropped if d.result.chunk.document_id == "c01").drop
    assert (drop.stage, drop.reason) == ("guards", "guard even-only: odd")
    assert [search.top_k for search in store.searches] == [15]


@pytest.mark.row("G10")
async def test_a_short_page_says_that_nothing_more_is_eligible():
    page = await searching(ladder(8), guards=[ScriptedGuard(odd)]).retrieve("q", RetrievalOptions(top_k=6))
    assert len(page) == 4
    assert page.exhausted


@pytest.mark.row("G10")
async def test_guards_see_full_texts_before_the_reranker_does():
    guard, reranker = ScriptedGuard(odd), ScriptedReranker(lambda query, texts: [0.5 + i for i in range(len(texts))])
    await searching(ladder(10), guards=[guard], reranker=reranker).retrieve("q", RetrievalOptions(top_k=2))
    assert guard.seen == [[f"c{i:02}" for i in range(10)]]
    assert reranker.requests[0].texts == tuple(f"secret of {i}" for i in (0, 2, 4, 6, 8))


@pytest.mark.row("G10")
async def test_of_what_was_dropped_the_record_keeps_neither_text_nor_metadata():
    page = await searching(ladder(4), guards=[ScriptedGuard(odd)]).retrieve("q", RetrievalOptions())
    dropped = next(d for d in page.dropped if d.result.chunk.document_id == "c01").result
    assert (dropped.chunk.text, dropped.chunk.metadata, dropped.embedding) == ("", {}, None)
    assert dropped.score == 0.999
    shown = json.dumps(page.to_dict()) + str(page.explain())
    assert "secret of 0" in shown
    assert "secret of 1" not in shown
    assert "c01#0 was dropped by guards: guard scripted: odd" in page.explain().of("c01", 0)


@pytest.mark.row("G10")
async def test_of_what_was_dropped_before_a_guard_saw_it_no_text_stays_either():
    filtered = RetrievalOptions(filter=lambda result: result.chunk.document_id != "c00")
    page = await searching(ladder(2), guards=[ScriptedGuard()]).retrieve("q", filtered)
    assert [(d.result.chunk.key, d.result.chunk.text, d.drop.stage) for d in page.dropped] == [
        (("c00", 0), "", "filter")
    ]
    web = ScriptedWebSearch([WebResult(url="https://example.org/", title="Leave", text="16 weeks")])
    corrected = searching(ladder(2), guards=[ScriptedGuard()], web_search=web)
    page = await corrected.retrieve("how long is leave", RetrievalOptions(use_crag=True))
    assert [(d.result.chunk.text, d.drop.stage) for d in page.dropped] == [("", "crag")] * 2
    assert "secret" not in json.dumps(page.to_dict())


@pytest.mark.row("G10")
async def test_each_guard_sees_only_what_those_before_it_let_pass_and_nothing_twice():
    first, second = ScriptedGuard(odd, name="first"), ScriptedGuard(lambda result: "late", name="second")
    page = await searching(ladder(70), guards=[first, second]).retrieve("q", RetrievalOptions(top_k=5))
    assert len(page) == 0
    seen = [name for call in first.seen for name in call]
    assert len(seen) == len(set(seen)) == 70
    assert len(first.seen) > 1
    assert {name for call in second.seen for name in call} == {f"c{i:02}" for i in range(0, 70, 2)}


@pytest.mark.row("G10")
async def test_a_guard_that_fails_ends_the_call_with_its_error():
    class LeakError(Exception):
        pass

    guards = [ScriptedGuard(), ScriptedGuard(fail=LeakError("the directory of people is down"))]
    with pytest.raises(LeakError, match="directory of people"):
        await searching(ladder(3), guards=guards).retrieve("q", RetrievalOptions())


@pytest.mark.row("G10")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda result: False, "a verdict must be None or the reason to drop the result, a string"),
        (lambda result: 1, "a verdict must be None"),
    ],
)
async def test_a_verdict_that_is_none_ends_the_call(answer, message):
    with pytest.raises(GuardError, match=message):
        await searching(ladder(3), guards=[ScriptedGuard(answer)]).retrieve("q", RetrievalOptions())


@pytest.mark.row("G10")
@pytest.mark.parametrize("count", [2, 4])
async def test_one_verdict_a_result_is_due(count):
    class Miscounting(ScriptedGuard):
        async def check(self, query, results):
            return [None] * count

    with pytest.raises(GuardError, match=f"guard scripted: 3 results went in and {count} verdicts came back"):
        await searching(ladder(3), guards=[Miscounting()]).retrieve("q", RetrievalOptions())


def test_the_cost_is_that_of_the_deeper_search():
    stage = Guarding((ScriptedGuard(),))
    assert stage.cost(5, lambda depth: Cost(embedding_calls=depth)) == Cost(embedding_calls=15)


def staffed(*roles):
    return [
        hit(f"d{i}", 1 - i / 10, roles=role) if role is not None else hit(f"d{i}", 1 - i / 10)
        for i, role in enumerate(roles)
    ]


@pytest.mark.row("G10")
@pytest.mark.parametrize(
    ("roles", "open_without_key", "passed"),
    [
        (["hr"], False, ["d0", "d1"]),
        (["finance"], False, ["d1", "d2"]),
        (["HR"], False, []),
        ([], False, []),
        (["hr", "it"], False, ["d0", "d1"]),
        (["hr"], True, ["d0", "d1", "d4"]),
        ([], True, ["d4"]),
        ([""], True, ["d4"]),
        (["3"], False, []),
    ],
)
async def test_one_of_the_roles_that_a_chunk_names_is_needed(roles, open_without_key, passed):
    guard = rs.RequiredRolesGuard(roles, open_without_key=open_without_key)
    assert isinstance(guard, RetrievalGuard)
    hits = staffed("hr", " finance ,hr", "finance", " , ", None, 3)
    page = await searching(hits, guards=[guard]).retrieve("q", RetrievalOptions(top_k=6))
    assert names(page) == passed


@pytest.mark.row("G10")
async def test_the_reason_tells_no_role():
    hits = staffed("board", None, 3)
    page = await searching(hits, guards=[rs.RequiredRolesGuard(["hr"])]).retrieve("q", RetrievalOptions())
    assert [d.drop.reason.removeprefix("guard required-roles(roles): ") for d in page.dropped] == [
        "none of the caller's roles is in metadata 'roles'",
        "metadata has no 'roles'",
        "metadata 'roles' is no string of roles",
    ]


@pytest.mark.row("G10")
async def test_roles_may_depend_on_who_asks():
    who = contextvars.ContextVar("who", default=("nobody",))
    guard = rs.RequiredRolesGuard(who.get, key="groups")
    rag = rs.RagPipeline(embedder=HashEmbedder(64), guards=[guard])
    for name in ("hr", "it"):
        await rag.ingest_text("how long is leave", rs.DocumentMetadata(document_id=name, tags={"groups": name}))

    async def found(*roles):
        who.set(roles)
        return names(await rag.retrieve("leave"))

    hr, it, both = await asyncio.gather(found("hr"), found("it"), found("hr", "it"))
    assert (hr, it, sorted(both)) == (["hr"], ["it"], ["hr", "it"])
    assert names(await rag.retrieve("leave")) == []


@pytest.mark.row("G10")
def test_the_cache_key_tells_callers_and_settings_apart():
    guards = [
        rs.RequiredRolesGuard(["hr"]),
        rs.RequiredRolesGuard(["it"]),
        rs.RequiredRolesGuard([]),
        rs.RequiredRolesGuard(["hr", "it"]),
        rs.RequiredRolesGuard(["hr,it"]),
        rs.RequiredRolesGuard(["hr"], open_without_key=True),
        rs.RequiredRolesGuard(["hr"], key="groups"),
    ]
    assert len({guard.cache_key for guard in guards}) == len(guards)
    assert rs.RequiredRolesGuard({"it", "hr"}).cache_key == rs.RequiredRolesGuard(("hr", "it")).cache_key
    assert rs.RequiredRolesGuard(lambda: ["it", "hr"]).cache_key == guards[3].cache_key


@pytest.mark.row("G10")
async def test_what_comes_from_the_web_is_public():
    web = ScriptedWebSearch([WebResult(url="https://example.org/", title="Leave", text="16 weeks")])
    retriever = searching(staffed("board"), guards=[rs.RequiredRolesGuard([])], web_search=web)
    page = await retriever.retrieve("how long is leave", RetrievalOptions(use_crag=True))
    assert names(page) == ["https://example.org/"]
    assert isinstance(page[0].evidence[0], WebEvidence)


@pytest.mark.row("L3")
@pytest.mark.parametrize("roles", ["hr", 7, ["hr", 7], None])
async def test_roles_that_are_no_collection_of_strings_are_refused(roles):
    with pytest.raises(ConfigurationError, match="roles must be a collection of strings"):
        rs.RequiredRolesGuard(roles)
    with pytest.raises(GuardError, match="roles must be a collection of strings"):
        await searching(staffed("hr"), guards=[rs.RequiredRolesGuard(lambda: roles)]).retrieve("q", RetrievalOptions())
    with pytest.raises(ConfigurationError, match="key"):
        rs.RequiredRolesGuard([], key="")
    with pytest.raises(ConfigurationError, match="open_without_key"):
        rs.RequiredRolesGuard([], open_without_key=None)
