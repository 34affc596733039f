"""The typed face of the compiled core: text, lexical and vector search, ranking, tokens; each module usable alone."""
