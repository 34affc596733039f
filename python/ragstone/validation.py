"""Checks shared by every options object: each error names the field, the value and the limit."""

from __future__ import annotations

import math

from ragstone.errors import ConfigurationError

__all__ = ["require_at_least", "require_bool", "require_finite", "require_in_range", "require_int"]


def require_int(field: str, value: object) -> int:
    """Return `value` if it is an int and not a bool, else raise `ConfigurationError`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigurationError(f"{field} must be an integer, not {value!r} ({type(value).__name__})")
    return value


def require_bool(field: str, value: object) -> bool:
    """Return `value` if it is a bool, else raise `ConfigurationError`."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{field} must be True or False, not {value!r} ({type(value).__name__})")
    return value


def require_at_least(field: str, value: object, minimum: int) -> int:
    """Return `value` if it is an int of at least `minimum`, else raise `ConfigurationError`."""
    number = require_int(field, value)
    if number < minimum:
        raise ConfigurationError(f"{field} must be at least {minimum}, not {number}")
    return number


def require_finite(field: str, value: object) -> float:
    """Return `value` as a float if it is a finite number, else raise `ConfigurationError`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f"{field} must be a number, not {value!r} ({type(value).__name__})")
    if not math.isfinite(value):
        raise ConfigurationError(f"{field} must be finite, not {value!r}")
    return float(value)


def require_in_range(field: str, value: object, low: float, high: float) -> float:
    """Return `value` as a float if it lies in [low, high], else raise `ConfigurationError`."""
    number = require_finite(field, value)
    if not low <= number <= high:
        raise ConfigurationError(f"{field} must be between {low:g} and {high:g}, not {number!r}")
    return number
