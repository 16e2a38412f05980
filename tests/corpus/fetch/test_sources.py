"""Files of gh, whole organisations, and the command line over them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.corpus.fetch.conftest import Fetch
from tests.corpus.fetch.fake_github import FakeGitHub, Repo, sample

from fastrecall.cli import app
from fastrecall.corpus import load_corpus
from fastrecall.corpus.demo import demo_records
from fastrecall.corpus.fetch import GitHub, check_repository, import_gh, list_repositories
from fastrecall.errors import CorpusError, InputError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            app.main([str(arg) for arg in args])
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return call


@pytest.fixture
def dumps(tmp_path: Path) -> tuple[Path, Path]:
    """The demo as two files of gh: PRs, issues."""
    issues, prs = demo_records()
    paths = tmp_path / "prs.json", tmp_path / "issues.json"
    for path, records in zip(paths, (prs, issues), strict=True):
        path.write_text(json.dumps(records), encoding="utf-8")
    return paths


# Files of gh.


def test_files_of_gh_become_a_corpus_by_name(dumps: tuple[Path, Path], said: list[str]) -> None:
    manifest, _ = import_gh(*dumps, say=said.append)
    assert manifest.repository == "demo/lattice"
    assert manifest.counts == {"issues": 460, "prs": 740}
    stored, demo = load_corpus("demo/lattice"), load_corpus("demo")
    assert stored.tickets == demo.tickets
    assert said == []


def test_a_count_that_equals_a_limit_is_pointed_out(
    dumps: tuple[Path, Path], said: list[str]
) -> None:
    prs, issues = dumps
    records = json.loads(prs.read_text(encoding="utf-8"))
    prs.write_text(json.dumps(records[:500]), encoding="utf-8")
    manifest, _ = import_gh(prs, issues, say=said.append)
    assert "as if `--limit 500` had cut it" in said[0]
    assert manifest.notes == tuple(said)


def test_files_without_addresses_need_a_name(tmp_path: Path, said: list[str]) -> None:
    prs, issues = tmp_path / "prs.json", tmp_path / "issues.json"
    prs.write_text("[]", encoding="utf-8")
    issues.write_text('[{"number": 1, "createdAt": "2024-01-01", "title": "A"}]', encoding="utf-8")
    with pytest.raises(InputError, match="fastrecall fetch OWNER/NAME --from-gh"):
        import_gh(prs, issues, say=said.append)
    import_gh(prs, issues, name="a/b", say=said.append)
    assert load_corpus("a/b").repos == ("a/b",)


def test_files_of_another_repository_are_refused(dumps: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="the files are of demo/lattice, not of a/b"):
        import_gh(*dumps, name="a/b")


def test_a_fetch_after_an_import_brings_everything(
    server: FakeGitHub, fetch: Fetch, dumps: tuple[Path, Path]
) -> None:
    import_gh(*dumps)
    server.repos = [sample()]
    fetch()
    # The server's own folder stands beside the imported one; github.com wins by name.
    assert len(load_corpus("demo/lattice", author_filter=None)) == 1200


# Organisations.


def test_the_repositories_of_an_owner_are_listed(server: FakeGitHub, github: GitHub) -> None:
    server.repos = [sample(f"org/r{n:03}", issues=n % 2, prs=0) for n in range(150)]
    server.repos.append(sample("other/one"))
    owned = list_repositories("org", github=github)
    assert [one.name for one in owned] == [f"org/r{n:03}" for n in range(150)]
    assert owned[1].issues == 1
    assert github.requests == 2
    with pytest.raises(CorpusError, match="knows no such user or organisation"):
        list_repositories("nobody", github=github)


def test_the_command_fetches_an_organisation(server: FakeGitHub, run: Run) -> None:
    server.repos = [sample("org/one"), sample("org/two"), Repo("org/empty")]
    code, out, err = run("fetch", "--org", "org", "--api-url", server.api_url)
    assert code == 0
    assert [line.split(":")[0] for line in out.splitlines()] == ["org/one", "org/two"]
    assert "org: 2 of 3 repositories have issues or PRs" in err
    assert len(load_corpus("org/*", author_filter=None)) == 200
    assert server.busiest == 1


# The command line.


def test_the_command_prints_what_is_stored(server: FakeGitHub, run: Run) -> None:
    server.repos = [sample()]
    code, out, err = run("fetch", "demo/lattice", "--api-url", server.api_url, "--json")
    assert code == 0
    (row,) = json.loads(out)
    assert (row["repository"], row["issues"], row["prs"]) == ("demo/lattice", 30, 70)
    assert Path(row["file"]).is_file()
    assert "100 new or changed, 0 removed, 2 requests" in err


def test_eval_takes_the_name_of_what_was_fetched(dumps: tuple[Path, Path], run: Run) -> None:
    assert run("fetch", "--from-gh", *dumps)[0] == 0
    code, out, _ = run("gold", "demo/lattice")
    assert code == 0
    assert len(out.splitlines()) == 1 + 293


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["a/b", "--org", "c"],
        ["--org", "c", "--git", "."],
        ["a/b", "c/d", "--git", "."],
        ["--git", ".", "--commits"],
        ["ydb"],
        ["../x"],
        ["a/b", "--api-url", "http://git.corp"],
        ["a/b", "--api-url", "https://[bad"],
        ["http://[bad/a/b"],
        ["https://gitlab.com/a/b"],
        ["--from-gh", "no.json", "no.json"],
    ],
)
def test_bad_input_ends_with_2_and_a_sentence(run: Run, args: list[str]) -> None:
    code, out, err = run("fetch", *args)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1


def test_no_token_ends_with_2_before_anything_is_asked(
    server: FakeGitHub, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    monkeypatch.setenv("PATH", "")
    code, _, err = run("fetch", "a/b", "--api-url", server.api_url)
    assert code == 2
    assert "set GITHUB_TOKEN" in err
    assert server.requests == []


@pytest.mark.parametrize(
    "given",
    ["a/b", "https://github.com/a/b", "https://github.com/a/b.git", "https://github.com/a/b/"],
)
def test_a_repository_may_be_given_by_its_address(given: str) -> None:
    assert check_repository(given) == "a/b"


@pytest.mark.parametrize("given", ["a", "a/", "/b", "a/..", "a/.", "-a/b", "a/b/c", "a b/c", ""])
def test_what_cannot_be_a_repository_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="expected OWNER/NAME"):
        check_repository(given)
