"""Web searches, one file a service."""

from ragstone.web_search.tavily import TavilyWebSearch

__all__ = ["TavilyWebSearch"]
