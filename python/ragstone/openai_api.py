"""What the clients of OpenAI's API share: the key, the identity, and fields beyond the usual ones."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from ragstone.errors import ConfigurationError

__all__ = ["NOTHING", "OPENAI", "authorization", "checked_fields", "checked_model", "identify"]

OPENAI: Final = "https://api.openai.com/v1"
"""Where OpenAI's own service is."""

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
"""No further fields."""


def authorization(base_url: str, api_key: str | None) -> dict[str, str]:
    """Return the header with the key: the given one, else the environment's where the URL is OpenAI's own.

    Raises:
        ConfigurationError: It is OpenAI's own service, and there is no key.
    """
    key = api_key or _key_of_openai(base_url)
    return {"authorization": f"Bearer {key}"} if key else {}


def checked_model(model: str) -> str:
    """Return the model's name.

    Raises:
        ConfigurationError: It is empty.
    """
    if not model:
        raise ConfigurationError("model must be the name of a model at the service, not ''")
    return model


def checked_fields(name: str, fields: Mapping[str, Any], ours: AbstractSet[str]) -> dict[str, Any]:
    """Return further fields for a request.

    Raises:
        ConfigurationError: One of them is ours to set.
    """
    taken = sorted(ours & fields.keys())
    if taken:
        raise ConfigurationError(f"{name} must leave out {', '.join(taken)}: each has a parameter of its own")
    return dict(fields)


def identify(host: str, name: str, settings: Sequence[object]) -> str:
    """Name a model at a service, with a digest of its settings where there are any."""
    if not any(settings):
        return f"openai:{host}/{name}"
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    return f"openai:{host}/{name}/settings@{digest}"


def _key_of_openai(base_url: str) -> str | None:
    """The environment's key where the URL is OpenAI's own; another service never gets it."""
    if urlsplit(base_url).hostname != urlsplit(OPENAI).hostname:
        return None
    key = os.environ.get("OPENAI_API_KEY")
    if not key:
        raise ConfigurationError("OpenAI needs an API key: pass api_key, or set OPENAI_API_KEY")
    return key
