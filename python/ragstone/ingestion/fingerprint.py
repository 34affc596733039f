"""What a document was made of, in one hash: equal fingerprints need no second ingestion."""

from __future__ import annotations

from hashlib import sha256

from ragstone.ingestion.steps import SourceDocument
from ragstone.metadata import metadata_to_json

__all__ = ["fingerprint"]


def fingerprint(
    source: SourceDocument,
    *,
    parser: str,
    chunker: str,
    embedder: str | None,
    parents: str | None = None,
    sparse_encoder: str | None = None,
) -> str:
    """Return the SHA-256, in hex, of a document's content and of everything that shapes its chunks and vectors.

    Args:
        source: The document.
        parser: The identity of the parser that reads it.
        chunker: The identity of the chunker.
        embedder: The identity of the embedder, `None` without one.
        parents: The identity of the chunker that cuts the parents, `None` without parents.
        sparse_encoder: The identity of the sparse encoder, `None` where the chunks have no sparse vectors.
    """
    metadata = source.metadata
    content = source.content if isinstance(source.content, bytes) else source.content.encode("utf-8", "surrogatepass")
    fields = (
        parser,
        chunker,
        "" if embedder is None else f"embedder={embedder}",
        source.content_type,
        metadata_to_json({key: value for key, value in sorted(metadata.tags.items()) if value is not None}),
        "" if metadata.created_at is None else metadata.created_at.isoformat(),
        "" if metadata.updated_at is None else metadata.updated_at.isoformat(),
        type(source.content).__name__,
        *(() if parents is None else (f"parents={parents}",)),
        *(() if sparse_encoder is None else (f"sparse_encoder={sparse_encoder}",)),
    )
    digest = sha256()
    for part in (*(field.encode() for field in fields), content):
        # Lengths keep apart what a mere concatenation would mix up.
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
