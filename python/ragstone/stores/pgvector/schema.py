"""Making a collection's table, or checking that the one which is there is the right one. Nothing is ever deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ragstone.errors import ConfigurationError, StoreError
from ragstone.stores.pgvector.connections import fetch
from ragstone.stores.pgvector.table import Table

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.abc import QueryNoTemplate as Query
    from psycopg.sql import SQL, Composed

__all__ = ["ITERATIVE_SCAN", "MAX_INDEXED_DIMENSIONS", "Version", "prepare"]

Version: TypeAlias = tuple[int, ...]

MAX_INDEXED_DIMENSIONS: Final = 2000
"""An HNSW index of pgvector takes no wider `vector`."""

ITERATIVE_SCAN: Final[Version] = (0, 8)
"""The version of pgvector that brought `hnsw.iterative_scan`."""

_SPARSE: Final[Version] = (0, 7)
_OURS: Final = frozenset({"document_id", "chunk_index", "text", "metadata", "embedding"})


async def prepare(connection: AsyncConnection[Any], table: Table) -> Version:
    """Make what is missing, in the transaction that is open, and return pgvector's version.

    Only what is missing is made, so that a table which is ready is neither locked nor needs the right to change it.

    Raises:
        ConfigurationError: The table holds vectors of other dimensions.
        StoreError: pgvector is missing or too old, the table is somebody else's, or it has duplicate keys.
    """
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"ragstone {table.name}"])
    version = await _extension(connection)
    if table.vocabulary is not None and version < _SPARSE:
        raise StoreError(
            f"sparse vectors need pgvector 0.7.0 or later, and {_dotted(version)} is installed: install a newer one on "
            "the server and run  ALTER EXTENSION vector UPDATE"
        )
    await _table(connection, table)
    await _unique_key(connection, table)
    await _indexes(connection, table)
    return version


async def _extension(connection: AsyncConnection[Any]) -> Version:
    version = await _value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if version is None:
        if not await _value(connection, "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
            raise StoreError("the PostgreSQL server does not have the extension pgvector: install it there")
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('ragstone', 0))")
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        version = await _value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return tuple(int(part) for part in str(version).split(".") if part.isdigit())


async def _table(connection: AsyncConnection[Any], table: Table) -> None:
    from psycopg.sql import SQL, Identifier, Literal

    columns = await _columns(connection, table)
    if not columns:
        await connection.execute(
            SQL(
                "CREATE TABLE {} (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, document_id TEXT NOT NULL,"
                " chunk_index INTEGER NOT NULL, text TEXT NOT NULL, metadata JSONB NOT NULL DEFAULT '{{}}',"
                " embedding vector({}) NOT NULL)"
            ).format(table.identifier, Literal(table.dimensions))
        )
        columns = await _columns(connection, table)
    if missing := _OURS - columns.keys():
        raise StoreError(
            f"the table {table.name!r} is not one of Ragstone's, for it has no column {min(missing)!r}: choose "
            "another name for the collection"
        )
    _check_dimensions(table, columns["embedding"])
    for column in ("start_offset", "end_offset"):
        if column not in columns:
            await _add_column(connection, table, SQL("{} BIGINT NOT NULL DEFAULT 0").format(Identifier(column)))
    if table.vocabulary is not None:
        await _sparse_column(connection, table, columns.get("sparse_embedding"))
    if table.language is not None:
        await _words_column(connection, table, table.language)


async def _sparse_column(connection: AsyncConnection[Any], table: Table, held: int | None) -> None:
    from psycopg.sql import SQL, Literal

    if held is None:
        await _add_column(connection, table, SQL("sparse_embedding sparsevec({})").format(Literal(table.vocabulary)))
    elif held != table.vocabulary:
        raise ConfigurationError(
            f"the collection {table.name!r} is for sparse vectors over a vocabulary of {held}, and the store is set to "
            f"{table.vocabulary}: set vocabulary={held}, or run  ALTER TABLE {table.quoted} DROP COLUMN "
            "sparse_embedding, which discards every sparse vector, and ingest the documents again"
        )


async def _words_column(connection: AsyncConnection[Any], table: Table, language: str) -> None:
    from psycopg.sql import SQL, Literal

    known = "SELECT 1 FROM pg_ts_config WHERE cfgname = %s AND pg_ts_config_is_visible(oid)"
    if not await _value(connection, known, [language]):
        raise ConfigurationError(f"PostgreSQL has no text search configuration {language!r}: see them with  \\dF")
    made = SQL("words tsvector GENERATED ALWAYS AS (to_tsvector({}, text)) STORED").format(
        SQL("{}::regconfig").format(Literal(language))
    )
    held = await _value(
        connection,
        "SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid"
        " AND a.attnum = d.adnum WHERE d.adrelid = to_regclass(%s) AND a.attname = 'words'",
        [table.quoted],
    )
    if held is None:
        await _add_column(connection, table, made)
    elif f"to_tsvector('{language}'::regconfig," not in held:
        raise ConfigurationError(
            f"the words of the collection {table.name!r} are indexed as {held}, and the store is set to "
            f"language={language!r}: set the same, or run  ALTER TABLE {table.quoted} DROP COLUMN words"
        )


def _check_dimensions(table: Table, held: int) -> None:
    if held != table.dimensions:
        raise ConfigurationError(
            f"the collection {table.name!r} holds vectors of {held} dimensions, and the store is set to "
            f"{table.dimensions}: set dimensions={held}, or drop the table, which discards every chunk, and ingest the "
            "documents again with the model in use"
        )


async def _unique_key(connection: AsyncConnection[Any], table: Table) -> None:
    from psycopg.sql import SQL

    # By its shape, not by its name: an index of this name may be another one.
    found = await _value(
        connection,
        "SELECT count(*) FROM pg_index i WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid"
        " AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND ARRAY['chunk_index', 'document_id'] ="
        " (SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_attribute a"
        "  WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey))",
        [table.quoted],
    )
    if found:
        return
    if await _is_there(connection, table.index_name("doc_chunk")):
        raise StoreError(
            f"a relation named {table.index_name('doc_chunk')!r} is there but is no unique index on (document_id, "
            "chunk_index): drop or rename it"
        )
    await _refuse_duplicates(connection, table)
    await connection.execute(
        SQL("CREATE UNIQUE INDEX {} ON {} (document_id, chunk_index)").format(
            table.index("doc_chunk"), table.identifier
        )
    )


async def _refuse_duplicates(connection: AsyncConnection[Any], table: Table) -> None:
    from psycopg.sql import SQL

    query = SQL("SELECT document_id, chunk_index, count(*) FROM {} GROUP BY 1, 2 HAVING count(*) > 1").format(
        table.identifier
    )
    duplicates = await _value(connection, SQL("SELECT count(*) FROM ({}) AS pairs").format(query))
    if duplicates:
        raise StoreError(
            f"{duplicates} pairs of (document_id, chunk_index) occur more than once in {table.name!r}, which needs a "
            f"unique key on them; nothing was changed. See them with  {query.as_string(connection)}, keep one row of "
            "each, and initialize again"
        )


async def _indexes(connection: AsyncConnection[Any], table: Table) -> None:
    await _index(connection, table, "document_id", "(document_id)")
    if table.dimensions <= MAX_INDEXED_DIMENSIONS:
        await _index(connection, table, "embedding", "USING hnsw (embedding vector_cosine_ops)")
    if table.vocabulary is not None:
        await _index(connection, table, "sparse", "USING hnsw (sparse_embedding sparsevec_ip_ops)")
    if table.language is not None:
        await _index(connection, table, "words", "USING gin (words)")


async def _index(connection: AsyncConnection[Any], table: Table, suffix: str, on: str) -> None:
    from psycopg.sql import SQL

    if not await _is_there(connection, table.index_name(suffix)):
        statement = SQL("CREATE INDEX {} ON {} {}")
        await connection.execute(
            statement.format(table.index(suffix), table.identifier, SQL(on))  # pyright: ignore[reportArgumentType]
        )


async def _columns(connection: AsyncConnection[Any], table: Table) -> dict[str, int]:
    """The columns with their modifiers, which for a vector are its dimensions; none where there is no table."""
    rows = await fetch(
        connection,
        "SELECT attname, atttypmod FROM pg_attribute"
        " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        [table.quoted],
    )
    return dict(rows)


async def _add_column(connection: AsyncConnection[Any], table: Table, column: Composed | SQL) -> None:
    from psycopg.sql import SQL

    await connection.execute(SQL("ALTER TABLE {} ADD COLUMN {}").format(table.identifier, column))


async def _is_there(connection: AsyncConnection[Any], relation: str) -> bool:
    return bool(await _value(connection, "SELECT to_regclass(%s) IS NOT NULL", [f'"{relation}"']))


async def _value(connection: AsyncConnection[Any], query: Query, parameters: Sequence[Any] = ()) -> Any:
    """The first column of the first row, `None` where there is none."""
    rows = await fetch(connection, query, parameters)
    return rows[0][0] if rows else None


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
