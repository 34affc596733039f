"""Traces of requests: what was asked, what retrieval did, what the model was sent and said, and how it ended."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from ragstone.errors import RagError
from ragstone.models import ChatMessage, ChatReply
from ragstone.retrieval.page import SearchPage
from ragstone.validation import require_at_least

__all__ = ["Recording", "Trace", "TraceKind", "TraceStatus", "TraceStore", "record"]

TraceKind: TypeAlias = Literal["retrieve", "ask", "ask_streaming"]
"""Which method of the pipeline was called."""

TraceStatus: TypeAlias = Literal["ok", "failed", "cancelled", "closed"]
"""How a request ended; `closed` is a stream whose reader stopped early."""

_TEXTS_OF_A_RESULT: Final = ("text", "compressed_text", "metadata")


@dataclass(slots=True)
class Recording:
    """What a request leaves behind while it runs."""

    page: SearchPage | None = None
    messages: tuple[ChatMessage, ...] = ()
    reply: ChatReply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One request. `str()` gives the record of its retrieval as a table, and the size of the prompt and the answer.

    Attributes:
        kind: The method that was called.
        query: What was asked.
        status: How it ended.
        error: What it failed of: the kind of the error, with the message of one of Ragstone's own.
        started: When, in UTC.
        seconds: Wall time; of a stream until it ended or was closed.
        page: What was retrieved, with each stage, candidate, score, drop and timing; `None` where it did not get there.
        messages: What the model was sent; empty where it did not get there.
        reply: What the model said, of a stream that broke as far as it came.
    """

    kind: TraceKind
    query: str = field(repr=False)
    status: TraceStatus
    error: str | None = None
    started: datetime
    seconds: float
    page: SearchPage | None = field(default=None, repr=False)
    messages: tuple[ChatMessage, ...] = field(default=(), repr=False)
    reply: ChatReply | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.format()

    def format(self, *, texts: bool = False) -> str:
        """Return the trace for reading; with `texts`, the prompt and the answer whole."""
        lines = [f"{self.kind} at {self.started:%Y-%m-%d %H:%M:%S}: {self.status} after {self.seconds:.3f} s"]
        if self.error is not None:
            lines.append(f"Error: {self.error}")
        for message in self.messages:
            content = message.get("content")
            shown = content if isinstance(content, str) else json.dumps(message, ensure_ascii=False)
            lines.append(f"Prompt, {message['role']}: {_shown(shown, texts=texts)}")
        if self.reply is not None:
            lines.append(f"Answer: {_shown(self.reply.text, texts=texts)}{_end(self.reply)}")
        if self.page is not None:
            lines.extend(("", str(self.page.explain())))
        return "\n".join(lines)

    def to_dict(self, *, texts: bool = False) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON; texts of users, documents and models only with `texts`."""
        reply, page = self.reply, None if self.page is None else self.page.to_dict()
        data: dict[str, Any] = {
            "kind": self.kind,
            "status": self.status,
            "error": self.error,
            "started": self.started.isoformat(),
            "seconds": self.seconds,
            "page": page if texts or page is None else _without_texts(page),
            "messages": [dict(m) if texts else {"role": m["role"], "characters": _size(m)} for m in self.messages],
            "reply": None if reply is None else _reply(reply, texts=texts),
        }
        return {"query": self.query, **data} if texts else data


class TraceStore:
    """The traces of the latest requests, oldest first; an older one gives way when it is full.

    Hand it to `RagPipeline(traces=…)`. Traces hold the texts of queries, documents and answers in memory; printing and
    exporting leave out what was not asked for.

    Args:
        capacity: How many traces are kept, at least 1.

    Raises:
        ConfigurationError: `capacity` is below 1.
    """

    def __init__(self, capacity: int = 50) -> None:
        self._traces: deque[Trace] = deque(maxlen=require_at_least("capacity", capacity, 1))

    def __len__(self) -> int:
        return len(self._traces)

    def __iter__(self) -> Iterator[Trace]:
        return iter(tuple(self._traces))

    @property
    def last(self) -> Trace | None:
        """The latest trace."""
        return self._traces[-1] if self._traces else None

    def add(self, trace: Trace) -> None:
        """Keep a trace."""
        self._traces.append(trace)

    def clear(self) -> None:
        """Forget all traces."""
        self._traces.clear()

    def to_jsonl(self, *, texts: bool = False) -> str:
        """Return the traces as JSON lines, oldest first; texts only where asked for, as in `Trace.to_dict`."""
        return "".join(f"{json.dumps(trace.to_dict(texts=texts), ensure_ascii=False)}\n" for trace in self)


@contextmanager
def record(store: TraceStore | None, kind: TraceKind, query: str) -> Generator[Recording, None, None]:
    """Run a request whose recording becomes a trace, however it ends; without a store it is dropped."""
    recording, started, clock = Recording(), datetime.now(UTC), time.perf_counter()
    status: TraceStatus = "cancelled"
    error: str | None = None
    try:
        yield recording
        status = "ok"
    except GeneratorExit:
        status = "closed"
        raise
    except asyncio.CancelledError:
        raise
    except Exception as failure:
        status, error = "failed", _described(failure)
        raise
    finally:
        if store is not None:
            store.add(
                Trace(
                    kind=kind,
                    query=query,
                    status=status,
                    error=error,
                    started=started,
                    seconds=time.perf_counter() - clock,
                    page=recording.page,
                    messages=recording.messages,
                    reply=recording.reply,
                )
            )


def _described(failure: Exception) -> str:
    """Name a failure; the message of one that is not Ragstone's might quote a text."""
    name = type(failure).__name__
    return f"{name}: {failure}" if isinstance(failure, RagError) else name


def _shown(text: str, *, texts: bool) -> str:
    return f"\n{text}\n" if texts else f"{len(text)} characters"


def _end(reply: ChatReply) -> str:
    usage = reply.usage
    tokens = None if usage is None else f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    facts = [fact for fact in (reply.model, reply.finish_reason, tokens) if fact is not None]
    return f" ({', '.join(facts)})" if facts else ""


def _size(message: ChatMessage) -> int:
    content = message.get("content")
    return len(content) if isinstance(content, str) else len(json.dumps(dict(message), ensure_ascii=False))


def _reply(reply: ChatReply, *, texts: bool) -> dict[str, Any]:
    usage = reply.usage
    return {
        **({"text": reply.text} if texts else {"characters": len(reply.text)}),
        "model": reply.model,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": None if usage is None else usage.prompt_tokens,
        "completion_tokens": None if usage is None else usage.completion_tokens,
    }


def _without_texts(page: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in page.items() if key != "query"}
    # A variant or sub-query is worded like the query; a tag that was found for it tells what it is about.
    kept["arms"] = [{key: value for key, value in arm.items() if key != "query"} for arm in page["arms"]]
    kept["notes"] = {key: value for key, value in page["notes"].items() if key != "tags"}
    for name in ("results", "dropped"):
        kept[name] = [
            {
                **{key: value for key, value in result.items() if key not in _TEXTS_OF_A_RESULT},
                "characters": len(result["text"]),
                # The name of a ranking is the wording of the query that it answers.
                "evidence": [{k: v for k, v in item.items() if k != "name"} for item in result["evidence"]],
            }
            for result in page[name]
        ]
    return kept
