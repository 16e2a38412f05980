"""Embedding speed against plain onnxruntime and sentence-transformers, on real node texts.

Run from the repository root::

    python bench/embed.py [--texts 2000] [--repeats 3] [--threads N] [--corpus FOLDER] [--json FILE]
        [--fp32 model.onnx] [--st-model FOLDER [--st-python PYTHON]]

Every peer is a process of its own that gets the same texts and returns vectors of length 1: time
runs from texts to vectors, tokenising included, loading excluded. The peers take turns, so that a
busy machine is busy for all of them; what counts are the ratios within one turn.

* fastrecall: `embed` without cache.
* onnxruntime: one session with all threads, the embedded model, texts by number of tokens, at most
  2,048 padded tokens a batch. ``onnxruntime fp32`` is the same on another file, e.g. an export of
  the model in float32, given by ``--fp32``.
* sentence-transformers: `encode` with batches of 32, when a model folder is given.

The vectors are checked: those of plain onnxruntime on the same file must agree to 1e-5.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
BUDGET = 2048


def main() -> None:
    arguments = _arguments()
    if arguments.worker:
        _work(arguments)
        return
    sys.path.insert(0, str(ROOT / "python"))
    from fastrecall._threads import resolve_threads
    from fastrecall.embedding import resolve_model

    threads = resolve_threads(arguments.threads)
    texts = _texts(arguments.corpus, arguments.texts)
    model = resolve_model(cache=False)
    peers = {"fastrecall": [sys.executable], "onnxruntime": [sys.executable]}
    files = {"fastrecall": "", "onnxruntime": str(model.path)}
    if arguments.fp32:
        peers["onnxruntime fp32"], files["onnxruntime fp32"] = [sys.executable], arguments.fp32
    if arguments.st_model:
        peers["sentence-transformers"] = [arguments.st_python]
        files["sentence-transformers"] = arguments.st_model

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        workers = {
            name: subprocess.Popen(
                [
                    *(*python, __file__, "--worker", name, "--folder", folder),
                    *("--file", files[name], "--tokenizer", str(model.tokenizer)),
                    *("--threads", str(threads)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name, python in peers.items()
        }
        for worker in workers.values():  # each has loaded and warmed up
            _answer(worker)
        seconds: dict[str, list[float]] = {name: [] for name in peers}
        for _ in range(arguments.repeats):
            for name, worker in workers.items():
                _ask(worker)
                seconds[name].append(float(_answer(worker)))
        for worker in workers.values():
            worker.communicate()
        vectors = {name: np.load(Path(folder) / f"{name}.npy") for name in peers}

    result = _summary(seconds, vectors, texts, threads)
    _print(result)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if np.abs(vectors["onnxruntime"] - vectors["fastrecall"]).max() > 1e-5:
        sys.exit("vectors differ from plain onnxruntime's by more than 1e-5")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=2000, help="how many texts (default 2000)")
    parser.add_argument("--repeats", type=int, default=3, help="turns (default 3)")
    parser.add_argument("--threads", type=int, help="threads of every peer (default: usable cores)")
    parser.add_argument(
        "--corpus",
        default=str(ROOT.parent / "shared" / "corpora" / "merged"),
        help="a corpus folder; the generated demo corpus when it does not exist",
    )
    parser.add_argument("--fp32", help="another ONNX file of the model")
    parser.add_argument("--st-model", help="a sentence-transformers folder of the model")
    parser.add_argument("--st-python", default=sys.executable, help="a Python that has it")
    parser.add_argument("--json", help="write the result there")
    for internal in ("--worker", "--folder", "--file", "--tokenizer"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    return parser.parse_args()


def _texts(folder: str, count: int) -> list[str]:
    from fastrecall.corpus import load_corpus, node_texts

    texts = node_texts(load_corpus(folder if Path(folder).exists() else "demo"))
    chosen = np.random.default_rng(7).permutation(len(texts))[:count]
    return [texts[row] for row in chosen]


def _ask(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    worker.stdin.write("run\n")
    worker.stdin.flush()


def _answer(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        sys.exit("a worker died; its error stands above")
    return line


def _work(arguments: argparse.Namespace) -> None:
    """A worker: answers each line on stdin by embedding all texts and printing the seconds."""
    run = {
        "fastrecall": _fastrecall,
        "onnxruntime": _onnxruntime,
        "onnxruntime fp32": _onnxruntime,
        "sentence-transformers": _sentence_transformers,
    }[arguments.worker](arguments.file, arguments.tokenizer, arguments.threads)
    folder = Path(arguments.folder)
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    run(texts[:50])
    print("ready", flush=True)
    vectors = np.empty((0, 0), dtype=np.float32)
    for _ in sys.stdin:
        began = time.perf_counter()
        vectors = run(texts)
        print(time.perf_counter() - began, flush=True)
    np.save(folder / f"{arguments.worker}.npy", vectors)


Run = Callable[[list[str]], np.ndarray]


def _fastrecall(_file: str, _tokenizer: str, threads: int) -> Run:
    sys.path.insert(0, str(ROOT / "python"))
    from fastrecall.embedding import embed

    return lambda texts: embed(texts, cache=False, threads=threads, progress=False)


def _onnxruntime(file: str, tokenizer_file: str, threads: int) -> Run:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(tokenizer_file)
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def run(texts: list[str]) -> np.ndarray:
        ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        out = np.empty((len(texts), 384), dtype=np.float32)
        batch: list[int] = []
        order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        for place, row in enumerate(order):
            batch.append(row)
            following = order[place + 1] if place + 1 < len(order) else None
            if following is None or (len(batch) + 1) * len(ids[following]) > BUDGET:
                out[batch] = _one_batch(session, [ids[row] for row in batch])
                batch = []
        return out

    return run


def _one_batch(session: object, ids: list[list[int]]) -> np.ndarray:
    tokens = np.zeros((len(ids), max(map(len, ids))), dtype=np.int64)
    mask = np.zeros_like(tokens)
    for row, one in enumerate(ids):
        tokens[row, : len(one)] = one
        mask[row, : len(one)] = 1
    given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": mask * 0}
    states = session.run(None, given)[0]  # type: ignore[attr-defined]
    pooled = (states * mask[..., None].astype(np.float32)).sum(axis=1)
    return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))


def _sentence_transformers(folder: str, _tokenizer: str, threads: int) -> Run:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(folder, device="cpu")
    return lambda texts: model.encode(
        texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False
    )


def _summary(
    seconds: dict[str, list[float]],
    vectors: dict[str, np.ndarray],
    texts: list[str],
    threads: int,
) -> dict[str, object]:
    ours, mine = seconds["fastrecall"], vectors["fastrecall"]
    peers = {}
    for name, times in seconds.items():
        ratios = sorted(theirs / own for theirs, own in zip(times, ours, strict=True))
        peers[name] = {
            "seconds": [round(one, 3) for one in times],
            "texts_per_second": round(len(texts) / statistics.median(times), 1),
            "fastrecall_is_faster_by": round(statistics.median(ratios), 3),
            "ratio_range": [round(ratios[0], 3), round(ratios[-1], 3)],
            "largest_difference": float(np.abs(vectors[name] - mine).max()),
            "mean_cosine": float((vectors[name] * mine).sum(axis=1).mean()),
        }
    return {
        "benchmark": "embed",
        "texts": len(texts),
        "threads": threads,
        "machine": platform.processor() or platform.machine(),
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("numpy", "onnxruntime", "tokenizers")},
        },
        "peers": peers,
    }


def _print(result: dict[str, object]) -> None:
    print(f"{result['texts']} texts, {result['threads']} threads")
    print(f"{'peer':<24}{'texts/s':>9}{'ratio':>8}{'range':>16}{'difference':>13}{'cosine':>9}")
    peers = result["peers"]
    assert isinstance(peers, dict)
    for name, row in peers.items():
        low, high = row["ratio_range"]
        print(
            f"{name:<24}{row['texts_per_second']:>9.1f}{row['fastrecall_is_faster_by']:>8.2f}"
            f"{f'{low:.2f}–{high:.2f}':>16}{row['largest_difference']:>13.1e}"
            f"{row['mean_cosine']:>9.4f}"
        )


if __name__ == "__main__":
    main()
