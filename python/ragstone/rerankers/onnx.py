"""Reranking in the process: any cross-encoder exported to ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from typing import Final

import numpy as np

from ragstone.encoders._batches import batches
from ragstone.encoders._files import digest, existing, model_digest
from ragstone.encoders._model_thread import ModelThread
from ragstone.encoders._onnx import OnnxGraph, available_processors, require_onnxruntime
from ragstone.encoders._tokenizer import ModelTokenizer
from ragstone.errors import EmbeddingError, RerankError
from ragstone.extras import require
from ragstone.rerankers._cross_encoder import CrossEncoder
from ragstone.validation import require_at_least

__all__ = ["OnnxReranker"]

_TOKENS_IN_A_RUN: Final = 4096


class OnnxReranker:
    """Reranks with a cross-encoder in ONNX form, on this machine, offline.

    Query and text go through the model as one pair; a score is the model's logit, or of two classes the second's less
    the first's. Pairs are batched by length. The model is loaded once, on first use or by `load`. All of a reranker's
    work happens in one thread of its own: concurrent calls take turns batch by batch, the event loop stays free, and a
    cancelled call stops before its next batch. Any number of event loops may share a reranker.

    Args:
        model_path: The exported graph, such as `model.onnx`. Weights beside it in `model.onnx_data` are found.
        tokenizer_path: `tokenizer.json`, or `vocab.txt` with one WordPiece a line, read as BERT's uncased tokenizer.
        max_length: Where a pair is cut, in tokens, the special ones included; the longer text of the two loses its end.
            No more than the model has positions for.
        batch_size: How many pairs one run of the model takes at most; of long ones it takes fewer, up to 4096 tokens in
            all.
        threads: How many threads one run uses; as many as this process has processors when left out.
        name: What to call the model in `identity`; the name of its file when left out.

    Raises:
        ConfigurationError: A file is not there, or an option is not one.
        MissingDependencyError: The extra `onnx` is not installed.
    """

    def __init__(
        self,
        model_path: str | PathLike[str],
        tokenizer_path: str | PathLike[str],
        *,
        max_length: int = 512,
        batch_size: int = 32,
        threads: int | None = None,
        name: str | None = None,
    ) -> None:
        self._model_path = existing("model_path", model_path)
        self._tokenizer_path = existing("tokenizer_path", tokenizer_path)
        self._max_length = require_at_least("max_length", max_length, 1)
        self._batch_size = require_at_least("batch_size", batch_size, 1)
        self._threads = available_processors() if threads is None else require_at_least("threads", threads, 1)
        self._name = name or self._model_path.stem
        require_onnxruntime()
        require("tokenizers", extra="onnx", purpose="Reading a model's tokenizer")
        self._thread = ModelThread(self._load)

    @property
    def identity(self) -> str:
        """Names the model, with digests of its files and every setting that changes its scores.

        Computed from the files the first time: `load` and `rerank` have that done in the worker thread.
        """
        return self._identity

    @cached_property
    def _identity(self) -> str:
        tokenizer = digest([self._tokenizer_path])
        return f"onnx:{self._name}@{model_digest(self._model_path)}/tokenizer@{tokenizer}/{self._max_length}"

    def __repr__(self) -> str:
        return f"OnnxReranker({str(self._model_path)!r}, {str(self._tokenizer_path)!r}, name={self._name!r})"

    async def load(self) -> None:
        """Load the model now rather than on first use, for instance while a service starts.

        Raises:
            ConfigurationError: A file is not what it should be, or the graph is no cross-encoder; says what it gives.
        """
        await self._thread.model()

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score each text against the query, in the order of `texts`.

        Raises:
            ConfigurationError: The model could not be loaded.
            RerankError: The model failed, or gave NaN or infinity.
        """
        model = await self._thread.model()
        scores = np.empty(len(texts), dtype=np.float64)
        pairs = await self._thread.run(model.encode, query, texts)
        for rows in batches(pairs, texts=self._batch_size, padded_tokens=_TOKENS_IN_A_RUN):
            try:
                scores[rows] = await self._thread.run(model.infer, [pairs[row] for row in rows])
            except (EmbeddingError, RerankError) as error:
                raise RerankError(f"{self.identity}: {error}") from error
        finite = np.isfinite(scores)
        if not finite.all():
            raise RerankError(f"{self.identity}: the score of text {int(np.argmin(finite))} is NaN or infinite")
        return [float(score) for score in scores]

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return the share of the texts' tokens that are unknown to the model; 0 until the model is loaded.

        A share of more than a half means that its scores mean little: the tokenizer is another model's, or the
        language is not the model's.
        """
        model = self._thread.loaded
        return 0.0 if model is None else model.unknown_share(texts)

    def _load(self) -> CrossEncoder:
        tokenizer = ModelTokenizer(self._tokenizer_path, max_tokens=self._max_length)
        graph = OnnxGraph(self._model_path, threads=self._threads)
        model = CrossEncoder(graph, tokenizer, max_length=self._max_length)
        _ = self.identity
        return model
