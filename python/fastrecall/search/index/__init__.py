"""The index of a corpus on disk: built once, opened in milliseconds, searched as measured."""

from fastrecall.search.index.build import SERVED_LINKS, build_index, index_folder
from fastrecall.search.index.folder import Manifest, read_manifest
from fastrecall.search.index.opened import Index, open_index
from fastrecall.search.index.source import index_corpus

__all__ = [
    "SERVED_LINKS",
    "Index",
    "Manifest",
    "build_index",
    "index_corpus",
    "index_folder",
    "open_index",
    "read_manifest",
]
