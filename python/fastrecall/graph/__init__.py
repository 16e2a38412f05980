"""The graph of tickets: typed edges, walks from seeds, breadth-first search."""

from fastrecall.graph.csr import Graph, Neighbours
from fastrecall.graph.edges import Edges, closing_edges, typed_edges
from fastrecall.graph.knn import similar_edges

__all__ = [
    "Edges",
    "Graph",
    "Neighbours",
    "closing_edges",
    "similar_edges",
    "typed_edges",
]
