"""What a document was made of, in one hash: equal fingerprints need no second ingestion."""

from __future__ import annotations

from hashlib import sha256

from ragstone.ingestion.steps import SourceDocument
from ragstone.metadata import metadata_to_json

__all__ = ["fingerprint"]


def fingerprint(source: SourceDocument, *, parser: str, chunker: str, embedder: str | None) -> str:
    """Return the SHA-256, in hex, of a document's content and of everything that shapes its chunks and vectors.

    Args:
        source: The document.
        parser: The identity of the parser that reads it.
        chunker: The identity of the chunker.
        embedder: The identity of the embedder, `None` without one.
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
    )
    digest = sha256()
    for part in (*(field.encode() for field in fields), content):
        # Lengths keep apart what a mere concatenation would mix up.
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
