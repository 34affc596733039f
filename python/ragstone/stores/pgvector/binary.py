"""Vectors in pgvector's binary formats, which spare both sides the decimal digits."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from ragstone.models import Vector
from ragstone.sparse_vector import SparseVector

if TYPE_CHECKING:
    from psycopg import AsyncCursor

__all__ = ["Binary", "send_binary", "sparse_value", "vector_value"]


class Binary(bytes):
    """A value in the binary format of the type to which the statement casts it."""

    __slots__ = ()


def send_binary(cursor: AsyncCursor[Any]) -> None:
    """Let a cursor send `Binary` values, leaving their type to the statement."""
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

    class BinaryDumper(Dumper):
        format = Format.BINARY
        oid = 0

        def dump(self, obj: Binary) -> Binary:
            return obj

    cursor.adapters.register_dumper(Binary, BinaryDumper)


def vector_value(vector: Vector) -> Binary:
    """A float32 vector as a `vector`: its length, two unused bytes, the numbers."""
    return Binary(struct.pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes())


def sparse_value(vector: SparseVector, vocabulary: int) -> Binary:
    """A sparse vector as a `sparsevec`: its dimension, the number of terms, four unused bytes, terms, weights."""
    head = struct.pack(">iii", vocabulary, len(vector), 0)
    return Binary(head + vector.indices.astype(">i4").tobytes() + vector.values.astype(">f4").tobytes())
