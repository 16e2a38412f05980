"""Vectors in folders of many files, larger than memory: written, resumed, read, checked."""

from fastrecall.dataset.reading import VectorDataset
from fastrecall.dataset.storage import Storage
from fastrecall.dataset.writer import VectorWriter

__all__ = ["Storage", "VectorDataset", "VectorWriter"]
