"""A Ray cluster of two nodes with a CPU each, all on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

NODE = {"num_cpus": 1, "object_store_memory": 150 << 20, "memory": 1 << 30}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """The cluster; a test that takes a node away adds it first."""
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    cluster = _started()
    try:
        cluster.add_node(**NODE)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()


def _started(tries: int = 3) -> Any:
    """The head: Ray gives it thirty seconds, which are too few when the machine is busy."""
    from ray.cluster_utils import Cluster

    try:
        return Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    except Exception:
        if tries == 1:
            raise
        return _started(tries - 1)
