"""A Ray cluster of two nodes with a CPU each, all on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

NODE = {"num_cpus": 1, "object_store_memory": 150 << 20, "memory": 1 << 30}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """The cluster; a test that takes a node away adds it first."""
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine is slow
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    try:
        cluster.add_node(**NODE)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()
