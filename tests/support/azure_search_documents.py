"""What the double of Azure AI Search makes of documents."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from support.odata import instant

_KEY = re.compile(r"[A-Za-z0-9_=-]{1,1024}")
_ACTIONS = {"upload", "delete"}
_LONGEST_TERM = 32_766
_MOST_ELEMENTS = 3000


class DocumentError(Exception):
    """The service's `400`, of the whole batch."""


def checked_action(action: Any, fields: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any], str | None]:
    """What is done, the document as the service keeps it, and why this one document is refused, if it is."""
    if not isinstance(action, Mapping):
        raise DocumentError("an action must be an object")
    what = action.get("@search.action", "upload")
    if what not in _ACTIONS:
        raise DocumentError(f"the double knows no action '{what}'")
    given = {name: value for name, value in action.items() if name != "@search.action"}
    key = next(item["name"] for item in fields if item.get("key"))
    if given.get(key) is None:
        raise DocumentError("Document key cannot be missing or empty.")
    document = _checked_row(given, fields, "search.documentFields", full=what == "upload")
    return what, document, _failure(document, fields, key)


def _checked_row(
    given: Mapping[str, Any], fields: Sequence[Mapping[str, Any]], subject: str, *, full: bool
) -> dict[str, Any]:
    known = {item["name"]: item for item in fields}
    for name in given:
        if name not in known:
            raise DocumentError(
                f"The property '{name}' does not exist on type '{subject}' or is not present in the API."
            )
    names = known if full else given
    return {name: _checked_value(given.get(name), known[name]) for name in names}


def _checked_value(value: Any, item: Mapping[str, Any]) -> Any:
    kind = item["type"]
    if kind == "Collection(Edm.ComplexType)":
        rows = value if value is not None else []
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise _unreadable(item)
        return [_checked_row(row, item["fields"], item["name"], full=True) for row in rows]
    if value is None:
        return None
    return _READERS[kind](value, item)


def _unreadable(item: Mapping[str, Any]) -> DocumentError:
    return DocumentError(
        f"Cannot convert the literal of property '{item['name']}' to the expected type '{item['type']}'."
    )


def _string(value: Any, item: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        raise _unreadable(item)
    return value


def _boolean(value: Any, item: Mapping[str, Any]) -> bool:
    if not isinstance(value, bool):
        raise _unreadable(item)
    return value


def _integer(value: Any, item: Mapping[str, Any]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise _unreadable(item)
    return value


def _double(value: Any, item: Mapping[str, Any]) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _unreadable(item)
    return float(value)


def _moment(value: Any, item: Mapping[str, Any]) -> str:
    """As the service keeps it: UTC, in whole milliseconds."""
    try:
        moment = instant(_string(value, item))
    except ValueError as error:
        raise _unreadable(item) from error
    if moment.tzinfo is None:
        raise _unreadable(item)
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return text.removesuffix(".000") + "Z"


def _vector(value: Any, item: Mapping[str, Any]) -> list[float]:
    if not isinstance(value, list):
        raise _unreadable(item)
    numbers = [_double(number, item) for number in value]
    if len(numbers) != item["dimensions"]:
        raise DocumentError(
            f"The vector field '{item['name']}', with dimension '{item['dimensions']}', expects a length of "
            f"'{item['dimensions']}'. However, the provided vector has a length of '{len(numbers)}'."
        )
    if not any(numbers):
        raise DocumentError(f"The vector field '{item['name']}' holds a vector without a direction.")
    return numbers


_READERS = {
    "Edm.String": _string,
    "Edm.Boolean": _boolean,
    "Edm.Int32": _integer,
    "Edm.Double": _double,
    "Edm.DateTimeOffset": _moment,
    "Collection(Edm.Single)": _vector,
}


def _failure(document: Mapping[str, Any], fields: Sequence[Mapping[str, Any]], key: str) -> str | None:
    if not _KEY.fullmatch(document[key]):
        return f"Invalid document key: '{document[key]}'. Keys can only contain letters, digits, '_', '-' or '='."
    elements = 0
    for item in (item for item in fields if item["name"] in document):
        rows = document[item["name"]] if "fields" in item else [document]
        elements += len(rows) if "fields" in item else 0
        for sub in item.get("fields") or [item]:
            texts = [row[sub["name"]] for row in rows if sub.get("filterable") and isinstance(row[sub["name"]], str)]
            if any(len(text.encode("utf-8", "surrogatepass")) > _LONGEST_TERM for text in texts):
                return f"Field '{sub['name']}' contains a term that is too large to process (32766 bytes of UTF-8)."
    return "The document has more than 3000 elements in complex collections." if elements > _MOST_ELEMENTS else None
