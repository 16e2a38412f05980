"""The edges that a graph is made of, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.types import EDGE_TYPES, Ids, Links, Scores

_NOTHING: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]] = MappingProxyType({})


@dataclass(frozen=True)
class Edges:
    """Typed edges with weights: four arrays, one place an edge; types index `EDGE_TYPES`."""

    sources: Ids
    targets: Ids
    types: npt.NDArray[np.uint8]
    weights: Scores

    def __len__(self) -> int:
        return len(self.sources)

    @classmethod
    def joined(cls, parts: Iterable[Edges]) -> Edges:
        """All edges of several sets, in order.

        >>> len(Edges.joined([typed_edges([0], [1], "reverts"), typed_edges([2], [0], "follows")]))
        2
        """
        parts = [typed_edges([], [], EDGE_TYPES[0]), *parts]
        return cls(
            np.concatenate([part.sources for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.types for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


def edge_type(name: str | int) -> int:
    """The number of an edge type, given by name or number.

    Raises:
        InputError: there is no such type.

    >>> edge_type("similar")
    1
    """
    if isinstance(name, str):
        if name in EDGE_TYPES:
            return EDGE_TYPES.index(name)
    elif isinstance(name, int | np.integer) and 0 <= name < len(EDGE_TYPES):
        return int(name)
    raise InputError(f"{name!r} is no edge type; expected one of {', '.join(EDGE_TYPES)}")


def typed_edges(sources: npt.ArrayLike, targets: npt.ArrayLike, type: str | int) -> Edges:
    """Edges of one type, each of weight 1.

    Args:
        sources: node ids [edges].
        targets: node ids [edges].
        type: a name of `EDGE_TYPES`, or its number.

    Raises:
        InputError: the lengths differ, ids are no whole numbers, or the type is unknown.

    >>> typed_edges([3, 4], [7, 7], "duplicate").types.tolist()
    [2, 2]
    """
    from_, to = _ids(sources, "sources"), _ids(targets, "targets")
    if len(from_) != len(to):
        raise InputError(
            f"sources has {len(from_)} entries and targets has {len(to)}; expected as many in each"
        )
    count = len(from_)
    return Edges(from_, to, np.full(count, edge_type(type), np.uint8), np.ones(count, np.float32))


def closing_edges(
    links: Links, *, others: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]] = _NOTHING
) -> Edges:
    """Edges issue → PR of type `closes`, and any other typed links beside them.

    Args:
        links: closing links; choose their sources before with `Links.of`.
        others: for each further type of `EDGE_TYPES` its (sources, targets), for example
            ``{"duplicate": (newer, older)}``.

    >>> links = Links(np.array([0], np.int32), np.array([5], np.int32), np.array([1], np.uint8))
    >>> edges = closing_edges(links, others={"mentions": ([5], [2])})
    >>> edges.sources.tolist(), edges.targets.tolist(), [EDGE_TYPES[t] for t in edges.types]
    ([0, 5], [5, 2], ['closes', 'mentions'])
    """
    parts = [typed_edges(links.issues, links.prs, "closes")]
    parts += [typed_edges(sources, targets, kind) for kind, (sources, targets) in others.items()]
    return Edges.joined(parts)


def _ids(given: npt.ArrayLike, name: str) -> Ids:
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} is {array.dtype} {array.shape}; expected whole numbers [edges]")
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        raise InputError(f"{name} has ids outside of 0 to {np.iinfo(np.int32).max}")
    return array.astype(np.int32)
