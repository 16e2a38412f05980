"""The memory that an evaluation searches: in memory, or in files with a bound on what is held."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fastrecall.corpus import node_texts
from fastrecall.dataset import VectorDataset
from fastrecall.embedding import ModelInfo, embed, resolve_model
from fastrecall.embedding.folders import chosen_folder
from fastrecall.embedding.stream import embed_to_dataset, model_identity
from fastrecall.errors import InputError
from fastrecall.execution import Executor
from fastrecall.search.blocks.memory import BlockedMemory
from fastrecall.search.blocks.room import share_of_search
from fastrecall.search.memory import Memory, Searched
from fastrecall.types import Corpus, Vectors, VectorSource


@dataclass(frozen=True)
class Embedding:
    """Where vectors come from: the model, and what was embedded already.

    ``nodes`` are vectors of all nodes, row by node; ``questions`` those of questions by text.
    """

    model: str
    threads: int | None
    cache: bool | Path
    nodes: VectorSource | None = None
    questions: Mapping[str, npt.ArrayLike] | None = None

    def info(self) -> ModelInfo:
        """The model."""
        return resolve_model(self.model, cache=self.cache)

    def of_questions(self, texts: Sequence[str]) -> Vectors:
        """The vectors of questions ``[q, d]``.

        Raises:
            InputError: a question has none, or they are of another dimension than the nodes'.
        """
        if self.questions is None:
            vectors = embed(
                texts, model=self.model, threads=self.threads, cache=self.cache, kind="query"
            )
        else:
            missing = [text for text in texts if text not in self.questions]
            if missing:
                raise InputError(
                    f"question_vectors has no vector for {len(missing)} of {len(texts)} questions, "
                    f"such as {missing[0][:60]!r}; give one for each"
                )
            rows = [np.asarray(self.questions[text], np.float32) for text in texts]
            if len({row.shape for row in rows}) != 1 or rows[0].ndim != 1:
                raise InputError("question_vectors are of different shapes; expected [d] for each")
            vectors = np.stack(rows)
        if self.nodes is not None and self.nodes.dim != vectors.shape[1]:
            origin = "question_vectors" if self.questions is not None else f"model {self.model}"
            raise InputError(
                f"vectors have {self.nodes.dim} dimensions and those of the questions "
                f"{vectors.shape[1]} ({origin}); name the model that made them (--model)"
            )
        return vectors


def memory_of(
    corpus: Corpus,
    embedding: Embedding,
    *,
    untitled: Collection[int] = (),
    neighbours: int,
    budget: int | None,
    executor: Executor | None = None,
) -> Searched:
    """The memory of the nodes' texts; with a *budget* in bytes or an *executor*, in files.

    The texts of the nodes *untitled* are without their title. The files lie in the cache folder,
    under what they were made from; without a cache they go with the memory.

    Raises:
        InputError: not one vector a node.
        ModelError: the model cannot be had.
        CacheError: the folder cannot be written.
    """
    nodes = embedding.nodes
    if nodes is not None and len(nodes) != len(corpus):
        raise InputError(
            f"vectors has {len(nodes):,} rows and {corpus.name} has {len(corpus):,} nodes; "
            "expected one a node, in node order (repository, issue before PR, number)"
        )
    texts = node_texts(corpus, untitled=untitled)
    threads = embedding.threads
    if budget is None and executor is None:
        vectors = (
            embed(texts, model=embedding.model, threads=threads, cache=embedding.cache)
            if nodes is None
            else nodes.read(0, len(nodes))
        )
        return Memory(tuple(texts), vectors, corpus.is_pr, neighbours, threads)

    def in_files(folder: Path) -> BlockedMemory:
        return BlockedMemory(
            texts,
            _vectors(texts, embedding, folder, executor) if nodes is None else nodes,
            corpus.is_pr,
            share_of_search(budget),
            folder,
            neighbours,
            threads,
            executor,
        )

    cache = chosen_folder(embedding.cache)
    if cache is not None:
        # Tasks may run where another folder is the current one.
        return in_files(cache.absolute() / "evaluations" / _name(corpus, untitled))
    folder = Path(tempfile.mkdtemp(prefix="fastrecall-"))
    try:
        memory = in_files(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(memory, shutil.rmtree, folder, ignore_errors=True)
    return memory


def _vectors(
    texts: Sequence[str], embedding: Embedding, folder: Path, executor: Executor | None
) -> VectorDataset:
    model = embedding.model
    place = folder / f"vectors-{model_identity(embedding.info())[:10]}"
    return embed_to_dataset(texts, place, model=model, threads=embedding.threads, executor=executor)


def _name(corpus: Corpus, untitled: Collection[int]) -> str:
    """What the folder of a corpus is called; texts of other nodes without title are other texts."""
    name = corpus.fingerprint[:20]
    if not untitled:
        return name
    digest = hashlib.sha256(np.array(sorted(untitled), "<i8").tobytes())
    return f"{name}-{digest.hexdigest()[:10]}"
