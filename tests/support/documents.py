"""Small documents of every format, and the parts that ingestion tests are put together from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO

import docx

from ragstone.ingestion import Ingestor
from ragstone.models import DocumentMetadata, DocumentSection, ParsedDocument, StoredDocument, TextChunk
from ragstone.ports import DocumentJournal, Embedder
from ragstone.stores import InMemoryBm25Index, InMemoryVectorStore


def plain(text: str) -> ParsedDocument:
    """A document of one section."""
    return ParsedDocument(text=text, sections=(DocumentSection(start=0, end=len(text)),))


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text a page; an empty string makes a page without a text layer."""
    count = len(pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{4 + 2 * i} 0 R' for i in range(count))}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for index, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("cp1252") if text else b""
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
        objects.append(page.encode() + b"/Resources << /Font << /F1 3 0 R >> >> >>")
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    content = bytearray(b"%PDF-1.4\n")
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    content += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(content)


@contextmanager
def writing_docx() -> Iterator[tuple[docx.document.Document, BytesIO]]:
    """An empty Word document to fill, and the file that it is saved to on leaving."""
    document, file = docx.Document(), BytesIO()
    yield document, file
    document.save(file)


class MemoryJournal:
    """A journal in memory that can be told to fail."""

    def __init__(self, *, fail: Exception | None = None) -> None:
        self.documents: dict[str, StoredDocument] = {}
        self.fail = fail

    def fingerprint(self, document_id: str) -> str | None:
        document = self.documents.get(document_id)
        return None if document is None else document.fingerprint

    def put(self, document: StoredDocument) -> None:
        if self.fail is not None:
            raise self.fail
        self.documents[document.document_id] = document

    def delete(self, document_id: str) -> bool:
        return self.documents.pop(document_id, None) is not None


class Shelf:
    """An ingestor over the real in-memory store and keyword index, and what they hold."""

    def __init__(
        self,
        embedder: Embedder | None = None,
        *,
        store: InMemoryVectorStore | None = None,
        index: InMemoryBm25Index | None = None,
        journal: DocumentJournal | None = None,
        **parts: object,
    ) -> None:
        self.store = InMemoryVectorStore() if store is None else store
        self.index = InMemoryBm25Index() if index is None else index
        self.ingestor = Ingestor(
            store=None if embedder is None else self.store,
            keyword_index=self.index,
            embedder=embedder,
            journal=journal,
            **parts,  # type: ignore[arg-type]
        )

    def texts(self, document_id: str) -> list[str]:
        """The document's chunks; the vector store and the keyword index must agree on them."""
        dense, keyword = texts(self.store.chunks(document_id)), texts(self.index.chunks(document_id))
        assert dense == keyword
        return keyword

    @property
    def is_empty(self) -> bool:
        return len(self.store) == 0 and len(self.index) == 0


def texts(chunks: Sequence[TextChunk]) -> list[str]:
    return [chunk.text for chunk in sorted(chunks, key=lambda chunk: chunk.chunk_index)]


def about(document_id: str, **fields: object) -> DocumentMetadata:
    return DocumentMetadata(document_id=document_id, **fields)  # type: ignore[arg-type]
