"""Texts that do not fit in memory, to vectors that do not either: one file of a dataset a task.

A task embeds the texts of one file and writes it whole, or finds it written already from the same
texts by the same model and leaves it. So any run goes on where one before it was stopped, tasks may
run anywhere and twice, and a changed text costs the file that it is in.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from fastrecall._files import expanded
from fastrecall._lock import locked
from fastrecall._term import progress as progress_bar
from fastrecall.dataset import Storage, VectorDataset
from fastrecall.dataset.manifest import Manifest, finish_dataset, forget_manifest, take_over
from fastrecall.dataset.own import FILES, FileEntry, OwnFile, file_name, whole_file, write_file
from fastrecall.dataset.storage import checked_storage, encode
from fastrecall.embedding.models import ModelInfo, resolve_model
from fastrecall.embedding.pipeline import embed_with_report
from fastrecall.errors import CacheError, InputError, ModelError
from fastrecall.execution import Executor, LocalExecutor

ROWS_PER_FILE = 16_384
"""About a minute of work on one core, which is what a killed run loses, and 25 MB of float32."""


@dataclass(frozen=True)
class _Job:
    """What all tasks need. ``texts`` is ``None`` when every task brings its own."""

    folder: Path
    texts: Sequence[str] | None
    model: str
    identity: str
    storage: Storage
    cache: bool | Path
    rows_per_file: int


@dataclass(frozen=True)
class _Task:
    """One file: its number, and the rows of the texts or the texts themselves."""

    number: int
    stop: int = 0
    texts: tuple[str, ...] | None = None


def embed_to_dataset(
    texts: Sequence[str] | Iterable[Sequence[str]],
    folder: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] = "minilm",
    storage: Storage = "float32",
    rows_per_file: int = ROWS_PER_FILE,
    threads: int | None = None,
    cache: bool | Path = False,
    executor: Executor | None = None,
    progress: bool = True,
) -> VectorDataset:
    """Embed texts into a dataset; row ``i`` is the vector of text ``i``.

    Holds the texts and vectors of one file in memory. Called again after it was stopped, it goes on
    at the first file that is not whole; called again with some texts changed, it embeds anew only
    the files that they are in. The vectors are those of ``embed(texts)``, to the bit where the
    storage is float32.

    Args:
        texts: a sequence, of which one file's slice is taken at a time (for an *executor* on other
            machines: one that is small to pickle and reads from files); or any iterable of batches,
            which goes through this process.
        folder: where to; made when it is not there.
        model: what `resolve_model` understands.
        storage: ``"float32"``, ``"float16"`` or ``"int8"``; see `Storage`.
        rows_per_file: texts in a task and file.
        threads: of this process, when there is no *executor*; all usable cores by default.
        cache: also look in and add to the cache of single vectors, which keeps them twice.
        executor: where tasks run; in this process by default.
        progress: draw a bar on stderr.

    Raises:
        InputError: something that is not a text, or an unknown option.
        ModelError: a model that is unknown, damaged, not on this machine, or another on a worker's.
        CacheError: the folder cannot be written, is being written by another process, or holds
            vectors of another model, storage or dimension.

    >>> import tempfile
    >>> dataset = embed_to_dataset(["disk full", "login page"], tempfile.mkdtemp(), model="fake")
    >>> len(dataset), dataset.dim
    (2, 384)
    """
    if isinstance(texts, str):
        raise InputError("texts is one string; expected a list of texts, e.g. [text]")
    if rows_per_file < 1:
        raise InputError(f"rows_per_file is {rows_per_file}; expected 1 or more")
    if executor is None:
        executor = LocalExecutor(threads=threads)
    info = resolve_model(model, cache=cache)
    # A sequence by what it can do: readers of files need not be registered as one.
    source = cast("Sequence[str]", texts) if hasattr(texts, "__getitem__") else None
    job = _Job(
        expanded(folder).absolute(),
        source,
        os.fspath(model),
        model_identity(info),
        checked_storage(storage),
        cache,
        rows_per_file,
    )
    tasks = (
        _packed(texts, rows_per_file) if source is None else _tasks_of(len(source), rows_per_file)
    )
    steps = len(source) if progress and source is not None else 0
    busy = f"another process is writing vectors to {folder}; wait until it is done"
    with locked(job.folder / ".lock", busy=busy):
        _refuse_another(job, info)
        files: list[FileEntry] = []
        with progress_bar("embedding", steps) as advance:
            for entry in executor.map(embed_file, tasks, shared=job):
                files.append(entry)
                advance(entry.rows)
        dim = info.dim or _dim_of(job.folder, files)
        finish_dataset(
            job.folder, Manifest(dim, job.storage, tuple(files), {"model": info.as_dict()})
        )
    return VectorDataset(job.folder)


def embed_file(job: _Job, task: _Task, threads: int) -> FileEntry:
    """The task: one file of the dataset, found or written. See `embed_to_dataset`."""
    start = task.number * job.rows_per_file
    texts = task.texts
    if texts is None:
        assert job.texts is not None
        texts = tuple(job.texts[start : task.stop])
        if len(texts) != task.stop - start:
            raise InputError(
                f"texts {start} to {task.stop}: {len(texts)} came; the texts changed while they "
                "were read"
            )
    made_from = _digest(texts, start)
    path = job.folder / file_name(task.number)
    found = _finished(path, (start, len(texts), job.storage, job.identity, made_from))
    if found is not None:
        return found
    vectors, report = embed_with_report(
        texts, model=job.model, threads=threads, cache=job.cache, progress=False
    )
    if model_identity(report.model) != job.identity:
        raise ModelError(
            f"the model {job.model} of this machine is another one than where the job was started; "
            "install the same files on all machines"
        )
    forget_manifest(job.folder)
    values, scales = encode(vectors, job.storage)
    return write_file(path, values, scales, start=start, made_by=job.identity, made_from=made_from)


def _finished(path: Path, expected: tuple[int, int, str, str, str]) -> FileEntry | None:
    """The file of an earlier run, if it is of the same texts, model and storage."""
    found = whole_file(path)
    if found is None:
        return None
    proof = found.proof
    same = (proof.start, proof.rows, proof.storage, proof.made_by, proof.made_from) == expected
    return found.entry if same else None


def _tasks_of(rows: int, rows_per_file: int) -> Iterator[_Task]:
    for number, start in enumerate(range(0, rows, rows_per_file)):
        yield _Task(number, min(start + rows_per_file, rows))


def _packed(batches: Iterable[Sequence[str]], rows_per_file: int) -> Iterator[_Task]:
    """Batches of any size as tasks with the texts of one file."""
    number = 0
    waiting: list[str] = []
    for batch in batches:
        if isinstance(batch, str):
            raise InputError("texts gave a string; expected batches, each a list of texts")
        waiting += batch
        while len(waiting) >= rows_per_file:
            yield _Task(number, texts=tuple(waiting[:rows_per_file]))
            number += 1
            del waiting[:rows_per_file]
    if waiting:
        yield _Task(number, texts=tuple(waiting))


def _refuse_another(job: _Job, info: ModelInfo) -> None:
    """Leave a folder alone that holds the vectors of another job."""
    take_over(job.folder)
    # Tasks end in any order: the first file need not be there.
    files = map(whole_file, sorted(job.folder.glob(FILES)))
    proof = next((file.proof for file in files if file is not None), None)
    if proof is not None and (proof.storage, proof.made_by) != (job.storage, job.identity):
        other = "another model" if proof.made_by != job.identity else info.name
        raise CacheError(
            f"{job.folder} holds {proof.storage} vectors of {other}; expected {job.storage} of "
            f"{info.name}: choose another folder, or remove this one first"
        )


def _dim_of(folder: Path, files: list[FileEntry]) -> int:
    """The dimension of a model whose configuration does not tell it."""
    if not files:
        raise InputError(f"no texts, and no dimension in the model's config.json: {folder}")
    return OwnFile(folder / files[0].name).proof.dim


def model_identity(model: ModelInfo) -> str:
    """A digest of all that a vector depends on beside its text."""
    parts = (
        model.sha256 or model.name,
        model.tokenizer_sha256 or "",
        model.pooling,
        str(model.max_tokens),
        model.passage,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _digest(texts: Sequence[str], start: int) -> str:
    """A digest of texts, in which it also counts where each of them ends."""
    digest = hashlib.sha256()
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"text {start + at} is of type {type(text).__name__}; expected str ('' for no text)"
            )
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
