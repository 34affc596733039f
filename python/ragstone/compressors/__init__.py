"""Compressors: what of a chunk bears on a query, chosen sentence by sentence or told by a chat model."""

from ragstone.compressors.abstractive import AbstractiveCompressor
from ragstone.compressors.extractive import ExtractiveCompressor

__all__ = ["AbstractiveCompressor", "ExtractiveCompressor"]
