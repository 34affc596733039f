"""The OData `$filter` language of Azure AI Search, as far as its double knows it, with the types checked."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Row = Mapping[str, Any]
Test = Callable[[Mapping[str, Row]], bool]

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^']|'')*')
    |(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?(?:Z|[+-]\d\d:\d\d))
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_]\w*(?:/[A-Za-z_]\w*)*)
    |(?P<mark>[():,]))""",
    re.VERBOSE,
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_KINDS = {
    "Edm.String": "string",
    "Edm.Int32": "number",
    "Edm.Int64": "number",
    "Edm.Double": "number",
    "Edm.Boolean": "boolean",
    "Edm.DateTimeOffset": "date",
}


class FilterError(Exception):
    """The service's `400`."""


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


def parse(text: str, fields: Sequence[Row]) -> Callable[[Row], bool]:
    """The test of a document that a filter is, over an index of these fields."""
    parser = _Parser(list(_tokens(text)))
    test = parser.disjunction({"": fields})
    if parser.rest:
        raise FilterError(f"Syntax error at '{parser.rest[0].text}'")
    return lambda document: test({"": document})


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _tokens(text: str) -> Iterator[Token]:
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            raise FilterError(f"Syntax error: character '{text[place]}' is not valid at position {place}")
        yield Token(found.lastgroup, found[found.lastgroup])
        place = found.end()


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.rest = tokens

    def take(self, text: str | None = None) -> Token:
        if not self.rest or text not in (None, self.rest[0].text):
            raise FilterError(f"Syntax error: '{text or 'something'}' expected")
        return self.rest.pop(0)

    def sees(self, text: str) -> bool:
        return bool(self.rest) and self.rest[0] == Token("word", text)

    def disjunction(self, scope: dict[str, Sequence[Row]]) -> Test:
        tests = [self.conjunction(scope)]
        while self.sees("or"):
            self.take()
            tests.append(self.conjunction(scope))
        return lambda rows: any(test(rows) for test in tests)

    def conjunction(self, scope: dict[str, Sequence[Row]]) -> Test:
        tests = [self.factor(scope)]
        while self.sees("and"):
            self.take()
            tests.append(self.factor(scope))
        return lambda rows: all(test(rows) for test in tests)

    def factor(self, scope: dict[str, Sequence[Row]]) -> Test:
        if self.sees("not"):
            self.take()
            negated = self.factor(scope)
            return lambda rows: not negated(rows)
        if self.rest and self.rest[0].text == "(":
            self.take()
            inner = self.disjunction(scope)
            self.take(")")
            return inner
        path = self.take()
        if path.kind != "word":
            raise FilterError(f"Syntax error at '{path.text}': a field expected")
        head, _, last = path.text.rpartition("/")
        return self.quantified(head, last, scope) if last in ("any", "all") else self.comparison(path.text, scope)

    def quantified(self, path: str, which: str, scope: dict[str, Sequence[Row]]) -> Test:
        field = next((field for field in scope[""] if field["name"] == path), None)
        if field is None or field["type"] != "Collection(Edm.ComplexType)":
            raise FilterError(f"'{which}' needs a collection, and '{path}' is none")
        self.take("(")
        variable = self.take()
        self.take(":")
        if variable.kind != "word" or "/" in variable.text or variable.text in scope:
            raise FilterError(f"'{variable.text}' is no name of a range variable")
        test = self.disjunction({**scope, variable.text: field["fields"]})
        self.take(")")
        over = any if which == "any" else all
        return lambda rows: over(test({**rows, variable.text: row}) for row in rows[""].get(path) or ())

    def comparison(self, path: str, scope: dict[str, Sequence[Row]]) -> Test:
        variable, _, name = path.rpartition("/")
        field = next((field for field in scope.get(variable, ()) if field["name"] == name), None)
        if field is None:
            raise FilterError(f"Could not find a property named '{path}' on type 'search.document'.")
        if not field.get("filterable"):
            raise FilterError(f"The field '{path}' in the filter expression is not filterable.")
        word = self.take()
        compare = _COMPARISONS.get(word.text)
        if compare is None:
            raise FilterError(f"Syntax error at '{word.text}': a comparison expected")
        kind, value = _literal(self.take())
        if kind == "null":
            if word.text not in ("eq", "ne"):
                raise FilterError(f"null cannot be compared by '{word.text}'")
        elif kind != _KINDS[field["type"]]:
            raise FilterError(
                "A binary operator with incompatible types was detected. Found operand types "
                f"'{field['type']}' and '{kind}' for operator kind '{word.text}'."
            )

        def test(rows: Mapping[str, Row]) -> bool:
            held = rows[variable].get(name)
            held = instant(held) if field["type"] == "Edm.DateTimeOffset" and held is not None else held
            if held is None and word.text not in ("eq", "ne"):
                return False
            return compare(held, value)

        return test


def _literal(token: Token) -> tuple[str, Any]:
    if token.kind == "string":
        return "string", token.text[1:-1].replace("''", "'")
    if token.kind == "date":
        return "date", instant(token.text)
    if token.kind == "number":
        return "number", float(token.text)
    if token.text in ("true", "false"):
        return "boolean", token.text == "true"
    if token.text == "null":
        return "null", None
    raise FilterError(f"Syntax error at '{token.text}': a value expected")
