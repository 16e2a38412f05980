"""A published run is repeated from dumps and pairs, and every difference gets a reason."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from fastrecall.cli import app
from fastrecall.corpus import find_links, gold_from_links, load_corpus, read_gold, write_gold
from fastrecall.corpus.demo import demo_records
from fastrecall.errors import CorpusError
from fastrecall.study.reproduce import published_runs, reproduce, window_of_the_time

YDB = published_runs()["ydb"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("FASTRECALL_DATA", str(tmp_path / "data"))

    def call(*args: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            app.main(["reproduce", "ydb", *map(str, args)])
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return call


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The demo as dumps of gh, and its pairs as the article publishes them."""
    issues, prs = demo_records()
    paths = {name: tmp_path / f"{name}.json" for name in ("prs", "issues")}
    paths["prs"].write_text(json.dumps(prs), encoding="utf-8")
    paths["issues"].write_text(json.dumps(issues), encoding="utf-8")
    corpus = load_corpus("demo")
    paths["gold"] = tmp_path / "gold.csv"
    write_gold(paths["gold"], gold_from_links(corpus, find_links(corpus), ["published"]))
    return paths


def options(files: dict[str, Path]) -> list[object]:
    return [part for name, path in files.items() for part in (f"--{name}", path)]


def test_the_whole_run_works_from_files(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    out_file = tmp_path / "record.json"
    code, out, err = run(*options(files), "--model", "fake", "--no-cache", "--out", out_file)
    assert code == 0, err
    text = " ".join(out.split())
    assert "293 of 293 published pairs asked" in text
    assert "semantic: published 94/293 = 32.1 % [27.0–37.6]" in text
    assert "causal: published 277/293 = 94.5 % [91.3–96.6]" in text
    assert "the model is fake; published: Xenova/paraphrase-multilingual-MiniLM-L12-v2" in text
    assert "published there were 10,285 and 37,067" in text
    assert "own issue removed" in text
    record = json.loads(out_file.read_text(encoding="utf-8"))
    assert record["protocols"]["published"]["pairs"] == 293


def test_the_json_holds_both_sides(run: Run, files: dict[str, Path]) -> None:
    code, out, _ = run(*options(files), "--model", "fake", "--no-cache", "--json")
    assert code == 0
    document = json.loads(out)
    semantic, causal = document["rows"]
    assert semantic["published"]["wilson95"] == pytest.approx([0.269986, 0.376290], abs=1e-6)
    assert causal["published"]["wilson95"] == pytest.approx([0.913146, 0.966111], abs=1e-6)
    assert set(causal["measured"]["causal"]) == {"published", "leave-one-out"}
    assert set(semantic["measured"]) == {"semantic", "semantic_similar", "semantic_similar_uncut"}


def test_pairs_whose_tickets_are_gone_are_counted(files: dict[str, Path]) -> None:
    corpus = load_corpus(
        prs=files["prs"], issues=files["issues"], window_prs=None, author_filter=None, name="a/b"
    )
    rows = read_gold(files["gold"])
    gone = [row._replace(pr=90_000 + place) for place, row in enumerate(rows[:3])]
    gone += [rows[3]._replace(issue=99_999)]
    document, _ = reproduce(corpus, [*gone, *rows[4:]], YDB, model="fake", cache=False)
    assert document["asked"] == 290
    text = "\n".join(document["reasons"])
    assert "3 pairs could not be asked" in text
    assert "1 pairs ask in the name of an issue" in text


def test_what_is_younger_than_the_pairs_is_put_aside(files: dict[str, Path]) -> None:
    corpus = load_corpus("demo", author_filter=None)
    rows = [row for row in read_gold(files["gold"]) if row.pr < 600]
    newest = max(row.pr for row in rows)
    window = window_of_the_time(corpus, rows, YDB)
    assert max(ticket.number for ticket in window.tickets) == newest
    assert not any(ticket.author in ("dependabot", "renovate") for ticket in window.tickets)
    assert f"{1200 - newest} tickets younger than every published pair" in window.notes[-1]


def test_files_of_another_repository_are_told(files: dict[str, Path]) -> None:
    corpus = load_corpus("demo", author_filter=None)
    rows = [
        row._replace(issue=row.issue + 10**6, pr=row.pr + 10**6) for row in read_gold(files["gold"])
    ]
    with pytest.raises(CorpusError, match="are these files of ydb-platform/ydb"):
        window_of_the_time(corpus, rows, YDB)


@pytest.fixture
def address(files: dict[str, Path]) -> Iterator[str]:
    """The pairs on a web server, which serves them once."""
    served = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/raw" and not served:
                served.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(files["gold"].read_bytes())
            elif self.path == "/raw/page":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html>please log in</html>")
            else:
                self.send_error(404)

        def log_message(self, *_args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/raw"
    server.shutdown()
    server.server_close()
    thread.join()


def test_pairs_come_from_an_address_and_are_kept(
    run: Run, files: dict[str, Path], address: str
) -> None:
    dumps = ["--prs", files["prs"], "--issues", files["issues"], "--model", "fake", "--no-cache"]
    for _ in range(2):
        code, _, err = run(*dumps, "--gold", address)
        assert code == 0, err
    code, _, err = run(*dumps, "--gold", f"{address}/other")
    assert code == 2
    assert "give a copy with --gold FILE" in err


def test_an_answer_that_is_no_list_of_pairs_is_told_and_not_kept(
    run: Run, address: str, tmp_path: Path
) -> None:
    code, out, err = run("--model", "fake", "--gold", f"{address}/page")
    assert (code, out) == (2, "")
    assert f"what {address}/page answered is no list of pairs" in err
    assert list((tmp_path / "data" / "gold").iterdir()) == []


def test_everything_from_a_server(
    run: Run, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.corpus.fetch.fake_github import TOKEN, Repo, fake_github

    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    repo = Repo("ydb-platform/ydb")
    repo.add("issue", title="Crash at start")
    repo.add("pr", body="Fixes #1")
    repo.add("pr", title="Something else")
    files["gold"].write_text("issue,pr,query,pr_title\n1,2,Crash at start,Ticket 2\n")
    with fake_github(repo) as server:
        code, out, err = run(
            "--api-url", server.api_url, "--gold", files["gold"], "--model", "fake", "--no-cache"
        )
    assert code == 0, err
    assert "1 of 293 published pairs asked" in " ".join(out.split())


@pytest.mark.parametrize(
    "args",
    [
        ["--prs", "x.json"],
        ["--model", "no/such-model"],
        ["--gold", "nothing.csv", "--model", "fake"],
        ["--gold", "http://127.0.0.1:port/", "--model", "fake"],
        ["--gold", "https://..", "--model", "fake"],
    ],
)
def test_bad_input_fails_at_once_with_a_sentence(run: Run, args: list[str]) -> None:
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert "error:" in err


def test_an_unknown_run_is_told() -> None:
    with pytest.raises(SystemExit) as caught:
        app.main(["reproduce", "yddb"])
    assert caught.value.code == 2
