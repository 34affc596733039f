"""The stages of retrieval, one file each: `async (query, search) -> Candidates`."""
