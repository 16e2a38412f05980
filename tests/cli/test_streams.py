"""Standard streams that are closed, full or left early: data stays apart, exit codes stay true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.children import environment
from tests.cli.conftest import Run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a shell of POSIX")


def shell(line: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which ``$fastrecall`` is the command."""
    return subprocess.run(
        ["/bin/sh", "-c", line],
        env=environment(
            fastrecall=f"{sys.executable} -m fastrecall", XDG_CONFIG_HOME=str(tmp_path), **variables
        ),
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )


@pytest.fixture
def gold(folder: Path) -> str:
    """A command that writes a file and says so."""
    return f"$fastrecall gold {folder} --out pairs.csv"


@pytest.mark.parametrize("listener", ["2>&-", "2>/dev/full", "2>&1 >/dev/null | true"])
def test_where_nobody_can_listen_the_work_is_done_all_the_same(
    gold: str, listener: str, tmp_path: Path
) -> None:
    done = shell(f"( {gold}; echo $? >code ) {listener}", tmp_path)
    assert (tmp_path / "code").read_text() == "0\n"
    assert (tmp_path / "pairs.csv").read_text().startswith("issue,pr,")
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", ["gold nowhere", "nonsense", "gold --links x"])
@pytest.mark.parametrize("listener", ["2>&-", "2>/dev/full"])
def test_bad_input_is_exit_code_2_even_when_it_cannot_be_told(
    arguments: str, listener: str, tmp_path: Path
) -> None:
    done = shell(f"$fastrecall {arguments} {listener}", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("taker", [">&-", ">/dev/full"])
def test_data_that_nobody_takes_is_an_error(folder: Path, taker: str, tmp_path: Path) -> None:
    done = shell(f"$fastrecall gold {folder} {taker}", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the output: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    done = shell("( $fastrecall gold demo; echo $? >code ) | head -1", tmp_path)
    assert (done.stdout, done.stderr) == ("issue,pr,query,pr_title\n", "")
    assert (tmp_path / "code").read_text() == "0\n"


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs a name for stdout")
def test_a_file_that_is_stdout_takes_what_stdout_takes_as_well(
    folder: Path, tmp_path: Path
) -> None:
    options = "--model fake --protocol published --arm causal"
    line = f"$fastrecall eval {folder} {options} --out /dev/stdout"
    cache = str(tmp_path / "cache")
    assert (
        shell(f"echo before >all; {line} >>all", tmp_path, FASTRECALL_CACHE=cache).returncode == 0
    )
    before, _, after = (tmp_path / "all").read_text("utf-8").partition("\n}\n")
    assert before.startswith("before\n{\n")
    assert after.startswith("corpus: 3 issues, 3 PRs")


def test_data_for_a_program_is_utf8_whatever_the_locale() -> None:
    # As under a locale of another encoding, which need not be installed here.
    code = (
        "import io, sys\nfrom fastrecall.cli.app import main\n"
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'latin-1')\nmain(['gold', 'demo'])"
    )
    variables = {name: text for name, text in environment().items() if name != "PYTHONIOENCODING"}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "Не" in done.stdout.decode("utf-8")


def test_what_a_terminal_would_obey_is_spelt_out(run: Run, folder: Path, tmp_path: Path) -> None:
    hostile = "Crash \x1b]0;owned\x07\x9b2J \u202egnp"
    path = folder / "issues.json"
    records = json.loads(path.read_text("utf-8"))
    records[0]["title"] = hostile
    path.write_text(json.dumps(records), encoding="utf-8")
    (tmp_path / "given.csv").write_text("issue,pr,query,pr_title\n", encoding="utf-8")
    told = run("gold", folder, "--gold", tmp_path / "given.csv")
    assert "only found: issue #1" in told.err
    assert "‹U+001B›]0;owned‹U+0007›‹U+009B›2J ‹U+202E›gnp" in told.err
    assert hostile in told.out  # data stays what it is
    listed = run("links", folder, "--links", "github+mentions", "--list", "--json").out
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(listed)
    as_json = run("eval", folder, "--model", "fake", "--protocol", "published", "--json").out
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(as_json)
    assert hostile in {row["query"] for row in json.loads(as_json)["queries"]}
