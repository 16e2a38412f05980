"""Hosts of their own network: namespaces on one switch, each with a Ray node.

They share the file system, as machines with shared storage do, and nothing else: a host that is
pulled from the switch and killed is lost as a machine is lost. Needs root and `ip`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

from tests.children import environment

PORT = 6379
_STORE = 150 << 20


def possible() -> bool:
    """Whether network namespaces can be made here."""
    if shutil.which("ip") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    name = f"fr-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if made.returncode == 0:
        _ip("netns", "delete", name)
    return made.returncode == 0


class Hosts:
    """A head without CPUs of its own, and *workers* hosts of one CPU each.

    The driver runs on the head (`run`), which is then all that passes through its network card.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._prefix = f"fr-{os.getpid()}"
        self._switch = f"{self._prefix}-switch"
        self._temporary = tempfile.mkdtemp(prefix="fr-", dir="/tmp")  # paths of sockets are short
        self._token = secrets.token_hex(32)
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        return f"{_address(0)}:{PORT}"

    def __enter__(self) -> Hosts:
        try:
            _ip("netns", "add", self._switch)
            _ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
            _ip("-n", self._switch, "link", "set", "bridge", "up")
            for host in range(self.workers + 1):
                self._plug_in(host)
            self._start(
                0,
                *("--head", f"--port={PORT}", f"--temp-dir={self._temporary}"),
                "--include-dashboard=false",
                cpus=0,
            )
            self._wait_for_head()
            for host in range(1, self.workers + 1):
                self._join(host)
            self._wait_for_workers()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for host in reversed(range(self.workers + 1)):
            self.lose(host)
            _ip("netns", "delete", self._name(host), check=False)
        _ip("netns", "delete", self._switch, check=False)
        shutil.rmtree(self._temporary, ignore_errors=True)

    def popen(self, host: int, *command: str) -> subprocess.Popen[bytes]:
        """A process on a host."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self._name(host), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **environment(),
                "RAY_USAGE_STATS_ENABLED": "0",
                "RAY_AUTH_MODE": "token",
                "RAY_AUTH_TOKEN": self._token,
            },
        )

    def lose(self, host: int) -> None:
        """Pull the plug: first of the network, then of the machine."""
        _ip("-n", self._switch, "link", "set", _port(host), "down", check=False)
        listed = _ip("netns", "pids", self._name(host), check=False)
        for process in listed.split():
            subprocess.run(["kill", "-KILL", process], capture_output=True, check=False)
        if host in self._nodes:
            self._nodes.pop(host).communicate()

    def bytes_through(self, host: int) -> int:
        """Bytes in and out of a host's network card so far."""
        folder = f"/sys/class/net/{_port(host)}/statistics"
        shown = subprocess.run(
            ["ip", "netns", "exec", self._switch, "sh", "-c", f"cat {folder}/[rt]x_bytes"],
            capture_output=True,
            check=True,
        )
        return sum(map(int, shown.stdout.split()))

    def _name(self, host: int) -> str:
        return f"{self._prefix}-{host}"

    def _plug_in(self, host: int) -> None:
        name = self._name(host)
        _ip("netns", "add", name)
        _ip("-n", name, "link", "set", "lo", "up")
        _ip(
            *("-n", self._switch, "link", "add", _port(host), "type", "veth"),
            *("peer", "name", "eth0", "netns", name),
        )
        _ip("-n", self._switch, "link", "set", _port(host), "master", "bridge", "up")
        _ip("-n", name, "address", "add", f"{_address(host)}/24", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")
        _ip("-n", name, "route", "add", "default", "via", _address(self.workers + 1))

    def _join(self, host: int) -> None:
        self._start(host, f"--address={self.address}", cpus=1)

    def _start(self, host: int, *options: str, cpus: int) -> None:
        self._nodes[host] = self.popen(
            host,
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block"),
            *(f"--node-ip-address={_address(host)}", f"--num-cpus={cpus}"),
            f"--object-store-memory={_STORE}",
            *options,
        )

    def _wait_for_workers(self) -> None:
        """Until all are there; Ray gives up in seconds when the machine is busy, so ask again."""
        program = (
            "import ray, sys, time\n"
            "while not ray.is_initialized():\n"
            "    try: ray.init(address=sys.argv[1], log_to_driver=False)\n"
            "    except ConnectionError: time.sleep(0.5)\n"
            "while ray.cluster_resources().get('CPU', 0) < int(sys.argv[2]): time.sleep(0.5)\n"
        )
        wait = self.popen(0, sys.executable, "-c", program, self.address, str(self.workers))
        deadline = time.monotonic() + 180
        while wait.poll() is None:
            for host, node in list(self._nodes.items()):
                if host and node.poll() is not None:
                    node.communicate()
                    self._join(host)
            if time.monotonic() > deadline:
                wait.kill()
                break
            time.sleep(0.5)
        talk = wait.communicate()[1].decode()
        if wait.returncode:
            raise RuntimeError(f"Ray's nodes did not come: {talk}")

    def _wait_for_head(self) -> None:
        program = (
            "import socket, sys, time\n"
            "for _ in range(600):\n"
            "    try: socket.create_connection((sys.argv[1], int(sys.argv[2])), 1).close(); break\n"
            "    except OSError: time.sleep(0.2)\n"
            "else: sys.exit(1)\n"
        )
        process = self.popen(0, sys.executable, "-c", program, _address(0), str(PORT))
        process.communicate(timeout=150)
        if process.returncode:
            node = self._nodes[0]
            node.kill()
            raise RuntimeError(f"Ray's head did not start: {node.communicate()[1].decode()}")


def _address(host: int) -> str:
    return f"10.77.0.{host + 1}"


def _port(host: int) -> str:
    return f"port{host}"


def _ip(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
