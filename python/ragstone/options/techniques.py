"""The options of each technique: one is on when the pipeline has its options, and each call can switch it off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from ragstone.errors import ConfigurationError
from ragstone.templates import require_placeholders
from ragstone.validation import require_at_least, require_bool, require_finite, require_in_range

__all__ = [
    "COMPRESSION_PROMPT",
    "CachingOptions",
    "CompressionOptions",
    "DeepResearchOptions",
    "HydeOptions",
    "MultiQueryOptions",
    "ParentDocumentOptions",
    "TagRetrievalOptions",
    "TimeWeightedOptions",
]

_HYDE_PROMPT: Final = (
    "Write one short passage, as it could stand in a reference document, that answers the question below. "
    "Give only the passage.\n\nQuestion: {query}"
)
_MULTI_QUERY_PROMPT: Final = (
    "Put the question below in {count} other ways, each of which could find documents that the others miss. "
    "Give one a line, without numbers and without comment.\n\nQuestion: {query}"
)
COMPRESSION_PROMPT: Final = (
    "Give back only what in the passage below bears on the question, in the passage's own words where you can. "
    "If nothing does, answer with the single word NONE.\n\nQuestion: {query}\n\nPassage:\n{text}"
)
_SECONDS_IN_A_YEAR: Final = 366 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HydeOptions:
    """Hypothetical document embeddings (Gao et al., 2022): imagined answers are embedded in place of the query.

    Attributes:
        prompt_template: Asks for a hypothesis; `{query}` stands for the query.
        hypothesis_count: How many hypotheses are generated; the unit-length mean of their embeddings is searched with.
        hypothesis_temperature: Sampling temperature, in [0, 2]: hypotheses should differ.

    Raises:
        ConfigurationError: A placeholder is missing, or a value is out of its range.
    """

    prompt_template: str = _HYDE_PROMPT
    hypothesis_count: int = 3
    hypothesis_temperature: float = 0.8

    def __post_init__(self) -> None:
        require_placeholders("prompt_template", self.prompt_template, ("query",))
        require_at_least("hypothesis_count", self.hypothesis_count, 1)
        require_in_range("hypothesis_temperature", self.hypothesis_temperature, 0.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiQueryOptions:
    """Several phrasings of the query are searched at once, beside the query itself, and merged.

    Attributes:
        variant_count: How many variants are asked for, at least 1.
        prompt_template: Asks for them; `{count}` and `{query}` stand for their number and the query.

    Raises:
        ConfigurationError: A placeholder is missing, or `variant_count` is below 1.
    """

    variant_count: int = 3
    prompt_template: str = _MULTI_QUERY_PROMPT

    def __post_init__(self) -> None:
        require_at_least("variant_count", self.variant_count, 1)
        require_placeholders("prompt_template", self.prompt_template, ("count", "query"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepResearchOptions:
    """A chat model says whether the results suffice, and which sub-queries would complete them.

    Attributes:
        max_depth: How often the model is asked at most, at least 1.
        sub_query_count: How many sub-queries a round runs at most, at least 1.
        sufficiency_prompt: Asks the model; `{query}`, `{sources}` and `{count}` stand for the query, the texts found
            and the number of sub-queries. It must ask for JSON such as `{"sufficient": false, "subQueries": ["…"]}`.
            `None` is Ragstone's own.

    Raises:
        ConfigurationError: A number is below 1, or a placeholder is missing.
    """

    max_depth: int = 3
    sub_query_count: int = 3
    sufficiency_prompt: str | None = None

    def __post_init__(self) -> None:
        require_at_least("max_depth", self.max_depth, 1)
        require_at_least("sub_query_count", self.sub_query_count, 1)
        if self.sufficiency_prompt is not None:
            require_placeholders("sufficiency_prompt", self.sufficiency_prompt, ("query", "sources"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRetrievalOptions:
    """The metadata filter is found from the query: the tag values nearest to it are added to the filter.

    Attributes:
        top_k: How many keys are added at most, each with its best value.
        min_score: The least cosine similarity of query and tag value, in [-1, 1].

    Raises:
        ConfigurationError: `top_k` is below 1, or `min_score` out of its range.
    """

    top_k: int = 1
    min_score: float = 0.82

    def __post_init__(self) -> None:
        require_at_least("top_k", self.top_k, 1)
        require_in_range("min_score", self.min_score, -1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWeightedOptions:
    """Older documents score lower: `score * e^(-decay_rate * age_hours)`.

    A chunk's timestamp is its `updated_at`, else its `created_at`, else the first of the fallback keys that holds one.

    Attributes:
        decay_rate: λ per hour, at least 0; 0.01 halves a score in about 69 hours.
        fallback_metadata_keys: Tried in order.

    Raises:
        ConfigurationError: `decay_rate` is negative or not finite, or a key is no string.
    """

    decay_rate: float = 0.01
    fallback_metadata_keys: tuple[str, ...] = ("updated_at", "published_at", "lastmod", "received_at")

    def __post_init__(self) -> None:
        if require_finite("decay_rate", self.decay_rate) < 0:
            raise ConfigurationError(f"decay_rate must be at least 0, not {self.decay_rate!r}")
        keys: object = self.fallback_metadata_keys
        if isinstance(keys, str) or not isinstance(keys, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"fallback_metadata_keys must be a tuple of keys, not {keys!r}")
        object.__setattr__(self, "fallback_metadata_keys", tuple(self.fallback_metadata_keys))
        for key in self.fallback_metadata_keys:
            if not isinstance(key, str) or not key:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigurationError(f"fallback_metadata_keys must hold non-empty strings, not {key!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionOptions:
    """Contextual compression: each chunk is reduced to what bears on the query before the model reads it.

    One of `keep_top_sentences` and `max_tokens_per_chunk` is needed; where both are set the sentences win.

    Attributes:
        strategy: `"extractive"` keeps the sentences nearest to the query, in their order; `"abstractive"` asks the chat
            model, one call a chunk.
        keep_top_sentences: How many sentences stay, at least 1.
        max_tokens_per_chunk: How many cl100k_base tokens stay, at least 1, in whole sentences.
        in_retrieval: Compress the pages of `retrieve` too, not only what `ask` reads.
        prompt_template: Asks for an abstract; `{query}` and `{text}` stand for the query and the chunk's text.

    Raises:
        ConfigurationError: Neither limit is set, a value is out of range, or a placeholder is missing.
    """

    strategy: Literal["extractive", "abstractive"] = "extractive"
    keep_top_sentences: int | None = None
    max_tokens_per_chunk: int | None = None
    in_retrieval: bool = False
    prompt_template: str = COMPRESSION_PROMPT

    def __post_init__(self) -> None:
        if self.strategy not in ("extractive", "abstractive"):
            raise ConfigurationError(f"strategy must be 'extractive' or 'abstractive', not {self.strategy!r}")
        if self.keep_top_sentences is None and self.max_tokens_per_chunk is None:
            raise ConfigurationError("compression needs a limit: set keep_top_sentences or max_tokens_per_chunk")
        for name in ("keep_top_sentences", "max_tokens_per_chunk"):
            if getattr(self, name) is not None:
                require_at_least(name, getattr(self, name), 1)
        require_bool("in_retrieval", self.in_retrieval)
        require_placeholders("prompt_template", self.prompt_template, ("query", "text"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentDocumentOptions:
    """Small chunks are searched, and the larger parents that they lie in come back.

    Attributes:
        parent_chunk_size: Characters of a parent at most.
        parent_overlap: Characters that neighbouring parents share, less than their size.

    Raises:
        ConfigurationError: A value is out of its range.
    """

    parent_chunk_size: int = 2048
    parent_overlap: int = 100

    def __post_init__(self) -> None:
        require_at_least("parent_chunk_size", self.parent_chunk_size, 1)
        require_at_least("parent_overlap", self.parent_overlap, 0)
        if self.parent_overlap >= self.parent_chunk_size:
            raise ConfigurationError(
                f"parent_overlap must be less than parent_chunk_size {self.parent_chunk_size}, "
                f"not {self.parent_overlap}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CachingOptions:
    """What is remembered, and for how long. Lifetimes are in seconds, above 0; `None` switches a level off.

    Attributes:
        embedding_ttl: Of the vectors of texts.
        result_ttl: Of whole pages.
        answer_ttl: Of answers of the chat model to the same messages at the same temperature; off by default.
        max_entries: How many entries each level keeps in process; the longest unused goes first.

    Raises:
        ConfigurationError: A lifetime is not above 0 or over a year, or `max_entries` is below 1.
    """

    embedding_ttl: float | None = 1800.0
    result_ttl: float | None = 300.0
    answer_ttl: float | None = None
    max_entries: int = 4096

    def __post_init__(self) -> None:
        for name in ("embedding_ttl", "result_ttl", "answer_ttl"):
            value = getattr(self, name)
            if value is not None and require_in_range(name, value, 0.0, _SECONDS_IN_A_YEAR) == 0.0:
                raise ConfigurationError(f"{name} must be above 0 seconds, not {value!r}: None switches the level off")
        require_at_least("max_entries", self.max_entries, 1)
