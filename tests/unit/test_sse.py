"""Server-sent events: what is an event, wherever the bytes are cut."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.sse import read_events


def events(*chunks):
    async def read():
        async def stream():
            for chunk in chunks:
                yield chunk

        return [event async for event in read_events(stream())]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a\n\n\n\n: comment\n\ndata: b\n\n", ["a", "b"]),
        (b"event: x\nid: 1\ndata: a\nretry: 3\n\n", ["a"]),
        (b"data\n\ndata: \n\n", ["", ""]),
        (b"database: a\n\n data: b\n\n", []),
        (b"data: a: b\n\n", ["a: b"]),
        (b"\xef\xbb\xbfdata: a\r\rdata: b\r\n\r\n", ["a", "b"]),
        ("data: a\u2028\u0085\x0bb\n\n".encode(), ["a\u2028\u0085\x0bb"]),
        (b"data: a\n\ndata: b", ["a", "b"]),
        (b"data: a\r", ["a"]),
        (b"", []),
    ],
)
def test_what_is_an_event(stream, expected):
    assert events(stream) == expected
    assert events(*(stream[place : place + 1] for place in range(len(stream)))) == expected


def test_data_that_is_not_utf8_is_an_error():
    with pytest.raises(UnicodeDecodeError):
        events(b"data: \xff\n\n")


@given(st.lists(st.text(alphabet="ab🙂\u2028: ", max_size=6), max_size=4), st.data())
def test_cuts_and_line_ends_change_nothing(texts, data):
    stream = b"".join(
        f"data: {text}".encode() + 2 * data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"])) for text in texts
    )
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    cuts = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    assert events(*cuts) == texts
