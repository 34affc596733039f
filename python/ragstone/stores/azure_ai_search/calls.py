"""Calls to the service: its clients as the store sets them up, and their failures in plain words."""

from __future__ import annotations

from collections.abc import AsyncIterable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from ragstone.errors import ConfigurationError, StoreError
from ragstone.extras import require

if TYPE_CHECKING:
    from azure.core.credentials import AzureKeyCredential
    from azure.core.credentials_async import AsyncTokenCredential
    from azure.core.exceptions import AzureError, HttpResponseError
    from azure.search.documents.indexes.aio import SearchIndexClient
    from azure.search.documents.models import IndexingResult

__all__ = ["Documents", "clients", "translated"]


class Documents(Protocol):
    """What is used of the vendor's client of one index, with the types that it leaves open."""

    async def upload_documents(self, documents: list[dict[str, Any]]) -> Sequence[IndexingResult]:
        """Insert or replace documents; say of each how it went."""
        ...

    async def delete_documents(self, documents: list[dict[str, Any]]) -> Sequence[IndexingResult]:
        """Delete documents by their keys; say of each how it went."""
        ...

    async def search(self, **query: Any) -> AsyncIterable[dict[str, Any]]:
        """Run a query; its pages are fetched as the hits are asked for."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


_REASONS: Final = {
    401: "the credential was refused: check credential",
    403: "the credential was refused: check credential and its roles",
    404: "the index is not there: it was dropped by someone else, or never made",
    413: "the request is too large: store fewer chunks, or shorter ones, at a time",
    429: "the service is overloaded: raise max_retries, or the service's capacity",
    503: "the service is overloaded or down: raise max_retries, or try again later",
}


def clients(
    endpoint: str,
    index_name: str,
    credential: str | AzureKeyCredential | AsyncTokenCredential,
    *,
    timeout: float,
    max_retries: int,
    retry_pause: float,
) -> tuple[SearchIndexClient, Documents]:
    """The client that manages indexes, and that of the documents of one.

    Raises:
        ConfigurationError: The credential is empty.
        MissingDependencyError: The extra `azure` is not installed.
    """
    for package in ("azure.search.documents", "aiohttp"):
        require(package, extra="azure", purpose="AzureAISearchStore")
    from azure.core.credentials import AzureKeyCredential
    from azure.search.documents.aio import SearchClient
    from azure.search.documents.indexes.aio import SearchIndexClient

    if not credential:
        raise ConfigurationError("credential must be the service's API key or a credential of azure-identity")
    key = AzureKeyCredential(credential) if isinstance(credential, str) else credential
    settings: dict[str, Any] = {
        "connection_timeout": timeout,
        "read_timeout": timeout,
        "retry_total": max_retries,
        "retry_connect": max_retries,
        "retry_read": max_retries,
        "retry_status": max_retries,
        "retry_backoff_factor": retry_pause,
    }
    documents = cast("Documents", SearchClient(endpoint, index_name, key, **settings))
    return SearchIndexClient(endpoint, key, **settings), documents


@contextmanager
def translated(action: str, index_name: str, *, told: bool = False) -> Generator[None]:
    """Raise what the client raises as `StoreError`.

    Args:
        action: What was tried, as in "could not <action>".
        index_name: The index concerned.
        told: Whether to quote the service, which may quote the request: only where that holds no text of anyone.
    """
    from azure.core.exceptions import AzureError

    try:
        yield
    except AzureError as error:
        raise StoreError(
            f"Azure AI Search could not {action} (index '{index_name}'): {_reason(error, told=told)}"
        ) from error


def _reason(error: AzureError, *, told: bool) -> str:
    from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError

    if isinstance(error, HttpResponseError):
        status = error.status_code or 0
        said = _REASONS.get(status) or (_message(error) if told else "") or "the service refused or failed"
        return f"HTTP {status}: {said}"
    if isinstance(error, ServiceResponseError):
        return "no answer in time: raise timeout, or check that the service is well"
    if isinstance(error, ServiceRequestError):
        return "no connection, or it broke off: check endpoint and that the service runs"
    return f"the request failed ({type(error).__name__})"


def _message(error: HttpResponseError) -> str:
    return " ".join((error.error.message or "").split())[:300] if error.error is not None else ""
