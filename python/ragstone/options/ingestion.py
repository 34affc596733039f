"""How documents are taken in."""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.validation import require_at_least, require_bool

__all__ = [
    "IngestionOptions",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionOptions:
    """How documents are taken in.

    Attributes:
        overwrite: Replace a document whose id is already stored, every trace of it; False refuses such a document.
        skip_unchanged: Do nothing for a document whose content, tags and settings equal what is stored.
        concurrency: How many documents of a batch are worked on at once, at least 1.

    Raises:
        ConfigurationError: `concurrency` is below 1, or a switch is not a bool.
    """

    overwrite: bool = True
    skip_unchanged: bool = True
    concurrency: int = 4

    def __post_init__(self) -> None:
        require_bool("overwrite", self.overwrite)
        require_bool("skip_unchanged", self.skip_unchanged)
        require_at_least("concurrency", self.concurrency, 1)
