"""The C++ engine. Everything here takes and returns numpy arrays; see `fastrecall.search` and
`fastrecall.graph` for the documented faces."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_I32 = npt.NDArray[np.int32]
_I64 = npt.NDArray[np.int64]
_F32 = npt.NDArray[np.float32]
_U8 = npt.NDArray[np.uint8]

__version__: str

def isa() -> str: ...
def available_isas() -> list[str]: ...
def compiled_isas() -> list[str]: ...
def build_info() -> dict[str, str]: ...

class ExactIndex:
    def __init__(
        self, vectors: npt.ArrayLike, *, storage: str = ..., threads: int = ...
    ) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def storage(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        exclude_offsets: _I64 | None = ...,
        exclude_ids: _I32 | None = ...,
        mask: npt.NDArray[np.bool_] | None = ...,
        threads: int = ...,
    ) -> tuple[_I32, _F32]: ...
    def knn_graph(self, k: int, *, threads: int = ...) -> tuple[_I32, _F32]: ...

def fuse(
    rankings: list[npt.NDArray[np.integer]], weights: list[float], *, k: float, threads: int = ...
) -> tuple[_I32, _F32, int]: ...

class Postings:
    def __init__(
        self,
        offsets: _I64,
        nodes: _I32,
        counts: _F32,
        lengths: _I64,
        weights: npt.NDArray[np.float64],
        *,
        k1: float,
        b: float,
    ) -> None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def terms(self) -> int: ...
    def search(
        self,
        offsets: _I64,
        terms: _I32,
        times: _I32,
        k: int,
        *,
        exclude_offsets: _I64 | None = ...,
        exclude_ids: _I32 | None = ...,
        visible: npt.NDArray[np.bool_] | None = ...,
        mask: npt.NDArray[np.bool_] | None = ...,
        collection: tuple[_I64, _I64, _I64] | None = ...,
        threads: int = ...,
    ) -> tuple[_I32, _F32]: ...
    def count(
        self,
        offsets: _I64,
        terms: _I32,
        *,
        exclude_offsets: _I64 | None = ...,
        exclude_ids: _I32 | None = ...,
        visible: npt.NDArray[np.bool_] | None = ...,
        threads: int = ...,
    ) -> tuple[_I64, _I64, _I64]: ...
    def scores(
        self,
        terms: _I32,
        times: _I32,
        *,
        exclude_ids: _I32 | None = ...,
        visible: npt.NDArray[np.bool_] | None = ...,
        collection: tuple[_I64, _I64, _I64] | None = ...,
    ) -> npt.NDArray[np.float64]: ...

class Graph:
    def __init__(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        *,
        types: npt.NDArray[np.integer] | None = ...,
        weights: npt.ArrayLike | None = ...,
        nodes: int | None = ...,
    ) -> None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def walk(
        self,
        seeds: npt.ArrayLike,
        *,
        depth: int,
        budget: int | None,
        order: str,
        types: int = ...,
        undirected: bool = ...,
        exclude_offsets: _I64 | None = ...,
        exclude_ids: _I32 | None = ...,
        threads: int = ...,
    ) -> tuple[_I32, _I32]: ...
    def bfs(self, source: int, *, types: int = ..., undirected: bool = ...) -> _I32: ...
    def neighbours(self, node: int, *, backwards: bool = ...) -> tuple[_I32, _U8, _F32]: ...

class HNSW:
    def __init__(
        self, dim: int, *, m: int, ef_construction: int, storage: str, seed: int
    ) -> None: ...
    @staticmethod
    def load(file: _U8, *, name: str, threads: int = ...) -> HNSW: ...
    @property
    def size(self) -> int: ...
    @property
    def deleted(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def ef_construction(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def storage(self) -> str: ...
    @property
    def counters(self) -> tuple[int, int, int]: ...
    @property
    def ids(self) -> _I32: ...
    def add(
        self, vectors: npt.ArrayLike, *, ids: npt.ArrayLike | None = ..., threads: int = ...
    ) -> None: ...
    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        ef: npt.ArrayLike,
        mask: npt.NDArray[np.bool_] | None = ...,
        threads: int = ...,
    ) -> tuple[_I32, _F32]: ...
    def remove(self, ids: npt.ArrayLike) -> None: ...
    def compact(self, *, threads: int = ...) -> None: ...
    def save(self, write: Callable[[Any], object]) -> None: ...
