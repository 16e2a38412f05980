"""Which files are read, from disk and from a commit, and what is said about the others."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fastrecall.corpus.code import load_code
from fastrecall.corpus.code.source import MAX_BYTES, files_on_disk
from fastrecall.errors import CorpusError


def git(folder: Path, *arguments: str) -> str:
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
                "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull}  # fmt: skip
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True, capture_output=True, env=os.environ | identity,
    )  # fmt: skip
    return done.stdout.decode().strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "build").mkdir()
    (root / ".gitignore").write_text("build/\n*.log\n!keep.log\n/only_here.txt\n")
    (root / "src" / ".gitignore").write_text("secret.py\n!loud.log\n")
    (root / "src" / "a.py").write_bytes(b"def a():\r\n    return 1\r\n")
    (root / "src" / "secret.py").write_text("x = 1\n")
    (root / "src" / "loud.log").write_text("kept by the deeper file\n")
    (root / "src" / "deep" / "only_here.txt").write_text("the rule is for the root alone\n")
    (root / "build" / "out.py").write_text("y = 2\n")
    (root / "noise.log").write_text("noise\n")
    (root / "keep.log").write_text("kept\n")
    (root / "only_here.txt").write_text("ignored\n")
    (root / "image.bin").write_bytes(b"\x89PNG\0\0")
    (root / "huge.json").write_text(" " * (MAX_BYTES + 1))
    (root / "app.min.js").write_text("x" * 30_000)
    (root / "latin.c").write_bytes(b"int a; /* caf\xe9 */\n")
    (root / "Cargo.lock").write_text("[[package]]\n")
    (root / "void.py").write_text("\n")
    (root / "link.py").symlink_to("src/a.py")
    return root


INDEXED = [".gitignore", "keep.log", "latin.c", "src/.gitignore", "src/a.py",
           "src/deep/only_here.txt", "src/loud.log"]  # fmt: skip
SKIPPED = {
    "Cargo.lock": "lock file",
    "app.min.js": "minified or generated (a line of 30,000 bytes)",
    "huge.json": "larger than 1,000,000 bytes (1,000,001)",
    "image.bin": "binary",
    "link.py": "symbolic link",
    "void.py": "empty",
}


def paths(corpus: object) -> list[str]:
    return sorted({chunk.path for chunk in corpus.chunks})  # type: ignore[attr-defined]


def test_a_folder_outside_git_follows_its_gitignore_files(tree: Path) -> None:
    corpus = load_code(tree)
    assert paths(corpus) == INDEXED
    assert {file.path: file.reason for file in corpus.skipped} == SKIPPED
    assert corpus.files == len(INDEXED)


def test_a_checkout_gives_the_same_as_the_folder(tree: Path) -> None:
    before = load_code(tree)
    git(tree, "init", "-q")
    assert load_code(tree) == before
    git(tree, "add", "src/a.py")
    assert load_code(tree).fingerprint == before.fingerprint


def test_a_commit_is_read_without_a_work_tree(tree: Path, tmp_path: Path) -> None:
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    on_disk = load_code(tree)
    git(tree.parent, "clone", "-q", "--bare", str(tree), "bare.git")
    (tree / "src" / "a.py").write_text("changed = True\n")
    for place in (tree, tree.parent / "bare.git"):
        corpus = load_code(place, commit="HEAD")
        assert corpus.fingerprint == on_disk.fingerprint
        assert corpus.commit == git(tree, "rev-parse", "HEAD")
        assert {file.path: file.reason for file in corpus.skipped} == SKIPPED
    below = load_code(tree / "src", commit="HEAD")
    assert paths(below) == [".gitignore", "a.py", "deep/only_here.txt", "loud.log"]
    assert (tree / "src" / "a.py").read_text() == "changed = True\n"


def test_a_folder_ignored_by_the_checkout_around_it_is_still_read(tree: Path) -> None:
    git(tree, "init", "-q")
    assert paths(load_code(tree / "build")) == ["out.py"]


def test_windows_line_ends_are_dropped_and_line_numbers_kept(tree: Path) -> None:
    chunk = next(c for c in load_code(tree).chunks if c.path == "src/a.py")
    assert (chunk.start, chunk.end, chunk.text) == (1, 2, "def a():\n    return 1")


def test_submodules_are_named(tree: Path) -> None:
    git(tree, "init", "-q")
    git(tree, "add", "src/a.py")
    git(tree, "commit", "-q", "-m", "first")
    entry = f"160000,{git(tree, 'rev-parse', 'HEAD')},vendor"
    git(tree, "update-index", "--add", "--cacheinfo", entry)
    git(tree, "commit", "-q", "-m", "second")
    skipped = {file.path: file.reason for file in load_code(tree, commit="HEAD").skipped}
    assert skipped == {"vendor": "submodule"}


def test_order_and_fingerprint_repeat(tree: Path) -> None:
    first, second = load_code(tree), load_code(tree)
    assert [(c.path, c.start) for c in first.chunks] == sorted(
        (c.path, c.start) for c in first.chunks
    )
    assert first.fingerprint == second.fingerprint
    (tree / "keep.log").write_text("changed\n")
    assert load_code(tree).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    ("name", "commit", "message"),
    [
        ("nowhere", None, "nowhere does not exist; expected the folder of a source tree"),
        ("tree/keep.log", None, "keep.log is a file; expected the folder of a source tree"),
        ("tree/build/none", None, "none has no text file to index .0 skipped."),
        ("tree", "HEAD", "tree has no commit 'HEAD': .*not a git repository"),
        ("repo", "nope", "repo has no commit 'nope'"),
        ("repo", "--help", "repo has no commit '--help'"),
    ],
)
def test_what_cannot_be_read_is_said(
    tree: Path, name: str, commit: str | None, message: str
) -> None:
    (tree / "build" / "none").mkdir()
    (tree.parent / "repo").mkdir()
    git(tree.parent / "repo", "init", "-q")
    with pytest.raises(CorpusError, match=message):
        load_code(tree.parent / name, commit=commit)


def test_lines_of_gitignore_that_are_no_patterns_are_passed_over_as_git_does(tree: Path) -> None:
    odd = "!\n**a\n/\n\\\n[\n[z-a]\n\x00\na\\\n"
    with (tree / ".gitignore").open("a") as file:
        file.write(f"{odd}keep.log\n")
    in_folder = load_code(tree)
    assert "keep.log" not in {chunk.path for chunk in in_folder.chunks}
    git(tree, "init", "-q")
    assert load_code(tree).fingerprint == in_folder.fingerprint


def test_a_folder_that_cannot_be_read_is_named_and_the_rest_is_read(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refusing(folder: Path) -> object:
        if Path(folder).name == "deep":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr("fastrecall.corpus.code.source.os.scandir", refusing)
    corpus = load_code(tree)
    assert ("src/deep", "cannot be read: Permission denied") in {
        (one.path, one.reason) for one in corpus.skipped
    }
    assert "src/a.py" in {chunk.path for chunk in corpus.chunks}


def test_a_git_hook_around_us_does_not_lead_elsewhere(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder in (tree, other):
        git(folder, "init", "-q")
    (other / "alien.py").write_text("alien = 1\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "alien")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "own")
    before = load_code(tree).fingerprint, load_code(tree, commit="HEAD").fingerprint
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert (load_code(tree).fingerprint, load_code(tree, commit="HEAD").fingerprint) == before


def test_a_tree_deeper_than_calls_may_nest_is_walked(tmp_path: Path) -> None:
    folders = [tmp_path / "a"]
    folders[0].mkdir()
    while len(folders) < 1100:
        folders.append(folders[-1] / "a")
        folders[-1].mkdir()
    file = folders[-1] / "a.py"
    file.write_text("x = 1\n")
    try:
        assert [found.path for found in files_on_disk(tmp_path)] == [f"{'a/' * 1100}a.py"]
    finally:  # what removes temporary folders calls itself for each one
        file.unlink()
        for folder in reversed(folders):
            folder.rmdir()


def test_git_that_breaks_off_is_told(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "all")
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin" / "git"
    real = shutil.which("git")
    broken.write_text(f'#!/bin/sh\ncase "$*" in *"cat-file"*) exit 1;; esac\nexec {real} "$@"\n')
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(CorpusError, match="git fsck"):
        load_code(tree, commit="HEAD")
