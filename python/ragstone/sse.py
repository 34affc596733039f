"""Server-sent events: the data of each event of a stream of bytes, after the WHATWG's "Server-sent events"."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterator

__all__ = ["read_events"]

_BOM = b"\xef\xbb\xbf"


async def read_events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """Yield the data of each event, its lines joined by line feeds.

    Comments, events without data and the other fields are passed over. Lines end in CR, LF or both, wherever chunks are
    cut; nothing else ends one, so that U+2028 in JSON is text. An event that the end of the stream cuts short is
    yielded too: some services leave out the last empty line.

    Raises:
        UnicodeDecodeError: The data is not UTF-8.
    """
    lines, data = _Lines(), list[bytes]()
    async for chunk in chunks:
        for line in lines.feed(chunk):
            if line:
                _take(line, data)
            elif data:
                yield b"\n".join(data).decode()
                data = []
    for line in lines.finish():
        _take(line, data)
    if data:
        yield b"\n".join(data).decode()


def _take(line: bytes, data: list[bytes]) -> None:
    name, _, value = line.partition(b":")
    if name == b"data":
        data.append(value.removeprefix(b" "))


class _Lines:
    """Cuts bytes into lines."""

    def __init__(self) -> None:
        self._rest = b""
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that are complete."""
        # A CR at the end may be half of a CRLF: it waits for what follows.
        *complete, self._rest = _split(self._rest + chunk)
        for line in complete:
            yield self._without_mark(line)

    def finish(self) -> Iterator[bytes]:
        """Yield the last line, which nothing ended."""
        if self._rest:
            yield self._without_mark(self._rest.removesuffix(b"\r"))

    def _without_mark(self, line: bytes) -> bytes:
        first, self._first = self._first, False
        return line.removeprefix(_BOM) if first else line


def _split(text: bytes) -> list[bytes]:
    held = text.endswith(b"\r")
    lines = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    if held:
        lines[-1] += b"\r"
    return lines
