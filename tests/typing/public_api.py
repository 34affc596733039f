"""Uses of the public API, checked by the strictest settings of mypy and basedpyright; it is never run."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import assert_type

import numpy as np
import numpy.typing as npt

import ragstone as rs
from ragstone.models import ArmEvidence, ChatMessage, ParsedDocument
from ragstone.ports import (
    CacheBackend,
    ChatClient,
    ChunkingStrategy,
    DocumentParser,
    Embedder,
    InputType,
    ParentChunkStore,
    Reranker,
    RetrievalGuard,
    SparseEmbedder,
    SparseSearchable,
    TokenCounter,
    VectorStore,
    WebSearch,
)
from ragstone.testing import ScriptedChat


class LetterEmbedder:
    """An embedder needs no base class."""

    identity = "letters"
    dimensions = 26

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> npt.NDArray[np.float32]:
        return np.zeros((len(texts), 26), dtype=np.float32)


class LetterEncoder:
    """Nor does a sparse encoder."""

    identity = "letters"

    async def embed_sparse(self, texts: Sequence[str], *, input_type: InputType = "document") -> list[rs.SparseVector]:
        return [rs.SparseVector.from_dict({ord(letter): 1.0 for letter in text}) for text in texts]


class WordCounter:
    """Nor does a counter."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class WholeDocument:
    """Nor a chunker."""

    identity = "whole"

    def chunk(self, document: ParsedDocument, document_id: str) -> list[rs.TextChunk]:
        return [rs.TextChunk(document.text, document_id, 0, 0, len(document.text))]


class Notes:
    """Nor an observer."""

    def on_prompt(self, messages: Sequence[ChatMessage]) -> None:
        assert messages


chat: ChatClient = rs.OpenAIChat(model="m", base_url="http://localhost/v1")
scripted: ChatClient = ScriptedChat(["yes", ValueError("no")])
embedder: Embedder = LetterEmbedder()
encoders: list[SparseEmbedder] = [LetterEncoder(), rs.OnnxSpladeEncoder("model.onnx", "vocab.txt", top_terms=64)]
counter: TokenCounter = WordCounter()
chunker: ChunkingStrategy = WholeDocument()
chunkers: list[ChunkingStrategy] = [
    rs.RecursiveChunker(),
    rs.MarkdownChunker(),
    rs.SentenceChunker(),
    rs.TokenChunker(),
]
store: VectorStore = rs.stores.InMemoryVectorStore()
searchable: SparseSearchable = rs.stores.InMemoryVectorStore()
sparse_searchable: SparseSearchable = rs.stores.QdrantSparseStore(":memory:", collection="c", dimensions=2)
federation: VectorStore = rs.stores.FederatedVectorStore({"a": store, "b": store}, primary="b")
resilient: VectorStore = rs.stores.ResilientVectorStore(federation, retries=1, timeout=2.5, retry_on=(OSError,))
parent_store: ParentChunkStore = rs.stores.InMemoryParentChunkStore()
parsers: list[DocumentParser] = []


def recent(result: rs.SearchResult) -> bool:
    """Any callable is a specification."""
    return result.chunk.metadata.get("year") == 2026


class NoDrafts:
    """Nor a guard."""

    identity = "no-drafts"
    cache_key = None

    async def check(self, query: str, results: Sequence[rs.SearchResult]) -> list[str | None]:
        return ["a draft" if result.chunk.metadata.get("draft") else None for result in results]


reranker: Reranker = rs.CohereReranker(api_key="key")
rerankers: list[Reranker] = [reranker, rs.OnnxReranker("model.onnx", "tokenizer.json")]
guards: list[RetrievalGuard] = [NoDrafts(), rs.RequiredRolesGuard(["hr"]), rs.RequiredRolesGuard(lambda: {"hr"})]
web_search: WebSearch = rs.TavilyWebSearch(api_key="key")


async def after_the_search() -> None:
    rag = rs.RagPipeline(
        embedder=embedder,
        reranker=reranker,
        guards=guards,
        web_search=web_search,
        compression=rs.CompressionOptions(keep_top_sentences=3, in_retrieval=True),
    )
    options = rs.RetrievalOptions(candidate_count=30, use_crag=True, crag_fallback_mode="append", use_compression=None)
    page = await rag.retrieve("query", options)
    assert_type(page[0].compressed_text, str | None)


async def pipeline() -> None:
    rag = rs.RagPipeline(embedder=embedder, store=store, chunker=chunker, parsers=parsers, token_counter=counter)
    rs.RagPipeline(
        embedder=embedder,
        sparse_encoder=encoders[0],
        parents=rs.ParentDocumentOptions(parent_chunk_size=1024),
        parent_store=parent_store,
    )
    metadata = rs.DocumentMetadata(document_id="a", tags={"year": 2026, "draft": False, "department": "hr"})
    assert_type(await rag.ingest("a.md", metadata), rs.IngestionResult)
    assert_type(
        await rag.ingest_text("text", metadata, options=rs.IngestionOptions(overwrite=False)), rs.IngestionResult
    )
    assert_type(await rag.ingest_many(["a.md", "b.md"]), rs.IngestionReport)
    options = rs.RetrievalOptions(
        top_k=3,
        use_hybrid_search=True,
        ensemble_options=rs.EnsembleOptions(bm25_weight=0.5, fusion="relative"),
        metadata_filter={"year": 2026},
        filter=(rs.HasTagSpec("draft", value=False) | rs.MinScoreSpec(0.1)) & recent,
    )
    page = await rag.retrieve("query", options)
    assert_type(page, rs.SearchPage)
    assert_type(page[0], rs.SearchResult)
    assert_type(page[:2], tuple[rs.SearchResult, ...])
    for hit in page:
        assert_type(hit.score_scale, rs.ScoreScale)
        contributions = [item.contribution for item in hit.evidence if isinstance(item, ArmEvidence)]
        assert_type(contributions, list[float])
    assert_type(await rag.explain("query"), rs.Explanation)
    assert_type(await rag.delete("a"), bool)
    asking = rs.RagPipeline(
        embedder=embedder,
        chat=chat,
        hyde=rs.HydeOptions(hypothesis_count=1),
        multi_query=rs.MultiQueryOptions(variant_count=2),
        deep_research=rs.DeepResearchOptions(max_depth=1),
    )
    plan = asking.plan(options)
    assert_type(plan, rs.RetrievalPlan)
    assert_type([(stage.name, stage.llm_calls) for stage in plan.stages], list[tuple[str, int]])
    with rs.sync(rag) as blocking:
        assert_type(blocking.retrieve("query"), rs.SearchPage)


async def techniques() -> None:
    cache: CacheBackend = rs.RedisCache("redis://127.0.0.1:6379/0", prefix="mine:")
    remembering: Embedder = rs.CachingEmbedder(embedder, ttl=60, backend=cache)
    rag = rs.RagPipeline(
        embedder=remembering,
        tag_retrieval=rs.TagRetrievalOptions(top_k=2),
        time_weighting=rs.TimeWeightedOptions(decay_rate=0.001),
        caching=rs.CachingOptions(result_ttl=None),
        cache_backend=cache,
    )
    async with rs.RagPipelineFactory(shared={"embedder": LetterEmbedder}) as pipelines:
        pipelines.add("a", lambda shared: rs.RagPipeline(embedder=shared.embedder))
        pipelines.add("b", lambda _: rag)
        assert_type(pipelines.get("a"), rs.RagPipeline)
        assert_type("a" in pipelines, bool)
        assert_type(pipelines.names, tuple[str, ...])


async def asking() -> None:
    traces = rs.TraceStore(capacity=10)
    rag = rs.RagPipeline(chat=chat, observers=[Notes()], traces=traces)
    history = [{"role": "user", "content": "hello"}]
    response = await rag.ask("query", rs.RagOptions(temperature=0.2, conversation_history=history, top_k=3))
    assert_type(response, rs.RagResponse)
    assert_type(response.sources, tuple[rs.SearchResult, ...])
    for citation in response.citations:
        assert_type(citation, rs.Citation)
        assert_type(citation.document_span, tuple[int, int])
    async with aclosing(rag.ask_streaming("query")) as updates:
        async for update in updates:
            assert_type(update, rs.RagStreamingUpdate)
            assert_type(update.text_delta, str | None)
    memory = rs.PersistentMemory(store, embedder, options=rs.PersistentMemoryOptions(top_k=2))
    talk = rs.Conversation(rag, memory=rs.ConversationMemory(500, token_counter=counter), persistent=memory)
    assert_type(await talk.ask("query"), rs.RagResponse)
    assert_type([trace.error for trace in traces], list[str | None])
    assert_type(traces.last, rs.Trace | None)
    with rs.sync(rag) as blocking:
        assert_type(blocking.ask("query"), rs.RagResponse)
        assert_type([each.response for each in blocking.ask_streaming("query")], list[rs.RagResponse | None])


def engine() -> None:
    index = rs.Bm25Index(k1=1.2, b=0.5)
    index.add("a", 0, "text", {"year": 2026})
    index.add(7, 0, "text")
    assert_type(index.search("text", top_k=3), list[rs.Bm25Hit])
    assert_type(index.search_many(["text"]), list[list[rs.Bm25Hit]])
    assert_type(index.explain("text", "a", 0), list[rs.Bm25Term])
    assert_type(index.memory_usage(), rs.Bm25Memory)
    vectors = np.zeros((2, 3), dtype=np.float32)
    nearest = rs.VectorIndex(dimensions=3)
    assert_type(nearest.upsert(["a", "b"], [0, 0], vectors), list[int])
    assert_type(nearest.search(vectors[0]), list[rs.VectorHit])
    assert_type(rs.mmr(vectors[0], vectors, k=1), list[rs.MmrPick])
    assert_type(rs.redundancy_filter(vectors), tuple[list[int], list[rs.Twin]])
    assert_type(rs.lost_in_the_middle(["a", "b"]), list[str])
    assert_type(rs.tokenize("text"), list[str])
    assert_type(rs.count_tokens("text"), int)
    assert_type(rs.fit_budget(["text"], 10, counter=counter), rs.Budget)


asyncio.run(pipeline())
asyncio.run(techniques())
asyncio.run(asking())
asyncio.run(after_the_search())
engine()
