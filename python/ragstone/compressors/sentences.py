"""The sentences of a text, and texts made of some of them, within a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.engine.text import sentence_spans
from ragstone.engine.tokens import count_tokens
from ragstone.errors import ConfigurationError
from ragstone.validation import require_at_least

__all__ = ["Limit", "Sentences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much of a text may stay; where both are set the sentences count.

    Attributes:
        sentences: How many, at least 1.
        tokens: How many cl100k_base tokens, at least 1.

    Raises:
        ConfigurationError: Neither is set, or one is below 1.
    """

    sentences: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.sentences is None and self.tokens is None:
            raise ConfigurationError("compression needs a limit: set keep_top_sentences or max_tokens_per_chunk")
        if self.sentences is not None:
            require_at_least("keep_top_sentences", self.sentences, 1)
        if self.tokens is not None:
            require_at_least("max_tokens_per_chunk", self.tokens, 1)

    def __str__(self) -> str:
        if self.sentences is not None:
            return "1 sentence" if self.sentences == 1 else f"{self.sentences} sentences"
        return f"{self.tokens} tokens"


class Sentences:
    """The sentences of a text, those of white space alone left out.

    Attributes:
        text: The whole text.
        spans: Where each sentence is, half-open, in code points.
    """

    __slots__ = ("spans", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans = [(start, end) for start, end in sentence_spans(text) if text[start:end].strip()]

    def __len__(self) -> int:
        return len(self.spans)

    def texts(self) -> list[str]:
        """Each sentence, without the white space around it."""
        return [self.text[start:end].strip() for start, end in self.spans]

    def fits(self, limit: Limit) -> bool:
        """Whether all of them may stay."""
        if limit.sentences is not None:
            return len(self) <= limit.sentences
        return limit.tokens is None or count_tokens(self.text) <= limit.tokens

    def best(self, ranked: Sequence[int], limit: Limit) -> str:
        """Return the best sentences that the limit allows, in the order of the text; the very best always stays.

        Args:
            ranked: The places of the sentences, best first.
            limit: How much may stay; a sentence that does not fit is passed over for the next.
        """
        if limit.sentences is not None:
            return self.joined(ranked[: limit.sentences])
        chosen = list(ranked[:1])
        for place in ranked[1:]:
            if limit.tokens is None or count_tokens(self.joined([*chosen, place])) <= limit.tokens:
                chosen.append(place)
        return self.joined(chosen)

    def prefix(self, limit: Limit) -> str:
        """Return as many sentences from the beginning as the limit allows; the first always stays."""
        count = len(self) if limit.sentences is None else min(len(self), limit.sentences)
        if limit.sentences is None and limit.tokens is not None:
            while count > 1 and count_tokens(self.joined(range(count))) > limit.tokens:
                count -= 1
        return self.joined(range(count))

    def joined(self, places: Sequence[int]) -> str:
        """Return some of the sentences in their order: neighbours as they stand, a space where some are left out."""
        runs: list[tuple[int, int]] = []
        last = -2
        for place in sorted(places):
            start, end = self.spans[place]
            if place == last + 1:
                runs[-1] = (runs[-1][0], end)
            else:
                runs.append((start, end))
            last = place
        return " ".join(self.text[start:end].strip() for start, end in runs)
