"""Learned sparse vectors in the process: any SPLADE model exported to ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from typing import Final, cast

from ragstone.encoders._batches import batches
from ragstone.encoders._files import digest, existing, model_digest
from ragstone.encoders._model_thread import ModelThread
from ragstone.encoders._onnx import OnnxGraph, available_processors, require_onnxruntime
from ragstone.encoders._sparse_model import SparseModel
from ragstone.encoders._tokenizer import ModelTokenizer
from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.extras import require
from ragstone.ports import InputType
from ragstone.sparse_vector import SparseVector
from ragstone.validation import require_at_least

__all__ = ["OnnxSpladeEncoder"]

_SORTED_TOGETHER: Final = 256
_TEXTS_IN_A_RUN: Final = 32
_LOGITS_IN_A_RUN: Final = 2**24
"""64 MiB of float32; BERT's vocabulary allows some 550 tokens then."""


class OnnxSpladeEncoder:
    """Encodes with a SPLADE model in ONNX form, on this machine, offline.

    The graph is the export of a masked language model, whose logits have the shape (texts, tokens, vocabulary). The
    weight of a term is log(1 + max(0, logit)), the largest over the text's tokens, and a text keeps its `top_terms`
    heaviest terms, of equal weights those of lower ids. Terms without a positive weight are left out.

    Texts are batched by length, and a batch holds no more than 64 MiB of logits, or one text. The model is loaded once,
    on first use or by `load`. All of an encoder's work happens in one thread of its own: concurrent calls take turns
    batch by batch, the event loop stays free, and a cancelled call stops before its next batch. Any number of event
    loops may share an encoder.

    Args:
        model_path: The exported graph, such as `model.onnx`. Weights beside it in `model.onnx_data` are found.
        tokenizer_vocab_path: `vocab.txt` with one WordPiece a line, read as BERT's uncased tokenizer; or
            `tokenizer.json`.
        max_tokens: Where a text is cut, the special tokens included. No more than the model has positions for.
        top_terms: How many terms a text keeps at most.
        output_name: The graph's output that holds the logits.
        threads: How many threads one run uses; as many as this process has processors when left out.
        name: What to call the model in `identity`; the name of its file when left out.

    Raises:
        ConfigurationError: A file is not there, or an option is out of range.
        MissingDependencyError: The extra `onnx` is not installed.
    """

    def __init__(
        self,
        model_path: str | PathLike[str],
        tokenizer_vocab_path: str | PathLike[str],
        *,
        max_tokens: int = 512,
        top_terms: int = 256,
        output_name: str = "logits",
        threads: int | None = None,
        name: str | None = None,
    ) -> None:
        self._model_path = existing("model_path", model_path)
        self._tokenizer_path = existing("tokenizer_vocab_path", tokenizer_vocab_path)
        self._max_tokens = require_at_least("max_tokens", max_tokens, 1)
        self._top_terms = require_at_least("top_terms", top_terms, 1)
        if not isinstance(output_name, str) or not output_name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"output_name must be the name of an output of the graph, not {output_name!r}")
        self._output_name = output_name
        self._threads = available_processors() if threads is None else require_at_least("threads", threads, 1)
        self._name = name or self._model_path.stem
        require_onnxruntime()
        require("tokenizers", extra="onnx", purpose="Reading a model's tokenizer")
        self._thread = ModelThread(self._load)

    @property
    def identity(self) -> str:
        """Names the model, with digests of its files and every setting that changes its vectors.

        Computed from the files the first time: `load` and `embed_sparse` have that done in the worker thread.
        """
        return self._identity

    @cached_property
    def _identity(self) -> str:
        return (
            f"splade:{self._name}@{model_digest(self._model_path)}/tokenizer@{digest([self._tokenizer_path])}"
            f"/{self._max_tokens}/{self._top_terms}/{self._output_name}"
        )

    def __repr__(self) -> str:
        return f"OnnxSpladeEncoder({str(self._model_path)!r}, {str(self._tokenizer_path)!r}, name={self._name!r})"

    async def load(self) -> None:
        """Load the model now rather than on first use, for instance while a service starts.

        Raises:
            ConfigurationError: A file is not what it should be, or the graph is no SPLADE model; says what it gives.
        """
        await self._thread.model()

    async def embed_sparse(self, texts: Sequence[str], *, input_type: InputType = "document") -> list[SparseVector]:
        """Encode texts of any number; a text longer than `max_tokens` is cut.

        Args:
            texts: What to encode.
            input_type: Changes nothing: SPLADE reads passages and questions alike.

        Returns:
            One vector a text, in the order of the texts; without terms where the model gives no term a weight.

        Raises:
            ConfigurationError: The model could not be loaded.
            EmbeddingError: The model failed, or gave NaN or infinity; names the text by its place.
        """
        del input_type
        model = await self._thread.model()
        vectors: list[SparseVector | None] = [None] * len(texts)
        limit = max(1, _LOGITS_IN_A_RUN // model.vocabulary)
        for start in range(0, len(texts), _SORTED_TOGETHER):
            tokens = await self._thread.run(model.encode, texts[start : start + _SORTED_TOGETHER])
            for rows in batches(tokens, texts=_TEXTS_IN_A_RUN, padded_tokens=limit):
                found = await self._thread.run(model.infer, [tokens[row] for row in rows])
                for row, vector in zip(rows, found, strict=True):
                    if vector is None:
                        raise EmbeddingError(
                            f"{self.identity}: the logits of text {start + row} hold NaN or infinity",
                            text_index=start + row,
                        )
                    vectors[start + row] = vector
        return cast("list[SparseVector]", vectors)

    def _load(self) -> SparseModel:
        tokenizer = ModelTokenizer(self._tokenizer_path, max_tokens=self._max_tokens)
        graph = OnnxGraph(self._model_path, threads=self._threads)
        model = SparseModel(graph, tokenizer, output=self._output_name, top_terms=self._top_terms)
        _ = self.identity
        return model
