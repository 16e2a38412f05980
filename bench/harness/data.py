"""The data of the benchmarks: seeded, made once, kept under `build/bench`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from harness import BUILD, ROOT

DIM = 384
TOP = 32
TIE = 1e-6
"""Scores that are nearer than this count as equal: float32 products differ by as much."""

Floats = npt.NDArray[np.float32]


def kept(name: str, make: Callable[[], np.ndarray]) -> Path:
    """The file of an array, made if it is not there."""
    path = BUILD / "data" / f"{name}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".tmp.npy")
        np.save(beside, make())
        beside.replace(path)
    return path


def unit_vectors(count: int, seed: int) -> Floats:
    """Normal numbers scaled to length one: no structure that anyone could use."""
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((count, DIM), dtype=np.float32)
    for start in range(0, count, 65536):
        block = vectors[start : start + 65536]
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def unit_file(count: int) -> Path:
    return kept(f"unit-{count}", lambda: unit_vectors(count, 1))


def query_file() -> Path:
    return kept("unit-queries", lambda: unit_vectors(1000, 2))


def real_texts() -> tuple[list[str], str]:
    """Node texts of the real corpora beside the repository, else of the demo, and their name."""
    from fastrecall.corpus import load_corpus, node_texts

    folder = ROOT.parent / "shared" / "corpora" / "merged"
    name = str(folder) if folder.is_dir() else "demo"
    texts = node_texts(load_corpus(name))
    chosen = np.random.default_rng(7).permutation(len(texts))[:2000]
    return [texts[row] for row in chosen], "real" if folder.is_dir() else "demo"


def real_vectors() -> tuple[Floats, str]:
    """Embeddings of `real_texts`."""
    from fastrecall.embedding import embed

    texts, name = real_texts()
    path = kept(f"texts-{name}-{len(texts)}", lambda: embed(texts, progress=True))
    return np.load(path), name


def mixed_vectors(base: Floats, count: int, seed: int) -> Floats:
    """As many vectors as one likes that lie as real ones do.

    Each is a mixture of three real vectors (Dirichlet 0.5) with a little noise, of length one.
    """
    random = np.random.default_rng(seed)
    mixed = np.empty((count, base.shape[1]), np.float32)
    for start in range(0, count, 20_000):
        rows = min(20_000, count - start)
        weights = random.dirichlet([0.5] * 3, rows).astype(np.float32)
        parts = base[random.integers(0, len(base), (rows, 3))]
        block = np.einsum("rp,rpd->rd", weights, parts)
        block += np.float32(0.015) * random.standard_normal(block.shape, dtype=np.float32)
        mixed[start : start + rows] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return mixed


class TextFile(Sequence[str]):
    """The texts and questions of `text_folder`, read from their files when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._blob = folder / "texts"
        self._ends = np.load(folder / "ends.npy", mmap_mode="r")
        self.questions: list[str] = json.loads((folder / "questions.json").read_text("utf-8"))

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        return self._blob.stat().st_size

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int):
            return self[rows : rows + 1][0]
        start, stop, _ = rows.indices(len(self))
        ends = self._ends[max(0, start - 1) : stop].tolist()
        if start == 0:
            ends = [0, *ends]
        with self._blob.open("rb") as file:
            file.seek(ends[0])
            blob = file.read(ends[-1] - ends[0])
        return [blob[begin - ends[0] : end - ends[0]].decode() for begin, end in pairwise(ends)]


def text_folder(count: int) -> tuple[Path, str]:
    """As many texts as one likes with the words of real ones, and 293 questions; and their origin.

    A text is a stretch of one real text, one of another, and a word that few others hold. Questions
    are the titles of real texts.
    """
    texts, name = real_texts()
    folder = BUILD / "data" / f"texts-{name}-{count}"
    if (folder / "questions.json").exists():
        return folder, name
    folder.mkdir(parents=True, exist_ok=True)
    dice = Random(3)
    pieces = [text.split(" ") for text in texts]
    ends = np.empty(count, np.int64)
    size = 0
    with (folder / "texts").open("wb") as file:
        for row in range(count):
            one, other = dice.choice(pieces), dice.choice(pieces)
            cut, rest = dice.randrange(len(one) + 1), dice.randrange(len(other) + 1)
            words = [*one[:cut], *other[rest:], f"name{dice.randrange(1 + count // 4)}"]
            size += file.write(" ".join(words).encode())
            ends[row] = size
    np.save(folder / "ends.npy", ends)
    titles = [text.partition("\n")[0].partition(": ")[2] for text in texts]
    questions = [title for title in titles if title][:293]
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    return folder, name


def ticket_folder(count: int) -> Path:
    """As many generated tickets as one likes, in JSON lines, and 293 of their gold pairs."""
    from fastrecall.corpus.demo import demo_material, planted

    folder = BUILD / "data" / f"tickets-{count}"
    if (folder / "gold.csv").exists():
        return folder
    (folder / "tickets").mkdir(parents=True, exist_ok=True)
    titles: dict[int, str] = {}
    for source in demo_material(nodes=count).sources:
        with (folder / "tickets" / f"{source.where}.jsonl").open("w", encoding="utf-8") as file:
            for record in source.records():
                titles[record["number"]] = record["title"]
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    pairs = Random(4).sample(sorted(planted(nodes=count).published_pairs), 293)
    with (folder / "gold.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("issue", "pr", "query", "pr_title"))
        lines.writerows((issue, pr, titles[issue], titles[pr]) for issue, pr in sorted(pairs))
    return folder


def mixed_files(count: int) -> tuple[Path, Path, str]:
    """Vectors and 1,000 queries of the same law, and what they were mixed from."""
    base, name = real_vectors()
    return (
        kept(f"mixed-{name}-{count}", lambda: mixed_vectors(base, count, 1)),
        kept(f"mixed-{name}-queries", lambda: mixed_vectors(base, 1000, 2)),
        name,
    )


def best_scores(vectors: Path, queries: Floats, top: int, *, name: str) -> npt.NDArray[np.float64]:
    """The *top* highest float64 dot products of each query [queries, top], best first."""

    def make() -> np.ndarray:
        rows = np.load(vectors, mmap_mode="r")
        wide = queries.astype(np.float64)
        best = np.full((len(queries), 0), -np.inf)
        for start in range(0, len(rows), 16384):
            scores = wide @ rows[start : start + 16384].astype(np.float64).T
            best = np.hstack([best, scores])
            if best.shape[1] > top:
                best = -np.partition(-best, top - 1, axis=1)[:, :top]
        return -np.sort(-best, axis=1)

    return np.load(kept(f"truth-{vectors.stem}-{name}-{len(queries)}-{top}", make))


def recall(vectors: Path, queries: Floats, ids: np.ndarray, best: np.ndarray) -> float:
    """Which share of the true best was found: distinct ids whose float64 score is among them.

    Ties count as found, whichever of them was returned.
    """
    rows = np.load(vectors, mmap_mode="r")
    wide, edge = queries.astype(np.float64), best[:, -1] - TIE
    found = 0
    for query, row in enumerate(np.asarray(ids)[:, : best.shape[1]]):
        distinct = np.unique(row[(row >= 0) & (row < len(rows))])
        scores = rows[distinct].astype(np.float64) @ wide[query]
        found += int((scores >= edge[query]).sum())
    return found / best.size


def demo_folder(nodes: int) -> Path:
    """A generated corpus as `gh` would print it, with about *nodes* nodes after the usual cut."""
    from fastrecall.corpus.demo import demo_records

    folder = BUILD / "data" / f"demo-{nodes}"
    if not (folder / "prs.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        issues, prs = demo_records(nodes=round(nodes * 1.1))
        (folder / "issues.json").write_text(json.dumps(issues), encoding="utf-8")
        (folder / "prs.json").write_text(json.dumps(prs), encoding="utf-8")
    return folder


def random_edges(nodes: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return (
        random.integers(0, nodes, edges, dtype=np.int32),
        random.integers(0, nodes, edges, dtype=np.int32),
    )
