"""Keeping an index beyond the process: one directory, one SQLite file, one transaction a document."""

from ragstone.persistence.directory import IndexDirectory
from ragstone.persistence.files import IndexInfo

__all__ = ["IndexDirectory", "IndexInfo"]
