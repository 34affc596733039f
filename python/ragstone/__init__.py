"""Ragstone: the retrieval layer of RAG services."""
