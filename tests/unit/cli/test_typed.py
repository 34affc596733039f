"""`key=text` and `key:=value`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragstone.cli.typed import collect_pairs, parse_pair
from ragstone.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("department=hr", ("department", "hr")),
        ("year=2026", ("year", "2026")),
        ("flag=true", ("flag", "true")),
        ("empty=", ("empty", "")),
        ("note=a=b:=c", ("note", "a=b:=c")),
        ("a:b=c", ("a:b", "c")),
        ("space = x ", ("space ", " x ")),
        ("year:=2026", ("year", 2026)),
        ("ratio:=-1.5e3", ("ratio", -1500.0)),
        ("flag:=true", ("flag", True)),
        ("flag:=false", ("flag", False)),
        ('code:="2026"', ("code", "2026")),
        ("day:=2026-01-31", ("day", datetime(2026, 1, 31, tzinfo=UTC))),
        ("at:=2026-01-31T12:00:00+02:00", ("at", datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))))),
    ],
)
def test_kinds(text: str, pair: tuple[str, object]) -> None:
    parsed = parse_pair(text)
    assert parsed == pair
    assert type(parsed[1]) is type(pair[1])


@pytest.mark.parametrize(
    "text",
    [
        "department",
        "=x",
        ":=3",
        "x:=",
        "x:=word",
        "x:=null",
        "x:=[1]",
        "x:={}",
        "x:=NaN",
        "x:=Infinity",
        "x:=1e999",
        f"x:={2**53 + 1}",
    ],
)
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"KEY=TEXT|after :="):
        parse_pair(text)


def test_a_key_comes_once() -> None:
    assert collect_pairs("--filter", [("a", 1), ("b", "x")]) == {"a": 1, "b": "x"}
    with pytest.raises(ConfigurationError, match="--filter names 'a' twice"):
        collect_pairs("--filter", [("a", 1), ("a", 2)])
