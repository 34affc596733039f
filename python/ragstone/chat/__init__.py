"""Chat models, behind any OpenAI-compatible service."""

from ragstone.chat.openai import OpenAIChat

__all__ = ["OpenAIChat"]
