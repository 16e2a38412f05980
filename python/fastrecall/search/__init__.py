"""Finding: exact and approximate vector search, lexical search, and how rankings are combined."""
