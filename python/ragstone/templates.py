"""Prompt templates: exactly the named placeholders are replaced, everything else is text, braces included."""

from __future__ import annotations

import re

from ragstone.errors import ConfigurationError

__all__ = ["fill", "require_placeholders"]


def require_placeholders(field: str, template: object, names: tuple[str, ...]) -> str:
    """Return the template if it is a string that holds each placeholder, such as `{query}`.

    Raises:
        ConfigurationError: It is no string, or a placeholder is missing; names the field and the placeholder.
    """
    if not isinstance(template, str):
        raise ConfigurationError(f"{field} must be a string, not {template!r} ({type(template).__name__})")
    for name in names:
        if "{" + name + "}" not in template:
            raise ConfigurationError(f"{field} must hold the placeholder {{{name}}}")
    return template


def fill(template: str, **values: str | int) -> str:
    """Replace each `{name}` by its value, all in one pass, so that a value that looks like a placeholder stays text.

    Example:
        >>> fill('Answer as {"a": 1}. Q: {query}', query="what is {query}?")
        'Answer as {"a": 1}. Q: what is {query}?'
    """
    pattern = re.compile("|".join(re.escape("{" + name + "}") for name in values))
    return pattern.sub(lambda found: str(values[found.group()[1:-1]]), template)
