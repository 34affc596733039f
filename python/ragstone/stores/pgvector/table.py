"""The table of a collection: what it is called, and how it is read and written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, LiteralString

from ragstone.errors import ConfigurationError
from ragstone.validation import require_in_range, require_int

if TYPE_CHECKING:
    from psycopg.sql import Composed, Identifier

__all__ = ["FILTER", "MAX_DIMENSIONS", "MAX_NAME", "Table", "checked_name"]

MAX_NAME: Final = 47
"""Characters. PostgreSQL cuts a name at 63 bytes without a word, and `idx_{name}_document_id` adds 16."""

MAX_DIMENSIONS: Final = 16_000
"""Of a column of the type `vector`."""

_COSINE: Final[LiteralString] = "embedding <=> %(query)s::vector"
_DOT: Final[LiteralString] = "sparse_embedding <#> %(query)s::sparsevec"
FILTER: Final[LiteralString] = " AND metadata @> %(filter)s::jsonb"
"""What a filter adds to a condition."""

_PLACEHOLDERS: Final[Mapping[str, LiteralString]] = {
    "text": "%s",
    "metadata": "%s::jsonb",
    "start_offset": "%s",
    "end_offset": "%s",
    "embedding": "%s::vector",
    "sparse_embedding": "%s::sparsevec",
}
_MAX_VOCABULARY: Final = 1_000_000_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_name(name: str) -> str:
    """Return the name of a collection.

    Raises:
        ConfigurationError: It is no ASCII identifier, or longer than `MAX_NAME`.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"a collection's name consists of ASCII letters, digits and underscores and does not begin with a digit: "
            f"{name!r} cannot be one"
        )
    if len(name) > MAX_NAME:
        raise ConfigurationError(
            f"a collection's name has at most {MAX_NAME} characters, so that PostgreSQL does not cut the names of its "
            f"indexes: {name!r} has {len(name)}"
        )
    return name


@dataclass(frozen=True, slots=True)
class Table:
    """A collection's table.

    Attributes:
        name: An ASCII identifier.
        dimensions: Of its vectors.
        vocabulary: The dimension of its sparse vectors; `None` where it has none.
        language: The text search configuration that its words are indexed with; `None` where they are not.

    Raises:
        ConfigurationError: One of them cannot be.
    """

    name: str
    dimensions: int
    vocabulary: int | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        checked_name(self.name)
        require_in_range("dimensions", require_int("dimensions", self.dimensions), 1, MAX_DIMENSIONS)
        if self.vocabulary is not None:
            require_in_range("vocabulary", require_int("vocabulary", self.vocabulary), 1, _MAX_VOCABULARY)
        if self.language is not None and not _NAME.fullmatch(self.language):
            raise ConfigurationError(
                f"language must be a text search configuration of PostgreSQL such as 'english' or 'simple', not "
                f"{self.language!r}"
            )

    @property
    def quoted(self) -> str:
        """The name as PostgreSQL's functions take it; safe, for it is an identifier."""
        return f'"{self.name}"'

    @property
    def identifier(self) -> Identifier:
        """The name in a statement."""
        from psycopg.sql import Identifier

        return Identifier(self.name)

    def index(self, suffix: str) -> Identifier:
        """The name of one of its indexes in a statement."""
        from psycopg.sql import Identifier

        return Identifier(self.index_name(suffix))

    def index_name(self, suffix: str) -> str:
        """The name of one of its indexes."""
        return f"idx_{self.name}_{suffix}"

    def upsert(self, *, keep_sparse: bool) -> Composed:
        """Insert or replace one row, unless it is there just so.

        With `keep_sparse` a row without a sparse vector leaves an earlier one where it is. A row that is left alone
        costs no place in the index, where pgvector loses sight of a vector that it was given more than ten times, until
        PostgreSQL has cleaned up. Metadata is compared as text, for as JSONB 2 equals 2.0.
        """
        from psycopg.sql import SQL, Identifier

        columns = [column for column in _PLACEHOLDERS if column != "sparse_embedding" or self.vocabulary is not None]
        new = [SQL("EXCLUDED.{}").format(Identifier(column)) for column in columns]
        old = [SQL("{}.{}").format(self.identifier, Identifier(column)) for column in columns]
        if keep_sparse and self.vocabulary is not None:
            new[-1] = SQL("COALESCE({}, {})").format(new[-1], old[-1])
        return SQL(
            "INSERT INTO {table} (document_id, chunk_index, {columns}) VALUES (%s, %s, {values})"
            " ON CONFLICT (document_id, chunk_index) DO UPDATE SET ({columns}) = ROW ({new})"
            " WHERE ({old}, {table}.metadata::text) IS DISTINCT FROM ({new}, EXCLUDED.metadata::text)"
        ).format(
            table=self.identifier,
            columns=SQL(", ").join(map(Identifier, columns)),
            values=SQL(", ").join(SQL(_PLACEHOLDERS[column]) for column in columns),
            new=SQL(", ").join(new),
            old=SQL(", ").join(old),
        )

    def delete_others(self) -> Composed:
        """Remove the rows of a document but those of some indices."""
        from psycopg.sql import SQL

        return SQL("DELETE FROM {} WHERE document_id = %s AND chunk_index <> ALL (%s::int[])").format(self.identifier)

    def delete(self) -> Composed:
        """Remove the rows of a document."""
        from psycopg.sql import SQL

        return SQL("DELETE FROM {} WHERE document_id = %s").format(self.identifier)

    def embeddings(self) -> Composed:
        """The vectors of keys, given as two arrays."""
        from psycopg.sql import SQL

        return SQL(
            "SELECT document_id, chunk_index, embedding::real[]"
            " FROM unnest(%s::text[], %s::bigint[]) AS wanted (document, index)"
            " JOIN {} ON document_id = document AND chunk_index = index"
        ).format(self.identifier)

    def nearest(self, *, filtered: bool, floor: bool) -> bytes:
        """The nearest rows by cosine distance. That of a zero vector, which is NaN, counts as 1."""
        reached = f"1 - COALESCE(NULLIF({_COSINE}, 'NaN'), 1) >= %(min_score)s" if floor else "TRUE"
        return _page(self.name, _COSINE, reached, filtered)

    def greatest(self, *, filtered: bool, floor: bool) -> bytes:
        """The rows of the largest dot products, which `<#>` gives negated; none that shares no term."""
        reached = f"{_DOT} < 0" + (f" AND -({_DOT}) >= %(min_score)s" if floor else "")
        return _page(self.name, _DOT, reached, filtered)


@lru_cache(maxsize=256)
def _page(name: str, distance: LiteralString, reached: LiteralString, filtered: bool) -> bytes:
    """The rows of the smallest distances, as text, which psycopg keeps prepared; putting it together is not free."""
    from psycopg.sql import SQL, Identifier

    statement = SQL(
        "SELECT document_id, chunk_index, text, metadata::text, start_offset, end_offset, {distance}"
        " FROM {table} WHERE {reached}{filter} ORDER BY {distance} LIMIT %(top_k)s"
    ).format(
        distance=SQL(distance),
        table=Identifier(name),
        reached=SQL(reached),
        filter=SQL(FILTER if filtered else ""),
    )
    return statement.as_bytes(None)
