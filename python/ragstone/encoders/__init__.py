"""Models that encode texts: in the process with ONNX Runtime, or behind any OpenAI-compatible service."""

from ragstone.encoders.checked import embed_checked
from ragstone.encoders.onnx import OnnxEmbedder
from ragstone.encoders.openai import EmbeddingUsage, OpenAIEmbedder
from ragstone.encoders.splade import OnnxSpladeEncoder

__all__ = ["EmbeddingUsage", "OnnxEmbedder", "OnnxSpladeEncoder", "OpenAIEmbedder", "embed_checked"]
