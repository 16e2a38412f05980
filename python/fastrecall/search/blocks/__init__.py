"""Search in more than fits in memory: block after block, with the results of one big index."""

from fastrecall.search.blocks.bm25 import BlockedBM25
from fastrecall.search.blocks.exact import BlockedIndex
from fastrecall.search.blocks.hnsw import add_vectors
from fastrecall.search.blocks.sources import ArraySource

__all__ = ["ArraySource", "BlockedBM25", "BlockedIndex", "add_vectors"]
