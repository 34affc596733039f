BEGIN TRANSACTION;
CREATE TABLE chunks (
    document     INTEGER NOT NULL REFERENCES documents (number) ON DELETE CASCADE,
    chunk_index  INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset   INTEGER NOT NULL,
    text         TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    vector       BLOB,
    checksum     INTEGER NOT NULL,
    PRIMARY KEY (document, chunk_index)
);
INSERT INTO "chunks" VALUES(1,0,0,23,'Paid leave is 16 weeks.','{"lang":"en","year":2026}',X'0000803F0000004000004040',925556399);
INSERT INTO "chunks" VALUES(1,1,24,41,'Ask your manager.','{}',X'000080400000A0400000C040',561890041);
INSERT INTO "chunks" VALUES(2,0,0,20,'The quick brown fox.','{}',X'0000E0400000004100001041',2434929290);
CREATE TABLE documents (
    number      INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    source      TEXT,
    checksum    INTEGER NOT NULL
);
INSERT INTO "documents" VALUES(1,'leave','f1','leave.md',2221040834);
INSERT INTO "documents" VALUES(2,'fox','f2',NULL,1566542895);
CREATE TABLE rag_metadata (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO "rag_metadata" VALUES('format_version','1');
INSERT INTO "rag_metadata" VALUES('analyzer','words+cjk-bigrams/1; nfkc 18.0.0; categories 18.0.0; lower 17.0.0');
INSERT INTO "rag_metadata" VALUES('embedder_identity','some/model@1');
INSERT INTO "rag_metadata" VALUES('embedder_dimensions','3');
INSERT INTO "rag_metadata" VALUES('generation','2');
COMMIT;
