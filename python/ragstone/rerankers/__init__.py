"""Rerankers: in the process with ONNX Runtime, or behind a service."""

from ragstone.rerankers.cohere import CohereReranker
from ragstone.rerankers.onnx import OnnxReranker

__all__ = ["CohereReranker", "OnnxReranker"]
