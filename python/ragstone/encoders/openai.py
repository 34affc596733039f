"""Embeddings from any service that speaks OpenAI's `/embeddings`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone.closing import Closing
from ragstone.concurrency import offload
from ragstone.encoders.checked import verify_vectors
from ragstone.errors import ConfigurationError, EmbeddingError
from ragstone.models import Vectors
from ragstone.openai_api import NOTHING, OPENAI, authorization, checked_fields, checked_model, identify
from ragstone.ports import InputType
from ragstone.services import JsonService, ServiceError
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    import httpx

__all__ = ["EmbeddingUsage", "OpenAIEmbedder"]

_OURS: Final = frozenset({"model", "input", "encoding_format", "dimensions"})
_FAULT_OF_THE_INPUT: Final = frozenset({400, 413, 422})


class EmbeddingUsage(NamedTuple):
    """What an embedder has used: requests that were answered, texts embedded, tokens as the service counts them."""

    requests: int = 0
    texts: int = 0
    tokens: int = 0


class OpenAIEmbedder(Closing):
    """Embeds with OpenAI, or any service with the same `/embeddings`: vLLM, Ollama, TEI, llama.cpp and others.

    Texts go in as few requests as the limits allow, one after the other. A request that is refused for what it holds
    (400, 413, 422) is halved: so one that is too large for the service gets through, and a text that the service cannot
    take is found. When the service is overloaded (429), fails (5xx) or does not answer, the request is sent again after
    a pause that doubles each time, or that the service's `Retry-After` asks for.

    Args:
        model: The model's name at the service.
        api_key: Sent as a bearer token, never shown. For OpenAI itself it is the environment's `OPENAI_API_KEY` when
            left out.
        base_url: Where `/embeddings` is.
        dimensions: Asks for vectors of this length, where the model can shorten them.
        batch_size: Texts in a request; OpenAI takes up to 2048.
        max_batch_tokens: Tokens in a request; OpenAI takes up to 300,000. A text counts as its length in UTF-8, which
            no byte-level tokenizer exceeds.
        encoding_format: How vectors travel. `"base64"` is a quarter of the size of `"float"` and quick to decode, where
            long lists of numbers hold up the event loop; whichever the service answers with is understood.
        query_prefix: Put before each question, such as `"query: "` for E5.
        document_prefix: Put before each passage.
        query_fields: Sent with a request of questions besides the usual fields, such as `{"input_type": "query"}`.
        document_fields: As `query_fields`, for passages.
        timeout: Seconds to wait for the service at each step.
        max_retries: How often a request is sent again.
        retry_pause: Seconds before the first retry; doubles each time.
        client: A client to use, which its owner closes; one of our own is made when left out.

    Raises:
        ConfigurationError: An option is not one, or the key for OpenAI is missing.
        MissingDependencyError: The extra `http` is not installed.

    Example:
        >>> embedder = OpenAIEmbedder(model="bge-m3", base_url="http://127.0.0.1:8080/v1")
        >>> embedder.identity
        'openai:127.0.0.1:8080/bge-m3'
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str = OPENAI,
        dimensions: int | None = None,
        batch_size: int = 256,
        max_batch_tokens: int = 300_000,
        encoding_format: Literal["base64", "float"] = "base64",
        query_prefix: str = "",
        document_prefix: str = "",
        query_fields: Mapping[str, Any] = NOTHING,
        document_fields: Mapping[str, Any] = NOTHING,
        timeout: float = 30.0,
        max_retries: int = 3,
        retry_pause: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        if encoding_format not in {"base64", "float"}:
            raise ConfigurationError(f"encoding_format must be 'base64' or 'float', not {encoding_format!r}")
        self._service = JsonService(
            base_url,
            headers=authorization(base_url, api_key),
            timeout=timeout,
            max_retries=max_retries,
            retry_pause=retry_pause,
            client=client,
        )
        self._asked = None if dimensions is None else require_at_least("dimensions", dimensions, 1)
        self._found: int | None = None
        self._batch_size = require_at_least("batch_size", batch_size, 1)
        self._max_batch_tokens = require_at_least("max_batch_tokens", max_batch_tokens, 1)
        self._fields: dict[str, Any] = {"model": checked_model(model), "encoding_format": encoding_format}
        if self._asked is not None:
            self._fields["dimensions"] = self._asked
        self._prefixes: dict[InputType, str] = {"query": query_prefix, "document": document_prefix}
        self._extra: dict[InputType, Mapping[str, Any]] = {
            "query": checked_fields("query_fields", query_fields, _OURS),
            "document": checked_fields("document_fields", document_fields, _OURS),
        }
        self._usage = EmbeddingUsage()
        settings = [query_prefix, document_prefix, self._extra["query"], self._extra["document"]]
        length = "" if self._asked is None else f"@{self._asked}"
        self._identity = identify(self._service.host, model + length, settings)

    @property
    def identity(self) -> str:
        """Names the host, the model and the dimensions asked for, with a digest of prefixes and further fields."""
        return self._identity

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors; `None` until it was asked for or the first answer came."""
        return self._asked or self._found

    @property
    def usage(self) -> EmbeddingUsage:
        """What has been used so far."""
        return self._usage

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._identity!r})"

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._service.aclose()

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> Vectors:
        """Embed texts of any number.

        Returns:
            Shape (len(texts), dimensions), float32, in the order of the texts.

        Raises:
            EmbeddingError: The service failed, refused, or answered nonsense. Where it refused one text, `text_index`
                says which.
        """
        prefix = self._prefixes[input_type]
        inputs = [prefix + text for text in texts]
        parts = [await self._request(inputs, span, input_type) for span in self._spans(inputs)]
        return np.concatenate(parts) if parts else np.empty((0, self.dimensions or 0), dtype=np.float32)

    def _spans(self, inputs: Sequence[str]) -> Iterator[range]:
        """Cut into requests within both limits; a text over the token limit goes alone."""
        start, tokens = 0, 0
        for place, text in enumerate(inputs):
            size = len(text.encode("utf-8", "surrogatepass"))
            if place > start and (place - start == self._batch_size or tokens + size > self._max_batch_tokens):
                yield range(start, place)
                start, tokens = place, 0
            tokens += size
        if start < len(inputs):
            yield range(start, len(inputs))

    async def _request(self, inputs: Sequence[str], span: range, input_type: InputType) -> Vectors:
        texts = inputs[span.start : span.stop]
        payload = {**self._fields, **self._extra[input_type], "input": texts}
        try:
            body = await self._service.post("/embeddings", payload, private=texts)
        except ServiceError as error:
            if error.status not in _FAULT_OF_THE_INPUT:
                raise EmbeddingError(f"{self._identity}: {error}") from error
            if len(span) == 1:
                place = span.start
                message = f"{self._identity}: text {place} of {len(inputs)} was refused: {error}"
                raise EmbeddingError(message, text_index=place) from error
            middle = span.start + len(span) // 2
            halves = range(span.start, middle), range(middle, span.stop)
            return np.concatenate([await self._request(inputs, half, input_type) for half in halves])
        return await self._accept(body, span)

    async def _accept(self, body: bytes, span: range) -> Vectors:
        rows, tokens = await offload(_read, body, len(span), self._identity)
        vectors = verify_vectors(
            rows, count=len(span), dimensions=self.dimensions, identity=self._identity, first=span.start
        )
        self._found = vectors.shape[1]
        used = self._usage
        self._usage = EmbeddingUsage(used.requests + 1, used.texts + len(span), used.tokens + tokens)
        return vectors


def _read(body: bytes, count: int, identity: str) -> tuple[list[NDArray[Any]], int]:
    """Return the vectors of an answer in the order of their `index`, and the tokens that it counts."""
    try:
        answer: Any = json.loads(body)
        places = {item["index"]: _vector(item["embedding"]) for item in answer["data"]}
        came = len(answer["data"])
        usage: Any = answer.get("usage") or NOTHING
        tokens: Any = usage.get("prompt_tokens")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EmbeddingError(f"{identity}: the answer is not in the form of OpenAI's embeddings") from error
    if came != count:
        raise EmbeddingError(f"{identity}: {count} texts went in and {came} vectors came back")
    if places.keys() != set(range(count)):
        raise EmbeddingError(f"{identity}: the vectors are not numbered from 0 to {count - 1}, each once")
    return [places[place] for place in range(count)], tokens if isinstance(tokens, int) else 0


def _vector(embedding: object) -> NDArray[Any]:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding)
