"""Gold pairs: made from links, read from and written to CSV, compared."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fastrecall._files import atomic_write
from fastrecall.corpus._records import LARGEST_NUMBER, shown
from fastrecall.corpus.build import gold_fingerprint, make_corpus
from fastrecall.corpus.links import make_links
from fastrecall.corpus.text import query_text
from fastrecall.errors import CorpusError
from fastrecall.types import LINK_SOURCES, Corpus, Gold, GoldPair, Kind, Links, LinkSource, Ticket

COLUMNS = ("issue", "pr", "query", "pr_title")
"""The article's columns; ``repo``, ``pr_repo`` and ``grade`` may stand beside them."""

TITLES_ONLY = (
    "the nodes were made from the titles in the gold file alone: a corpus so small, where nearly "
    "every node is an answer, flatters every arm"
)

_OPTIONAL = ("repo", "pr_repo", "grade")
_SEPARATORS = ",;\t"
_LARGEST_FIELD = 1 << 20


class GoldRow(NamedTuple):
    """One line of a gold file. ``repo`` is the issue's, ``pr_repo`` the PR's if another."""

    issue: int
    pr: int
    query: str
    pr_title: str
    repo: str = ""
    grade: int = 1
    pr_repo: str = ""


class GoldDifference(NamedTuple):
    """What two gold sets do not share; pairs are compared by repository and numbers."""

    only_found: tuple[GoldPair, ...]
    only_given: tuple[GoldPair, ...]

    def lines(self) -> list[str]:
        """The differences as text, one a line; a summary comes first."""
        if not self.only_found and not self.only_given:
            return ["the pairs found by rule and the pairs given are the same"]
        return [
            f"{len(self.only_found)} pairs were found by rule and not given, "
            f"{len(self.only_given)} were given and not found",
            *(f"only found: {_line(pair)}" for pair in self.only_found),
            *(f"only given: {_line(pair)}" for pair in self.only_given),
        ]


def _line(pair: GoldPair) -> str:
    pr_repo = pair.pr_repo or pair.repo
    absent = [
        f"the {what} is not in the corpus"
        for what, node in (("issue", pair.issue_node), ("PR", pair.pr_node))
        if node < 0
    ]
    reason = f" ({', '.join(absent)})" if absent else ""
    return f"issue {pair.repo}#{pair.issue}, PR {pr_repo}#{pair.pr}{reason}: {pair.query}"


def make_gold(pairs: Iterable[GoldPair], *, origin: str) -> Gold:
    """Gold from pairs: sorted by (repository, issue, PR), each pair once with its highest grade."""
    best: dict[tuple[str, int, str, int], GoldPair] = {}
    for pair in pairs:
        key = _key(pair)
        if key not in best or pair.grade > best[key].grade:
            best[key] = pair
    ordered = tuple(best[key] for key in sorted(best))
    return Gold(ordered, origin, gold_fingerprint(ordered))


def _key(pair: GoldPair) -> tuple[str, int, str, int]:
    return pair.repo, pair.issue, pair.pr_repo or pair.repo, pair.pr


def gold_from_links(
    corpus: Corpus, links: Links, sources: Sequence[LinkSource] | None = None
) -> Gold:
    """The pairs that at least one of the named sources found; the query is the cut title.

    Without *sources* every link counts, as after `Links.of`.

    Raises:
        ValueError: a source is none of `LINK_SOURCES`.

    >>> from fastrecall.corpus.links import find_links
    >>> issue = Ticket("", "issue", 5, "Crash", "", 0)
    >>> corpus = make_corpus([issue, Ticket("", "pr", 7, "Fix", "Fixes #5", 0)], name="tiny")
    >>> gold_from_links(corpus, find_links(corpus), ["published"]).pairs[0].query
    'Crash'
    """
    chosen = links if sources is None else links.of(*sources)
    issues, prs = chosen.issues.tolist(), chosen.prs.tolist()
    queries = {node: query_text(ticket) for node, ticket in corpus.read(issues)}
    pr_titles = {node: ticket.title for node, ticket in corpus.read(prs)}
    return make_gold(
        (
            _pair(corpus, issue, pr, query=queries[issue], pr_title=pr_titles[pr])
            for issue, pr in zip(issues, prs, strict=True)
        ),
        origin="links" if sources is None else f"links: {'+'.join(sources)}",
    )


def _pair(corpus: Corpus, issue_node: int, pr_node: int, *, query: str, pr_title: str) -> GoldPair:
    repo, _, issue = corpus.columns.name(issue_node)
    pr_repo, _, pr = corpus.columns.name(pr_node)
    return GoldPair(
        repo=repo,
        issue=issue,
        pr=pr,
        query=query,
        pr_title=pr_title,
        issue_node=issue_node,
        pr_node=pr_node,
        pr_repo=pr_repo if pr_repo != repo else "",
    )


def read_gold(path: str | os.PathLike[str]) -> tuple[GoldRow, ...]:
    """The rows of a gold CSV in the article's columns, in order.

    Commas, semicolons or tabs separate; a byte order mark, CRLF and line breaks inside quotes are
    fine; columns may stand in any order and others beside them. Rows without a grade have 1.

    Raises:
        CorpusError: the file cannot be read, has other columns, or a row does not fit.
    """
    path = Path(path)
    text = _read_text(path)
    header = text.partition("\n")[0]
    separator = max(_SEPARATORS, key=header.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    limit = csv.field_size_limit(_LARGEST_FIELD)
    try:
        return tuple(_rows(path, lines))
    except csv.Error as error:
        raise CorpusError(
            f"{path}, line {lines.line_num}: not valid CSV ({error}); check the quotes"
        ) from error
    finally:
        csv.field_size_limit(limit)


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror or error}") from error
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}: not valid {error.encoding} at byte {error.start}; save the file as UTF-8"
        ) from error


def _rows(path: Path, lines: Iterator[list[str]]) -> Iterator[GoldRow]:
    header = [cell.strip().lower() for cell in next(lines, [])]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        found = ", ".join(ascii(name)[1:-1] for name in header[:10]) or "nothing"
        raise CorpusError(
            f"{path}: the columns are {found}; expected {', '.join(COLUMNS)} "
            f"(and maybe {', '.join(_OPTIONAL)}), so {', '.join(missing)} must be added"
        )
    places = {name: header.index(name) for name in (*COLUMNS, *_OPTIONAL) if name in header}
    line = 2
    for cells in lines:
        if cells and any(cells):
            if len(cells) != len(header):
                raise CorpusError(
                    f"{path}, line {line}: {len(cells)} fields; expected {len(header)} "
                    "as in the first line"
                )
            yield _row(path, line, {name: cells[at] for name, at in places.items()})
        line = lines.line_num + 1  # type: ignore[attr-defined]


def _row(path: Path, line: int, cells: dict[str, str]) -> GoldRow:
    query = cells["query"]
    if not query.strip():
        raise CorpusError(f"{path}, line {line}: query is empty; expected the issue's title")
    return GoldRow(
        issue=_number(path, line, "issue", cells["issue"]),
        pr=_number(path, line, "pr", cells["pr"]),
        query=query,
        pr_title=cells["pr_title"],
        repo=cells.get("repo", "").strip(),
        grade=_number(path, line, "grade", cells["grade"]) if cells.get("grade") else 1,
        pr_repo=cells.get("pr_repo", "").strip(),
    )


def _number(path: Path, line: int, column: str, cell: str) -> int:
    digits = cell.strip()
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 10
    number = int(digits) if plain else 0
    if not 0 < number <= LARGEST_NUMBER:
        raise CorpusError(
            f"{path}, line {line}: {column} is {shown(cell)}; expected a whole number above 0"
        )
    return number


def write_gold(path: str | os.PathLike[str], gold: Gold) -> None:
    """Write gold as CSV in the article's columns.

    ``repo`` is added only when there are several repositories, ``pr_repo`` and ``grade`` only when
    a pair needs them.

    Raises:
        CacheError: the file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(gold_csv(gold))


def gold_csv(gold: Gold) -> str:
    """The text that `write_gold` writes.

    >>> print(gold_csv(make_gold([GoldPair("", 5, 7, "Crash", "Fix, now", 0, 1)], origin="")))
    issue,pr,query,pr_title
    5,7,Crash,"Fix, now"
    """
    extra = []
    if len({pair.repo for pair in gold.pairs}) > 1:
        extra.append("repo")
    if any(pair.pr_repo for pair in gold.pairs):
        extra += ["pr_repo"] if extra else ["repo", "pr_repo"]
    if any(pair.grade != 1 for pair in gold.pairs):
        extra.append("grade")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    names = (*COLUMNS, *extra)
    writer.writerow(names)
    writer.writerows([getattr(pair, name) for name in names] for pair in gold.pairs)
    return out.getvalue()


def gold_from_rows(corpus: Corpus, rows: Iterable[GoldRow], *, origin: str = "given") -> Gold:
    """Gold from the rows of a file; nodes are -1 where a ticket is not in the corpus.

    A row without repository means the corpus' only one, or the one that has such an issue.

    Raises:
        CorpusError: several repositories have an issue of that number and the row names none.
    """
    names = {repo.lower(): repo for repo in corpus.repos}

    def known(repo: str) -> str:
        return repo if repo in corpus.repos else names.get(repo.lower(), repo)

    def pair(row: GoldRow) -> GoldPair:
        repo = known(row.repo) if row.repo else _home(corpus, row)
        pr_repo = known(row.pr_repo) if row.pr_repo else repo
        issue_node = corpus.node(repo, "issue", row.issue)
        pr_node = corpus.node(pr_repo, "pr", row.pr)
        return GoldPair(
            repo=repo,
            issue=row.issue,
            pr=row.pr,
            query=row.query,
            pr_title=row.pr_title,
            issue_node=-1 if issue_node is None else issue_node,
            pr_node=-1 if pr_node is None else pr_node,
            grade=row.grade,
            pr_repo=pr_repo if pr_repo != repo else "",
        )

    return make_gold(map(pair, rows), origin=origin)


def _home(corpus: Corpus, row: GoldRow) -> str:
    if len(corpus.repos) == 1:
        return corpus.repos[0]
    homes = [repo for repo in corpus.repos if corpus.node(repo, "issue", row.issue) is not None]
    if len(homes) > 1:
        raise CorpusError(
            f"gold pair {row.issue}, {row.pr}: {' and '.join(homes[:3])} have an issue "
            f"#{row.issue}; add a column repo to the gold file"
        )
    return homes[0] if homes else ""


def corpus_from_gold(rows: Iterable[GoldRow], *, name: str = "gold") -> Corpus:
    """A corpus of the titles in a gold file alone: issues from ``query``, PRs from ``pr_title``.

    Where rows give one ticket different titles, the first counts, and a note says so.

    Raises:
        CorpusError: there are no rows.
    """
    tickets: dict[tuple[str, Kind, int], Ticket] = {}
    retitled = set()
    spelled: dict[str, str] = {}
    for row in rows:
        for name_given, kind, number, title in (
            (row.repo, "issue", row.issue, row.query),
            (row.pr_repo or row.repo, "pr", row.pr, row.pr_title),
        ):
            # As GitHub compares names; the first spelling counts.
            repo = spelled.setdefault(name_given.lower(), name_given)
            key: tuple[str, Kind, int] = (repo, kind, number)  # type: ignore[assignment]
            old = tickets.setdefault(key, Ticket(repo, key[1], number, title, "", 0))
            if old.title != title:
                retitled.add(key)
    if not tickets:
        raise CorpusError("the gold file has no pairs, so there is nothing to search")
    notes = [TITLES_ONLY]
    if retitled:
        notes.append(
            f"{len(retitled)} tickets have several titles in the gold file; the first counts"
        )
    return make_corpus(tickets.values(), name=name, titles_only=True, notes=tuple(notes))


def links_from_gold(corpus: Corpus, gold: Gold) -> Links:
    """The gold pairs as closing links, for a corpus that has nothing but titles.

    They count as source ``published``, which is how such files are made.
    """
    bit = 1 << LINK_SOURCES.index("published")
    inside = (pair for pair in gold.pairs if pair.issue_node >= 0 and pair.pr_node >= 0)
    return make_links({(pair.issue_node, pair.pr_node): bit for pair in inside})


def compare_gold(found: Gold, given: Gold) -> GoldDifference:
    """The pairs that a rule found and a file does not have, and the other way round."""
    found_keys, given_keys = set(map(_key, found.pairs)), set(map(_key, given.pairs))
    return GoldDifference(
        tuple(pair for pair in found.pairs if _key(pair) not in given_keys),
        tuple(pair for pair in given.pairs if _key(pair) not in found_keys),
    )
