"""Hybrid retrieval as the frameworks put it together, for benches/pipeline.py.

Each is wired as its own documentation does it: dense and keyword retrieval, fused by reciprocal ranks, in memory. The
vectors are given, so every embedding model is a look-up.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from benches.stacks import DIMENSIONS, PART, WINDOW, K, Peer

__all__ = ["Haystack", "LanceDb", "LangChain", "LangChainFaiss", "LlamaIndex"]


class LangChain(Peer):
    """`EnsembleRetriever` over the in-memory vector store and `BM25Retriever`."""

    def build(self) -> None:
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.retrievers import BM25Retriever
        from langchain_core.documents import Document

        documents = [Document(page_content=text, metadata={"n": number}) for number, text in enumerate(self.texts)]
        dense = self.store(documents).as_retriever(search_kwargs={"k": WINDOW})
        words = BM25Retriever.from_documents(documents, k=WINDOW)
        self.retriever = EnsembleRetriever(retrievers=[dense, words], weights=[0.5, 0.5], id_key="n")

    def store(self, documents: list[Any]) -> Any:
        from langchain_core.vectorstores import InMemoryVectorStore

        store = InMemoryVectorStore(self.embeddings())
        store.add_documents(documents)
        return store

    def embeddings(self) -> Any:
        from langchain_core.embeddings import Embeddings

        of_question, of_text = self.vector_of, dict(zip(self.texts, self.rows, strict=True))

        class Given(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [of_text[text].tolist() for text in texts]

            def embed_query(self, text: str) -> list[float]:
                vector: list[float] = of_question[text].tolist()
                return vector

        return Given()

    def search(self, question: str) -> list[int]:
        return [document.metadata["n"] for document in self.retriever.invoke(question)[:K]]


class LangChainFaiss(LangChain):
    """The same over its faiss store."""

    def store(self, documents: list[Any]) -> Any:
        from langchain_community.vectorstores import FAISS

        return FAISS.from_documents(documents, self.embeddings())


class LlamaIndex(Peer):
    """`QueryFusionRetriever` over a vector index and its `BM25Retriever`."""

    def build(self) -> None:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.embeddings import BaseEmbedding
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.core.schema import TextNode
        from llama_index.retrievers.bm25 import BM25Retriever

        vector_of = self.vector_of

        class Given(BaseEmbedding):  # type: ignore[misc, unused-ignore]
            def _get_query_embedding(self, query: str) -> list[float]:
                vector: list[float] = vector_of[query].tolist()
                return vector

            def _get_text_embedding(self, text: str) -> list[float]:
                raise NotImplementedError(text)

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return self._get_query_embedding(query)

        nodes = [
            TextNode(id_=str(number), text=text, embedding=row.tolist())
            for number, (text, row) in enumerate(zip(self.texts, self.rows, strict=True))
        ]
        dense = VectorStoreIndex(nodes, embed_model=Given()).as_retriever(similarity_top_k=WINDOW)
        words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=WINDOW, skip_stemming=True, verbose=False)
        self.retriever = QueryFusionRetriever(
            [dense, words],
            llm=MockLLM(),
            mode="reciprocal_rerank",
            num_queries=1,
            similarity_top_k=K,
            use_async=False,
        )

    def search(self, question: str) -> list[int]:
        return [int(found.node.node_id) for found in self.retriever.retrieve(question)]


class Haystack(Peer):
    """A pipeline of its two in-memory retrievers and a joiner."""

    def build(self) -> None:
        os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
        from haystack import Document, Pipeline
        from haystack.components.joiners import DocumentJoiner
        from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        store.write_documents(
            [
                Document(id=str(number), content=text, meta={"part": number % PART}, embedding=row.tolist())
                for number, (text, row) in enumerate(zip(self.texts, self.rows, strict=True))
            ]
        )
        self.pipeline = Pipeline()
        self.pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=WINDOW))
        self.pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=WINDOW))
        self.pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=K))
        self.pipeline.connect("dense", "join")
        self.pipeline.connect("words", "join")

    def search(self, question: str) -> list[int]:
        embedding = self.vector_of[question].tolist()
        found = self.pipeline.run({"dense": {"query_embedding": embedding}, "words": {"query": question}})
        return [int(document.id) for document in found["join"]["documents"]]


class LanceDb(Peer):
    """Its hybrid search over a table on disk: full-text index, flat vectors, `RRFReranker`."""

    def build(self) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.rerankers import RRFReranker

        numbers = np.arange(len(self.texts))
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(self.rows.ravel()), DIMENSIONS)
        rows = pa.table({"n": numbers, "text": self.texts, "vector": vectors})
        self.folder = tempfile.TemporaryDirectory(prefix="lancedb-")
        self.table = lancedb.connect(self.folder.name).create_table("chunks", rows)
        self.table.create_fts_index("text", with_position=False, stem=False, remove_stop_words=False)
        self.reranker = RRFReranker()

    def search(self, question: str) -> list[int]:
        query = self.table.search(query_type="hybrid").vector(self.vector_of[question]).text(question)
        found = query.distance_type("dot").rerank(self.reranker).limit(WINDOW).to_arrow()
        numbers: list[int] = found["n"].to_pylist()[:K]
        return numbers
