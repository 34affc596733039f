"""Reranking by Cohere."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ragstone.closing import Closing
from ragstone.errors import ConfigurationError, RerankError
from ragstone.services import JsonService, ServiceError
from ragstone.validation import require_at_least

if TYPE_CHECKING:
    import httpx

__all__ = ["CohereReranker"]

_COHERE: Final = "https://api.cohere.com"
_TEXTS_IN_A_REQUEST: Final = 1000


class CohereReranker(Closing):
    """Reranks with Cohere (`POST /v2/rerank`), or a service with the same interface.

    Scores are in [0, 1]. More than 1000 texts go in several requests, one after the other. A request that meets an
    overloaded or failing service is sent again after a pause that doubles each time.

    Args:
        api_key: Sent as a bearer token, never shown.
        model: The model's name at the service.
        base_url: Where `/v2/rerank` is.
        max_tokens_per_doc: Where the service cuts a text; its own limit when left out.
        timeout: Seconds to wait for the service at each step.
        max_retries: How often a request is sent again.
        retry_pause: Seconds before the first retry; doubles each time.
        client: A client to use, which its owner closes; one of our own is made when left out.

    Raises:
        ConfigurationError: The key is empty, or an option is not one.
        MissingDependencyError: The extra `http` is not installed.

    Example:
        >>> CohereReranker(api_key="…").identity
        'cohere:api.cohere.com/rerank-v3.5'
    """

    def __init__(
        self,
        *,
        api_key: str,
        model: str = "rerank-v3.5",
        base_url: str = _COHERE,
        max_tokens_per_doc: int | None = None,
        timeout: float = 30.0,
        max_retries: int = 3,
        retry_pause: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        if not api_key.strip():
            raise ConfigurationError("api_key must be the key of a Cohere account, not empty")
        if not model:
            raise ConfigurationError("model must be the name of a model at the service, not ''")
        self._fields: dict[str, Any] = {"model": model}
        if max_tokens_per_doc is not None:
            self._fields["max_tokens_per_doc"] = require_at_least("max_tokens_per_doc", max_tokens_per_doc, 1)
        self._service = JsonService(
            base_url,
            headers={"authorization": f"Bearer {api_key}"},
            timeout=timeout,
            max_retries=max_retries,
            retry_pause=retry_pause,
            client=client,
        )
        cut = "" if max_tokens_per_doc is None else f"/max_tokens_per_doc={max_tokens_per_doc}"
        self._identity = f"cohere:{self._service.host}/{model}{cut}"

    @property
    def identity(self) -> str:
        """Names the service, the model and what changes its scores."""
        return self._identity

    def __repr__(self) -> str:
        return f"CohereReranker({self._identity!r})"

    async def aclose(self) -> None:
        """Close the connections; a client that was handed in stays open."""
        await self._service.aclose()

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score a text, in the order of `texts`; `None` where the service gave none.

        Raises:
            RerankError: The service failed, refused, or answered nonsense.
        """
        scores: list[float | None] = []
        for start in range(0, len(texts), _TEXTS_IN_A_REQUEST):
            scores += await self._request(query, texts[start : start + _TEXTS_IN_A_REQUEST])
        return scores

    async def _request(self, query: str, texts: Sequence[str]) -> list[float | None]:
        payload = {**self._fields, "query": query, "documents": list(texts)}
        try:
            body = await self._service.post("/v2/rerank", payload, private=[query, *texts])
        except ServiceError as error:
            raise RerankError(f"{self._identity}: {error}") from error
        return _read(body, len(texts), self._identity)


def _read(body: bytes, count: int, identity: str) -> list[float | None]:
    """Return the scores of an answer, each at the place that its `index` names."""
    try:
        answer: Any = json.loads(body)
        pairs = [(item["index"], item["relevance_score"]) for item in answer["results"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RerankError(f"{identity}: the answer is not in the form of Cohere's") from error
    scores: list[float | None] = [None] * count
    for index, score in pairs:
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
            raise RerankError(f"{identity}: index {index!r} is none of the {count} texts that were sent")
        if scores[index] is not None:
            raise RerankError(f"{identity}: index {index} has two scores")
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
            raise RerankError(f"{identity}: the score of index {index} is no finite number")
        scores[index] = float(score)
    if count and not pairs:
        raise RerankError(f"{identity}: {count} texts went in and no score came back")
    return scores
