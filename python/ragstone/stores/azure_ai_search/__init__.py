"""Azure AI Search as a vector store."""

from ragstone.stores.azure_ai_search.store import AzureAISearchStore

__all__ = ["AzureAISearchStore"]
