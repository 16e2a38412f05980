"""Index-time descriptions: one call a chunk, cached, and a failure stops the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fake_llm import answer, error, fake_server

from fastrecall.corpus.code import CodeChunk
from fastrecall.errors import RemoteError
from fastrecall.search.describe import describe
from fastrecall.search.llm import ChatClient

CHUNKS = [
    CodeChunk("a.rs", "rust", ("fn a",), 1, 1, "fn a() {}"),
    CodeChunk("b.rs", "rust", ("fn b",), 1, 1, "fn b() {}"),
]


def test_each_chunk_is_described_once(tmp_path: Path) -> None:
    one = answer('{"summary": "Does\\n  one thing."}')
    with fake_server(one, answer('{"summary": "Does another."}')) as server:
        client = ChatClient("ollama:m", base_url=server.url, retries=0)
        first = describe(CHUNKS, client, cache=tmp_path, concurrency=1)
        again = describe(CHUNKS, client, cache=tmp_path)
        client.close()
    assert first == again == ["Does one thing.", "Does another."]
    assert len(server.bodies) == 2
    assert "fn a() {}" in server.bodies[0]["messages"][1]["content"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer("It does one thing."), "prose"),
        (answer('["one"]'), "prose"),
        (answer('{"summary": ""}'), "empty"),
        (error(401), "refused by server"),
    ],
)
def test_a_failure_names_the_chunk(tmp_path: Path, reply: object, reason: str) -> None:
    with fake_server(reply) as server:  # type: ignore[arg-type]
        client = ChatClient("ollama:m", base_url=server.url, retries=0)
        with pytest.raises(RemoteError, match=rf"describing a\.rs:1-1 failed: {reason}"):
            describe(CHUNKS[:1], client, cache=False)
        client.close()
