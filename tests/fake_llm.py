"""A server that speaks the OpenAI chat API on loopback, and misbehaves as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import serving


@dataclass(frozen=True)
class Reply:
    """One HTTP reply; ``delay`` seconds before it, ``drip`` seconds between its bytes."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    hang_up: bool = False


def answer(content: object, *, ended: str = "stop", **message: object) -> Reply:
    """A well-formed chat completion."""
    choice = {"message": {"role": "assistant", "content": content, **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    reply = {"choices": [choice | {"finish_reason": ended}], "usage": usage}
    return Reply(json.dumps(reply).encode())


def error(status: int, text: str = "no", **headers: str) -> Reply:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": text}}).encode(), status, names)


@dataclass
class FakeServer:
    """Gives ``replies`` in order, the last one for ever; keeps what it was asked."""

    url: str
    replies: list[Reply]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    busiest: int = 0
    _busy: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_reply(self) -> Reply:
        with self._lock:
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    @contextmanager
    def working(self) -> Iterator[None]:
        with self._lock:
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1


@contextmanager
def fake_server(*replies: Reply) -> Iterator[FakeServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            state.bodies.append(json.loads(self.rfile.read(length)))
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            state.paths.append(self.path)
            reply = state.next_reply()
            with state.working():  # over before the client can know of its answer
                time.sleep(reply.delay)
            self._send(reply)

        def _send(self, reply: Reply) -> None:
            self.close_connection = True
            if reply.hang_up:
                return
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.send_header("Connection", "close")
                self.end_headers()
                step = 8 if reply.drip else max(1, len(reply.body))
                for start in range(0, len(reply.body), step):
                    self.wfile.write(reply.body[start : start + step])
                    self.wfile.flush()
                    time.sleep(reply.drip)
            except OSError:  # the client gave up, as it should
                pass

        def log_message(self, *_args: object) -> None:
            pass

    with serving(Handler) as url:
        state = FakeServer(f"{url}/v1", list(replies))
        yield state
