"""Documents as rows and back, under checksums: damage is found where it is read, never searched.

A chunk's checksum is the CRC-32 of everything in its row; a document's covers its own fields and the checksums of its
chunks and parents in order, so that a row that is lost, exchanged or left over is found as well. What format 1 did not
have adds nothing to a checksum where it is absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

from ragstone.errors import DimensionMismatchError, InvalidInputError, InvalidVectorError
from ragstone.metadata import metadata_from_json, metadata_to_json
from ragstone.models import StoredDocument, TextChunk, Vectors
from ragstone.persistence.schema import Stamps
from ragstone.sparse_vector import SparseVector

__all__ = ["ChunkRow", "DocumentRow", "decode_document", "encode_document", "require_fits"]

_FLOAT: Final = np.dtype("<f4")
_TERM: Final = np.dtype("<u4")


class DocumentRow(NamedTuple):
    """A row of `documents`, without its number."""

    document_id: str
    fingerprint: str
    source: str | None
    checksum: int
    sparse_encoder: str | None


class ChunkRow(NamedTuple):
    """A row of `chunks`, or of `parents`, which have no vectors, without its document's number.

    Texts are UTF-8, the vector is little-endian float32, the sparse vector its terms as little-endian uint32 and then
    their weights as float32.
    """

    chunk_index: int
    start: int
    end: int
    text: bytes
    metadata: bytes
    vector: bytes | None
    sparse: bytes | None
    checksum: int


def require_fits(document: StoredDocument, stamps: Stamps) -> int | None:
    """Check a document against itself and the index; return the length of the index's vectors from now on.

    Raises:
        InvalidInputError: There are no chunks, or they are another document's or out of order; vectors are missing or
            not wanted; see `DimensionMismatchError` and `InvalidVectorError`.
    """
    name = f"document {document.document_id!r}"
    indices = [chunk.chunk_index for chunk in document.chunks]
    if not indices or any(chunk.document_id != document.document_id for chunk in (*document.chunks, *document.parents)):
        raise InvalidInputError(f"{name} must come with at least one chunk, all of them its own, and so its parents")
    for kind, places in (("chunks", indices), ("parents", [parent.chunk_index for parent in document.parents])):
        if any(left >= right for left, right in pairwise(places)):
            raise InvalidInputError(f"{name} must come with its {kind} in rising order of chunk_index, not {places}")
    if (document.sparse is None) != (document.sparse_encoder is None) or (
        document.sparse is not None and len(document.sparse) != len(indices)
    ):
        raise InvalidInputError(f"{name} must come with one sparse vector a chunk and their encoder, or with neither")
    if (document.vectors is None) != (stamps.embedder is None):
        wanted = "must come without vectors" if stamps.embedder is None else "must come with vectors"
        raise InvalidInputError(f"{name} {wanted}: the index was made that way")
    if document.vectors is None:
        return None
    return _require_vectors(name, document.vectors, len(indices), stamps.dimensions)


def _require_vectors(name: str, vectors: Vectors, count: int, dimensions: int | None) -> int:
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:  # noqa: PLR2004
        raise InvalidInputError(f"{name} has {count} chunks, but vectors of shape {vectors.shape}")
    actual = int(vectors.shape[1])
    if dimensions is not None and actual != dimensions:
        raise DimensionMismatchError(
            f"{name} has vectors of {actual} dimensions, the index of {dimensions}", expected=dimensions, actual=actual
        )
    if not np.isfinite(vectors).all():
        raise InvalidVectorError(f"{name} has a vector with NaN or infinity")
    return actual


def encode_document(document: StoredDocument) -> tuple[DocumentRow, list[ChunkRow], list[ChunkRow]]:
    """Return the rows of a document: its own, its chunks', its parents'.

    Raises:
        InvalidInputError: A text or a name holds lone surrogates, which UTF-8 cannot.
    """
    blobs: list[bytes | None] = [None] * len(document.chunks)
    sparse = list(blobs)
    if document.vectors is not None:
        blobs = [row.tobytes() for row in np.asarray(document.vectors, dtype=_FLOAT)]
    if document.sparse is not None:
        sparse = [_encode_sparse(vector) for vector in document.sparse]
    try:
        "".join((document.document_id, document.fingerprint, document.source or "")).encode()
        rows = [_encode_chunk(*each) for each in zip(document.chunks, blobs, sparse, strict=True)]
        parents = [_encode_chunk(parent) for parent in document.parents]
        head = DocumentRow(document.document_id, document.fingerprint, document.source, 0, document.sparse_encoder)
        return head._replace(checksum=_document_checksum(head, rows, parents)), rows, parents
    except UnicodeEncodeError:
        raise InvalidInputError(
            f"document {document.document_id!r} holds lone surrogates, which are no text: "
            "decode its source as UTF-8 with errors='replace'"
        ) from None


def _encode_chunk(chunk: TextChunk, vector: bytes | None = None, sparse: bytes | None = None) -> ChunkRow:
    text, metadata = chunk.text.encode(), metadata_to_json(chunk.metadata).encode()
    row = ChunkRow(chunk.chunk_index, chunk.start, chunk.end, text, metadata, vector, sparse, 0)
    return row._replace(checksum=_chunk_checksum(chunk.document_id, row))


def _encode_sparse(vector: SparseVector) -> bytes:
    return vector.indices.astype(_TERM).tobytes() + vector.values.astype(_FLOAT).tobytes()


def _chunk_checksum(document_id: str, row: ChunkRow) -> int:
    head = repr((document_id, *row[:3], len(row.text), len(row.metadata))).encode()
    dense = crc32(row.vector or b"", crc32(row.metadata, crc32(row.text, crc32(head))))
    return crc32(row.sparse or b"", dense)


def _document_checksum(head: DocumentRow, rows: Sequence[ChunkRow], parents: Sequence[ChunkRow]) -> int:
    own = crc32(repr((*head[:3], [row.checksum for row in rows])).encode())
    if head.sparse_encoder is None and not parents:
        return own
    return crc32(repr((head.sparse_encoder, [parent.checksum for parent in parents])).encode(), own)


def decode_document(
    head: DocumentRow, rows: Sequence[ChunkRow], parents: Sequence[ChunkRow], dimensions: int | None
) -> StoredDocument:
    """Return the document of these rows, which are in order of `chunk_index`.

    Args:
        head: The document's row.
        rows: Its chunks' rows.
        parents: Its parents' rows.
        dimensions: What the vectors must have; `None` where there are none.

    Raises:
        ValueError: What is wrong, in a few words; nothing of the rows can be trusted.
    """
    for kind, some in (("chunk", rows), ("parent", parents)):
        for row in some:
            if _chunk_checksum(head.document_id, row) != row.checksum:
                raise ValueError(f"the checksum of {kind} {row.chunk_index} does not hold")
    if _document_checksum(head, rows, parents) != head.checksum:
        raise ValueError("the document's checksum does not hold")
    return StoredDocument(
        document_id=head.document_id,
        fingerprint=head.fingerprint,
        source=head.source,
        chunks=tuple(_decode_chunk(head.document_id, row) for row in rows),
        vectors=_decode_vectors(rows, dimensions),
        sparse=None if head.sparse_encoder is None else tuple(_decode_sparse(row) for row in rows),
        sparse_encoder=head.sparse_encoder,
        parents=tuple(_decode_chunk(head.document_id, row) for row in parents),
    )


def _decode_chunk(document_id: str, row: ChunkRow) -> TextChunk:
    metadata = metadata_from_json(row.metadata.decode())
    return TextChunk(row.text.decode(), document_id, row.chunk_index, row.start, row.end, metadata)


def _decode_sparse(row: ChunkRow) -> SparseVector:
    blob = row.sparse
    if blob is None or len(blob) % (2 * _FLOAT.itemsize):
        raise ValueError(f"the sparse vector of chunk {row.chunk_index} is missing or cut short")
    half = len(blob) // 2
    return SparseVector(np.frombuffer(blob[:half], dtype=_TERM), np.frombuffer(blob[half:], dtype=_FLOAT))


def _decode_vectors(rows: Sequence[ChunkRow], dimensions: int | None) -> Vectors | None:
    blobs = [row.vector for row in rows if row.vector is not None]
    if not blobs and dimensions is None:
        return None
    if dimensions is None or len(blobs) != len(rows) or any(len(blob) != 4 * dimensions for blob in blobs):
        raise ValueError(f"its vectors are not {len(rows)} of {dimensions} dimensions")
    flat = np.frombuffer(b"".join(blobs), dtype=_FLOAT).astype(np.float32)
    return flat.reshape(len(rows), dimensions)
