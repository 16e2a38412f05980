"""Executors by name, and what is told when one cannot be had."""

from __future__ import annotations

import socket
import sys
import time
from http.server import BaseHTTPRequestHandler

import pytest
from tests.loopback import serving

from fastrecall.errors import InputError, MissingExtraError, RemoteError
from fastrecall.execution import LocalExecutor, executor_named


def test_local_is_this_process() -> None:
    with executor_named("local", threads=3) as executor:
        assert isinstance(executor, LocalExecutor)
        assert list(executor.map(lambda shared, task, threads: threads, "a", shared=0)) == [3]


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("spark", {}, "executor is 'spark'; expected one of: local, ray"),
        ("local", {"address": "head:6379"}, "add --executor ray"),
        ("local", {"threads": 0}, "threads is 0"),
        ("ray", {"threads": 0}, "threads is 0"),
    ],
)
def test_what_cannot_be_is_refused(name: str, options: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        executor_named(name, **options)  # type: ignore[arg-type]


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fastrecall\[ray\]'"):
        executor_named("ray")


@pytest.mark.parametrize("address", ["head", "head:", ":6379", "ray://head", "head:http"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(InputError, match=r"expected host:port, ray://host:port, auto or local"):
        executor_named("ray", address=address)


def test_nobody_at_the_address_is_told_at_once() -> None:
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(RemoteError, match=f"no Ray cluster answers at 127.0.0.1:{port}: .*refused"):
        executor_named("ray", address=f"127.0.0.1:{port}")
    assert time.monotonic() - start < 10


class _Web(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_another_kind_of_server_is_told_at_once() -> None:
    pytest.importorskip("ray")
    start = time.monotonic()
    with serving(_Web) as url, pytest.raises(RemoteError, match="another kind of server"):
        executor_named("ray", address=url.removeprefix("http://"))
    assert time.monotonic() - start < 10
