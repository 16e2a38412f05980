"""What 10⁶, 10⁷ and 10⁸ nodes take, worked out from the rates in bench/results.

Run from the repository root::

    python bench/scale.py            # print the tables
    python bench/scale.py --write    # put them into docs/scale.md

Times are seconds of one core of the machine that the results name. They are sums, not measurements:
each rate is taken at one size and multiplied.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastrecall.search.blocks.exact import ROWS_OF_TASK
from fastrecall.search.blocks.knn import ROWS_OF_PART
from harness import RESULTS, ROOT
from harness.results import Measurement, load

PAGE = ROOT / "docs" / "scale.md"
NODES = (10**6, 10**7, 10**8)
DIM = 384
QUESTIONS, DEPTH = 293, 101  # of the published run; the deepest list that its arms need
MANY = 100_000  # questions
NEIGHBOURS = 16
TERMS, TEXT_BYTES = 28, 206  # different words, and bytes, of a node text in four real projects
MEASURED_HNSW = 100_000  # vectors in the index whose rates are used


@dataclass(frozen=True)
class Rates:
    """Seconds of one core, and bytes, each from a row of bench/results.

    >>> rates = Rates(embed=0.01, pair=1e-9, pair_float=4e-9, build=1e-4, ask=1e-4, alone=1e-8,
    ...               hnsw={"float32": 2000.0, "int8": 500.0})
    >>> round(rates.search(1000, 10**6), 6), round(rates.search(100, 10**6), 6)
    (1.0, 0.4)
    >>> nodes = rates.graph_crossing()
    >>> round(rates.graph(nodes) / rates.graph_by_hnsw(nodes), 3)
    1.0
    """

    embed: float  # a text
    pair: float  # a question and a vector, many questions at once: codes of a byte a value
    pair_float: float  # the same for a few hundred questions: float32, without making codes
    alone: float  # a question by itself and a vector
    build: float  # a vector into HNSW
    ask: float  # a question to HNSW, at recall 0.995
    hnsw: dict[str, float]  # bytes a vector, by storage

    def search(self, questions: int, nodes: float) -> float:
        """Exact search, all questions at once."""
        return questions * nodes * (self.pair if questions >= 384 else self.pair_float)

    def graph(self, nodes: float) -> float:
        """The exact neighbours of all, part by part: everyone asks for everyone."""
        return nodes * nodes * self.pair

    def graph_by_hnsw(self, nodes: float) -> float:
        """Nearly the neighbours of all: build HNSW, then ask it with every vector."""
        return nodes * (self.build + self.ask) * _deeper(nodes)

    def graph_crossing(self) -> float:
        """From how many nodes on `graph_by_hnsw` is less work than `graph`."""
        return _crossing(lambda nodes: self.graph(nodes) - self.graph_by_hnsw(nodes))

    def question_crossing(self) -> float:
        """From how many vectors on HNSW, once built, answers one question sooner."""
        return _crossing(lambda nodes: nodes * self.alone - self.ask * _deeper(nodes))

    def questions_to_pay(self, nodes: int) -> float:
        """After how many questions building HNSW was less work than exact search."""
        each = nodes * self.pair - self.ask * _deeper(nodes)
        return nodes * self.build * _deeper(nodes) / each


def measured(folder: Path = RESULTS) -> Rates:
    """The rates of a folder of results."""
    rows = load(folder)

    def line(row: str, work: str, threads: int) -> Measurement:
        for one in rows[row]["measurements"]:
            if one.work.startswith(work) and one.threads == threads:
                return one
        raise KeyError(f"{folder}/{row}.json has no {work!r} on {threads} threads")

    def seconds(row: str, work: str, threads: int, contender: str = "fastrecall") -> float:
        return line(row, work, threads).time_of(contender) * threads

    batch = "1,000 queries, N = 1,000,000"
    return Rates(
        embed=seconds("embed", "embedding of 2,000 node texts", 2) / 2000,
        pair=seconds("batch1M", batch, 2) / 1000 / 10**6,
        pair_float=seconds("batch1M", batch, 2, "fastrecall float32") / 1000 / 10**6,
        alone=seconds("exact19k", "one query", 1) / 19_000,
        build=seconds("hnsw100k", "HNSW build", 2) / MEASURED_HNSW,
        ask=seconds("hnsw100k", "HNSW queries at recall@32 ≥ 0.995", 1) / 1000,
        hnsw={
            storage: line("hnsw100k", f"HNSW memory, N = 100,000, storage {storage}", 2).values[0]
            * 1e6
            / MEASURED_HNSW
            for storage in ("float32", "int8")
        },
    )


def bytes_table(rates: Rates) -> str:
    """What lies on disk or in memory."""
    each = {
        "node texts": TEXT_BYTES,
        "vectors, float32": 4 * DIM,
        "vectors, float16": 2 * DIM,
        "vectors, int8": DIM + 4,
        "HNSW, float32": rates.hnsw["float32"],
        "HNSW, int8": rates.hnsw["int8"],
        "postings of words": 8 * TERMS,
        f"{NEIGHBOURS} neighbours and scores": 8 * NEIGHBOURS,
        "`similar` edges with weights, at most": 8 + 16 * 2 * NEIGHBOURS,
    }
    return _table(
        ["bytes", "a node"],
        [[name, f"{size:,.0f}", *(_bytes(size * nodes) for nodes in NODES)]
         for name, size in each.items()],
    )  # fmt: skip


def times_table(rates: Rates) -> str:
    """Time of one core."""
    jobs: dict[str, Callable[[int], float]] = {
        "embedding": lambda nodes: nodes * rates.embed,
        f"exact search, {QUESTIONS} questions": lambda nodes: rates.search(QUESTIONS, nodes),
        f"exact search, {MANY:,} questions": lambda nodes: rates.search(MANY, nodes),
        f"{NEIGHBOURS} neighbours, exact": rates.graph,
        f"{NEIGHBOURS} neighbours by HNSW": rates.graph_by_hnsw,
        "HNSW, build": lambda nodes: nodes * rates.build * _deeper(nodes),
        f"HNSW, {MANY:,} questions": lambda nodes: MANY * rates.ask * _deeper(nodes),
    }
    return _table(
        ["time of one core"],
        [[name, *(_time(cost(nodes)) for nodes in NODES)] for name, cost in jobs.items()],
    )


def traffic_table(rates: Rates) -> str:
    """What moves: from shared storage to tasks, and from tasks to whoever merges."""

    def tasks(nodes: int) -> int:
        return math.ceil(nodes / ROWS_OF_TASK)

    def parts(nodes: int) -> int:
        return math.ceil(nodes / ROWS_OF_PART)

    list_bytes = QUESTIONS * DEPTH * 8
    rows: dict[str, Callable[[int], str]] = {
        "tasks of exact search": lambda nodes: f"{tasks(nodes):,}",
        "read by them, float32": lambda nodes: _bytes(nodes * DIM * 4),
        "read by a core of them in a second": lambda nodes: _bytes(
            nodes * DIM * 4 / rates.search(QUESTIONS, nodes)
        ),
        f"their top-{DEPTH} lists, {QUESTIONS} questions": lambda nodes: _bytes(
            tasks(nodes) * list_bytes
        ),
        "tasks of the exact neighbour graph": lambda nodes: f"{parts(nodes):,}",
        "read by those, float32": lambda nodes: _bytes(parts(nodes) * nodes * DIM * 4),
        f"{NEIGHBOURS} neighbours, written by them": lambda nodes: _bytes(nodes * NEIGHBOURS * 8),
    }
    return _table(["what moves"], [[name, *map(show, NODES)] for name, show in rows.items()])


def crossings_table(rates: Rates) -> str:
    """Where approximate search takes less than exact search."""
    rows = [
        ["one question by itself, HNSW being built", f"{_two(rates.question_crossing())} vectors"],
        [f"the {NEIGHBOURS} neighbours of all nodes, building included",
         f"{_two(rates.graph_crossing())} nodes"],
        *(
            [f"many questions at once over {_power(nodes)} vectors, building included",
             f"{_two(rates.questions_to_pay(nodes))} questions"]
            for nodes in NODES
        ),
    ]  # fmt: skip
    return _rows(["work", "HNSW is less work from"], rows)


def tables(rates: Rates) -> dict[str, str]:
    """Every table of the page by its name."""
    return {
        "bytes": bytes_table(rates),
        "times": times_table(rates),
        "traffic": traffic_table(rates),
        "crossings": crossings_table(rates),
    }


def filled(page: str, rates: Rates) -> str:
    """The page with its tables, each between two comments that name it."""
    for name, table in tables(rates).items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"{PAGE} needs {begin} and {end}, once each")
        before, _, rest = page.partition(begin)
        after = rest.partition(end)[2]
        page = f"{before}{begin}\n{table}\n{end}{after}"
    return page


def _deeper(nodes: float) -> float:
    """How much longer a walk through HNSW is than at the measured size: with the logarithm."""
    return math.log(nodes) / math.log(MEASURED_HNSW)


def _crossing(difference: Callable[[float], float]) -> float:
    """Where an increasing function turns positive, between a hundred and 10¹⁰."""
    low, high = 1e2, 1e10
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if difference(middle) > 0 else (middle, high)
    return high


def _bytes(count: float) -> str:
    """
    >>> _bytes(1_536_000_000), _bytes(236_744)
    ('1.5 GB', '237 kB')
    """
    return _scaled(count, [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")])


def _time(seconds: float) -> str:
    """
    >>> _time(2.036), _time(3600 * 5849), _time(150)
    ('2.0 s', '5,849 h', '2.5 min')
    """
    return _scaled(seconds, [(3600, "h"), (60, "min"), (1, "s")])


def _scaled(amount: float, units: Sequence[tuple[float, str]]) -> str:
    size, unit = next((one for one in units if amount >= one[0]), units[-1])
    return f"{amount / size:,.{1 if amount / size < 10 else 0}f} {unit}"


def _two(number: float) -> str:
    """Two digits are more than the rates are good for.

    >>> _two(123_456)
    '120,000'
    """
    return f"{float(f'{number:.2g}'):,.0f}"


def _power(nodes: int) -> str:
    return "10" + str(round(math.log10(nodes))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _table(head: list[str], rows: list[list[str]]) -> str:
    return _rows([*head, *map(_power, NODES)], rows)


def _rows(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    rates = measured()
    if parser.parse_args().write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), rates), encoding="utf-8")
    else:
        print("\n\n".join(tables(rates).values()))


if __name__ == "__main__":
    main()
