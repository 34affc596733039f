"""The sparse arm of a hybrid search: when it takes part, what it asks for, and what becomes of its failures."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
import pytest

from ragstone.errors import CapabilityError, ConfigurationError, EmbeddingError, StoreError
from ragstone.models import ScoreScale, SearchOptions
from ragstone.options import EnsembleOptions, RetrievalOptions
from ragstone.retrieval.arms import sparse_arm
from ragstone.retrieval.candidate import Query
from ragstone.retrieval.parts import RetrievalParts
from ragstone.retrieval.retriever import Retriever
from ragstone.retrieval.vectors import CallVectors
from ragstone.testing import FailingSparseEncoder, HashSparseEncoder
from support.retrieval import ScriptedHybridStore, ScriptedKeywordIndex, ScriptedStore, TableEmbedder, hit

DOT, BM25 = ScoreScale.DOT, ScoreScale.BM25
HYBRID = RetrievalOptions(use_hybrid_search=True)


class SparseSearches:
    """Answers sparse searches from a list, and remembers what it was asked."""

    sparse_hits = ()
    sparse_fail = None
    hang_sparse = False

    def script(self, hits=(), *, fail=None, hang=False):
        self.sparse_hits, self.sparse_fail, self.hang_sparse = tuple(hits), fail, hang
        self.sparse_searches, self.sparse_cancelled = [], 0
        return self

    async def sparse_search(self, vector, options):
        self.sparse_searches.append((vector, options))
        if self.hang_sparse:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.sparse_cancelled += 1
                raise
        if self.sparse_fail is not None:
            raise self.sparse_fail
        eligible = [each for each in self.sparse_hits if options.min_score == 0.0 or each.score >= options.min_score]
        return eligible[: options.top_k]


class SparseStore(SparseSearches, ScriptedStore):
    pass


class SparseHybridStore(SparseSearches, ScriptedHybridStore):
    pass


def retriever(store, *, bm25=(), encoder=None):
    return Retriever(
        RetrievalParts(
            store=store,
            keyword_index=bm25 if isinstance(bm25, ScriptedKeywordIndex) else ScriptedKeywordIndex(bm25),
            embedder=TableEmbedder({}),
            sparse_encoder=encoder,
        )
    )


def ids(page):
    return [result.chunk.document_id for result in page]


# --- when it takes part


@pytest.mark.row("B5")
@pytest.mark.parametrize(
    ("options", "arms"),
    [
        (HYBRID, ["dense", "bm25", "sparse"]),
        (RetrievalOptions(use_hybrid_search=True, use_sparse_search=True), ["dense", "bm25", "sparse"]),
        (RetrievalOptions(use_hybrid_search=True, use_sparse_search=False), ["dense", "bm25"]),
        (RetrievalOptions(), ["dense"]),
        (RetrievalOptions(use_sparse_search=True), ["dense"]),
        (
            RetrievalOptions(use_hybrid_search=True, ensemble_options=EnsembleOptions(sparse_weight=0)),
            ["dense", "bm25"],
        ),
    ],
)
async def test_the_arm_runs_in_hybrid_search_unless_it_is_left_out(options, arms):
    store = SparseStore([hit("a", 0.9)]).script([hit("s", 7.0, DOT)])
    encoder = HashSparseEncoder()
    page = await retriever(store, encoder=encoder).retrieve("q", options)
    assert [arm.arm for arm in page.arms] == arms
    assert encoder.calls == len(store.sparse_searches) == ("sparse" in arms)
    assert ("s" in ids(page)) == ("sparse" in arms)


@pytest.mark.row("B5")
async def test_without_an_encoder_hybrid_search_has_two_arms():
    page = await retriever(SparseStore([hit("a", 0.9)]).script([hit("s", 7.0, DOT)])).retrieve("q", HYBRID)
    assert [arm.arm for arm in page.arms] == ["dense", "bm25"]


@pytest.mark.row("B5")
@pytest.mark.parametrize(
    ("store", "encoder", "message"),
    [
        (SparseStore().script(), None, "use_sparse_search=True needs an encoder: give the pipeline sparse_encoder"),
        (
            ScriptedStore(),
            HashSparseEncoder(),
            "needs a store that searches sparse vectors, and ScriptedStore does not",
        ),
    ],
)
async def test_insisting_on_an_arm_that_cannot_run_is_an_error(store, encoder, message):
    with pytest.raises(CapabilityError, match=message):
        await retriever(store, encoder=encoder).retrieve(
            "q", RetrievalOptions(use_hybrid_search=True, use_sparse_search=True)
        )


@pytest.mark.row("B5")
@pytest.mark.row("E2")
async def test_the_arm_keeps_a_hybrid_search_here_and_leaving_it_out_gives_it_back_to_the_store():
    store = SparseHybridStore([hit("a", 0.9)]).script([hit("s", 7.0, DOT)])
    searching = retriever(store, encoder=HashSparseEncoder())
    page = await searching.retrieve("q", HYBRID)
    assert (page.path, store.hybrid_searches) == ("client", [])
    page = await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True, use_sparse_search=False))
    assert (page.path, len(store.hybrid_searches)) == ("native", 1)


@pytest.mark.row("E3")
async def test_a_native_only_capability_names_the_sparse_arm_among_what_blocks_it():
    store = SparseHybridStore([hit("a", 0.9)], native_only="semantic ranking").script()
    searching = retriever(store, encoder=HashSparseEncoder())
    with pytest.raises(
        CapabilityError, match=r"semantic ranking.*a sparse arm would run, which use_sparse_search=False"
    ):
        await searching.retrieve("q", HYBRID)
    page = await searching.retrieve("q", RetrievalOptions(use_hybrid_search=True, use_sparse_search=False))
    assert page.path == "native"


# --- what it asks for


@pytest.mark.row("B5")
async def test_the_arm_encodes_the_text_as_it_was_typed_whatever_the_dense_arm_embeds():
    store = SparseStore().script([hit("s", 7.0, DOT)])
    encoder = HashSparseEncoder()
    vectors = CallVectors(TableEmbedder({}), store, encoder)
    query = Query("paid leave", HYBRID, 5).embedded(np.array([0.6, 0.8], dtype=np.float32))
    await sparse_arm(store, vectors).search(query, SearchOptions(top_k=5))
    assert encoder.requests == [(("paid leave",), "query")]
    assert store.sparse_searches[0][0] == encoder.vectors(["paid leave"])[0]


@pytest.mark.row("B5")
async def test_a_query_is_encoded_once_however_deep_a_call_searches():
    store = SparseStore([hit(f"a#{n}", 0.9) for n in range(400)]).script([hit("s", 7.0, DOT)])
    encoder = HashSparseEncoder()
    page = await retriever(store, encoder=encoder).retrieve(
        "q", RetrievalOptions(top_k=2, use_hybrid_search=True, filter=lambda result: result.chunk.chunk_index >= 300)
    )
    assert len(page) == 2
    assert len(store.sparse_searches) > 1
    assert encoder.calls == 1


@pytest.mark.row("E6")
@pytest.mark.row("E7")
async def test_floor_and_filter_hold_in_the_sparse_arm_on_its_own_scale():
    store = SparseStore([hit("a", 0.4)]).script([hit("strong", 7.0, DOT), hit("weak", 0.3, DOT)])
    page = await retriever(store, bm25=[hit("z", 0.1, BM25)], encoder=HashSparseEncoder()).retrieve(
        "q", RetrievalOptions(use_hybrid_search=True, min_score=0.5, metadata_filter={"lang": "en"})
    )
    assert set(ids(page)) == {"strong", "z"}
    [(_, options)] = store.sparse_searches
    assert (options.min_score, options.metadata_filter) == (0.5, {"lang": "en"})


# --- three arms fused


@pytest.mark.row("C2")
@pytest.mark.row("B5")
async def test_three_arms_are_fused_by_weighted_reciprocal_ranks():
    store = SparseStore([hit("a", 0.9), hit("b", 0.8)]).script([hit("c", 9.0, DOT), hit("a", 2.0, DOT)])
    page = await retriever(store, bm25=[hit("b", 3.0, BM25)], encoder=HashSparseEncoder()).retrieve(
        "q",
        RetrievalOptions(
            use_hybrid_search=True,
            ensemble_options=EnsembleOptions(dense_weight=0.4, bm25_weight=0.3, sparse_weight=0.3),
        ),
    )
    scores = {result.chunk.document_id: result.score for result in page}
    assert scores == pytest.approx({"a": 0.4 / 61 + 0.3 / 62, "b": 0.4 / 62 + 0.3 / 61, "c": 0.3 / 61})
    assert ids(page) == ["a", "b", "c"]
    for result in page:
        assert sum(item.contribution for item in result.evidence) == result.score
    assert [(item.arm, item.rank, item.score, item.scale) for item in page[0].evidence] == [
        ("dense", 1, 0.9, ScoreScale.SIMILARITY),
        ("sparse", 2, 2.0, DOT),
    ]


@pytest.mark.row("C8")
@pytest.mark.row("B5")
async def test_three_arms_are_fused_by_relative_scores():
    store = SparseStore([hit("a", 0.9), hit("b", 0.5)]).script(
        [hit("c", 9.0, DOT), hit("a", 1.0, DOT), hit("b", 5.0, DOT)]
    )
    page = await retriever(
        store, bm25=[hit("b", 4.0, BM25), hit("c", 2.0, BM25)], encoder=HashSparseEncoder()
    ).retrieve(
        "q",
        RetrievalOptions(
            use_hybrid_search=True,
            ensemble_options=EnsembleOptions(dense_weight=2, bm25_weight=1, sparse_weight=1, fusion="relative"),
        ),
    )
    scores = {result.chunk.document_id: result.score for result in page}
    assert scores == pytest.approx({"a": 0.5, "b": 0.25 + 0.25 * 0.5, "c": 0.25})
    assert ids(page) == ["a", "b", "c"]


@pytest.mark.case("S-018")
async def test_a_chunk_that_three_arms_found_first_counts_three_times():
    store = SparseStore([hit("h#4", 0.9)]).script([hit("h#4", 5.0, DOT)])
    [result] = await retriever(store, bm25=[hit("h#4", 2.0, BM25)], encoder=HashSparseEncoder()).retrieve("q", HYBRID)
    assert result.score == pytest.approx(0.04918033, abs=1e-8)


# --- failures


@pytest.mark.row("B6")
@pytest.mark.case("S-061")
@pytest.mark.parametrize("fault", ["encoder", "foreign encoder", "nonsense", "search", "foreign search"])
async def test_a_failing_sparse_arm_is_logged_and_the_others_serve(fault, caplog):
    class Nonsense(HashSparseEncoder):
        async def embed_sparse(self, texts, *, input_type="document"):
            return [{1: 2.0}]

    encoders = {
        "encoder": FailingSparseEncoder(),
        "foreign encoder": FailingSparseEncoder(ValueError("secret text")),
        "nonsense": Nonsense(),
    }
    failures = {"search": StoreError("down"), "foreign search": RuntimeError("down")}
    store = SparseStore([hit("a", 0.9)]).script([hit("s", 7.0, DOT)], fail=failures.get(fault))
    searching = retriever(store, bm25=[hit("b", 3.0, BM25)], encoder=encoders.get(fault, HashSparseEncoder()))
    with caplog.at_level(logging.WARNING, logger="ragstone"):
        page = await searching.retrieve("q", HYBRID)
    assert [(result.chunk.document_id, result.score) for result in page] == [
        ("a", pytest.approx(0.01639344, abs=1e-8)),
        ("b", pytest.approx(0.01639344, abs=1e-8)),
    ]
    assert len(page.warnings) == 1
    assert "the sparse arm failed and the others served" in page.warnings[0]
    assert "secret text" not in page.warnings[0]
    assert len(caplog.records) == 1
    assert [(arm.arm, arm.status) for arm in page.arms] == [("dense", "ok"), ("bm25", "ok"), ("sparse", "failed")]


@pytest.mark.case("S-061")
@pytest.mark.row("B6")
async def test_three_empty_arms_are_an_empty_page_and_not_a_failure():
    page = await retriever(SparseStore().script(), encoder=HashSparseEncoder()).retrieve("q", HYBRID)
    assert (list(page), page.warnings) == ([], ())
    assert page.exhausted


@pytest.mark.case("S-061")
@pytest.mark.row("B6")
async def test_a_failing_keyword_arm_leaves_dense_and_sparse():
    failing = ScriptedKeywordIndex(fail=RuntimeError("down"))
    page = await retriever(SparseStore([hit("a", 0.9)]).script(), bm25=failing, encoder=HashSparseEncoder()).retrieve(
        "q", HYBRID
    )
    assert ids(page) == ["a"]
    assert len(page.warnings) == 1


@pytest.mark.row("B6")
async def test_when_every_arm_fails_the_call_fails_and_names_each():
    store = SparseStore(fail=StoreError("no dense")).script()
    searching = retriever(
        store,
        bm25=ScriptedKeywordIndex(fail=StoreError("no words")),
        encoder=FailingSparseEncoder(EmbeddingError("no sparse")),
    )
    with pytest.raises(StoreError, match=r"no dense.*no words.*no sparse"):
        await searching.retrieve("q", HYBRID)


@pytest.mark.row("B6")
async def test_a_fault_of_the_set_up_is_not_papered_over():
    store = SparseStore([hit("a", 0.9)]).script()
    with pytest.raises(ConfigurationError, match="no such output"):
        await retriever(store, encoder=FailingSparseEncoder(ConfigurationError("no such output"))).retrieve("q", HYBRID)
