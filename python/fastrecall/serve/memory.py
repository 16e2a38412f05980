"""The memory behind the tools: an index of tickets, and notes beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastrecall._data import data_folder
from fastrecall.embedding import ModelInfo, embed_question, resolve_model
from fastrecall.errors import FastrecallError, InputError
from fastrecall.search.answer import (
    Answer,
    Filters,
    ask,
    find_ticket,
    state_of,
    ticket_id,
)
from fastrecall.search.index.closeness import names_in
from fastrecall.search.index.opened import Index
from fastrecall.search.index.opening import open_index
from fastrecall.search.index.place import index_folder, read_manifest
from fastrecall.search.when import day_of, first_second
from fastrecall.serve.answers import (
    Explained,
    Forgotten,
    Item,
    Recalled,
    Remembered,
    Status,
    fitted,
    quoted,
    shortened,
    titled,
)
from fastrecall.serve.counts import Counts
from fastrecall.serve.notes import EDGE, FoundNote, Note, Notes
from fastrecall.types import Kind, Ticket

MOST_ITEMS = 20
DEFAULT_BORDER = 0.35
"""The cosine of a close note where no corpus tells a better one; corpora said 0.28 to 0.48."""

_SIMILAR = 3
KINDS = ("issue", "pr", "note")


class ProjectMemory:
    """All that the tools do, without the protocol around them.

    Nothing is opened before the first question. A new index in the folder is taken up by the next
    question, and notes that another server wrote are there at once. One call runs at a time.

    Args:
        index: the folder of an index; ``None``: only notes.
        folder: where notes and counts lie; made by the first note.
        model: what embeds questions and notes; that of the index when ``None``.
    """

    def __init__(self, index: Path | None, folder: Path, *, model: str | None = None) -> None:
        self._index_folder, self.folder, self._model_name = index, folder, model
        self._index: Index | None = None
        self._model: ModelInfo | None = None
        self._notes = Notes(folder)
        self._counts = Counts(folder)
        self._one_at_a_time = threading.Lock()

    def recall(
        self, query: str, *, k: int = 5, kind: str | None = None, since: str | None = None
    ) -> Recalled:
        """What the past says about a symptom; writes nothing.

        Raises:
            InputError: an empty query, *k* from outside 1 to `MOST_ITEMS`, a bad filter.
        """
        if not 1 <= k <= MOST_ITEMS:
            raise InputError(f"k is {k}; expected 1 to {MOST_ITEMS}")
        if kind is not None and kind not in KINDS:
            raise InputError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}")
        if not query.strip():
            raise InputError("the query is empty; give a symptom, such as an error message")
        begin = None if since is None else first_second(since)
        with self._one_at_a_time:
            index = self._opened()
            notes, tickets, message = [], [], "Nothing close: no note is like the question."
            if kind in (None, "note"):
                notes = self._close_notes(index, query, begin)
            if index is not None and kind != "note":
                filters = Filters(kind=_ticket_kind(kind), since=begin)
                answers = ask(index, query, k=k, filters=filters)
                tickets, message = list(answers.answers), answers.nothing
            items = list(_merged(notes, tickets, self._notes))[:k]
            recalled = fitted(items, "" if items else message)
            self._counts.count(items=len(recalled.items), day=day_of(int(time.time())))
            return recalled

    def remember(
        self, text: str, *, caused_by: Sequence[str] = (), tags: Sequence[str] = ()
    ) -> Remembered:
        """Keep a note, linked to what caused it and to nothing else.

        Raises:
            InputError: no text or too much, or a cause that does not exist.
            CacheError: it cannot be written.
        """
        with self._one_at_a_time:
            index = self._opened()
            causes = [self._id_of(index, id) for id in caused_by]
            note = self._notes.add(text, caused_by=causes, tags=tags, model=self._used_model())
            return Remembered(note.id, [f"{EDGE} {cause}" for cause in note.caused_by])

    def forget(self, id: str) -> Forgotten:
        """Take a note off the disk. Tickets belong to their repository and stay.

        Raises:
            InputError: the id is that of a ticket.
        """
        if not id.startswith("note-"):
            raise InputError(
                f"{id!r} is no note; only notes (ids like note-0a1b2c3d) are forgotten"
            )
        with self._one_at_a_time:
            return Forgotten(id, self._notes.remove(id))

    def explain(self, id: str) -> Explained:
        """One item at more length.

        Raises:
            InputError: there is no such item.
        """
        with self._one_at_a_time:
            index = self._opened()
            note = self._notes.get(id.strip())
            if note is not None:
                return self._explained_note(note)
            if index is None:
                raise InputError(f"there is no note {id!r}")
            return self._explained_ticket(index, *find_ticket(index, id))

    def status(self) -> Status:
        """What there is, and what was delivered; writes nothing."""
        with self._one_at_a_time:
            warnings = []
            index = None
            try:
                index = self._opened()
            except FastrecallError as error:
                warnings.append(str(error))
            if self._counts.failure:
                warnings.append(self._counts.failure)
            try:
                ever = self._counts.ever()
            except FastrecallError as error:
                if str(error) not in warnings:
                    warnings.append(str(error))
                ever = self._counts.now
            if self._counts.damage:
                warnings.append(self._counts.damage)
            if self._notes.journal.damaged:
                warnings.append(
                    f"{self._notes.journal.damaged} damaged lines in {self._notes.journal.path} "
                    "are passed over"
                )
            if index is not None and (changed := index.changed_origin()):
                warnings.append(f"{changed} has changed since it was indexed; index it again")
            corpus = {} if index is None else index.manifest.corpus
            return Status(
                corpus=titled(corpus.get("name", "")),
                issues=corpus.get("issues", 0),
                prs=corpus.get("prs", 0),
                links=corpus.get("links", 0),
                ranked_by="" if index is None else index.manifest.ranked_by,
                notes=len(self._notes),
                model=self._model_name or ("minilm" if index is None else index.model.name),
                delivered_now=self._counts.now,
                delivered_ever=ever,
                folder=str(self.folder),
                warnings=warnings,
            )

    def keep_counts(self) -> None:
        """From now on keep the counts soon after each question, beside whatever else happens."""
        self._counts.keep_saving()

    def close(self) -> None:
        """Keep the counts, as far as the folder lets them be kept."""
        self._counts.close()

    def _opened(self) -> Index | None:
        """The index as it is now, and the notes read up to now."""
        self._notes.refresh()
        if self._index_folder is None:
            return None
        manifest = read_manifest(self._index_folder)
        if self._index is None or manifest is None or manifest.build != self._index.manifest.build:
            self._index = open_index(self._index_folder, model=self._model_name)
        return self._index

    def _used_model(self) -> ModelInfo:
        if self._index is not None:
            return self._index.model
        if self._model is None:
            self._model = resolve_model(self._model_name or "minilm")
        return self._model

    def _close_notes(self, index: Index | None, query: str, since: int | None) -> list[FoundNote]:
        if not len(self._notes):
            return []
        model = self._used_model()
        border = DEFAULT_BORDER if index is None else index.closeness.cosine
        names = set(names_in(query))
        return [
            found
            for found in self._notes.ranked(query, embed_question(query, model), model=model)
            if (found.cosine >= border or names & set(names_in(found.note.text)))
            and (since is None or found.note.at >= since)
        ]

    def _id_of(self, index: Index | None, id: str) -> str:
        """The full id of something that exists."""
        id = id.strip()
        if self._notes.get(id) is not None:
            return id
        if index is None or id.startswith("note-"):
            raise InputError(f"caused_by names {id!r}, which is not in the memory")
        return ticket_id(find_ticket(index, id)[1])

    def _explained_note(self, note: Note) -> Explained:
        links = [f"{EDGE} {cause}" for cause in note.caused_by]
        links += [f"followed by {other.id}" for other in self._notes.caused_by(note.id)]
        return shortened(
            Explained(note.id, "note", "", day_of(note.at), "", False, links=links[:20]),
            note.text,
        )

    def _explained_ticket(self, index: Index, node: int, ticket: Ticket) -> Explained:
        id = ticket_id(ticket)
        links = []
        for backwards, word in ((False, "closed by"), (True, "closes")):
            others = index.closes.neighbours(node, backwards=backwards).ids[:10]
            links += [f"{word} {_line(index.tickets[other])}" for other in others]
        links += [
            f"{index.relation(node, other)} {_line(index.tickets[other])}"
            for other in index.mentioned_with(node)[:10].tolist()
        ]
        links += [
            f"followed by {note.id} {quoted(note.text, 100)}" for note in self._notes.caused_by(id)
        ]
        return shortened(
            Explained(
                id,
                ticket.kind,
                titled(ticket.title),
                day_of(ticket.created_at),
                "",
                False,
                state=titled(state_of(ticket)),
                author=titled(ticket.author),
                url=titled(ticket.url),
                links=links[:20],
                similar=[
                    _line(index.tickets[other]) for other in index.ranker.similar(node, _SIMILAR)
                ],
            ),
            ticket.body,
        )


def memory_folder(source: str | None) -> Path:
    """Where the notes on a corpus lie, in the data folder; ``None``: notes on nothing in special.

    >>> memory_folder(None).name
    'notes'
    """
    root = data_folder() / "memories"
    return root / ("notes" if source is None else index_folder(source).name)


def _merged(
    notes: Sequence[FoundNote], tickets: Sequence[Answer], all_notes: Notes
) -> Iterator[tuple[Item, str]]:
    """Notes and tickets by turns, a note first: it was kept on purpose; then what is left.

    A note that a ticket caused stands right behind the ticket, if it has not come before.
    """
    told: set[str] = set()
    for turn in range(max(len(notes), len(tickets))):
        if turn < len(notes) and notes[turn].note.id not in told:
            found = notes[turn]
            told.add(found.note.id)
            yield _note_item(found.note, f"remembered; {found.rank} among notes"), found.note.text
        if turn < len(tickets):
            answer = tickets[turn]
            yield _ticket_item(answer), answer.ticket.body
            for note in all_notes.caused_by(answer.id):
                if note.id not in told:
                    told.add(note.id)
                    yield _note_item(note, f"remembered; {EDGE} {answer.id}"), note.text


def _note_item(note: Note, origin: str) -> Item:
    head = note.text.splitlines()[0] if note.text else ""
    return Item(
        note.id, "note", titled(head), day_of(note.at), origin, linked=list(note.caused_by)[:5]
    )


def _ticket_item(answer: Answer) -> Item:
    ticket = answer.ticket
    return Item(
        answer.id,
        ticket.kind,
        titled(ticket.title),
        day_of(ticket.created_at),
        answer.origin,
        state=titled(state_of(ticket)),
        url=titled(ticket.url),
        linked=[f"closes {ticket_id(issue)}" for issue in answer.closes[:5]],
    )


def _line(ticket: Ticket) -> str:
    return f"{ticket_id(ticket)} {quoted(ticket.title, 100)}"


def _ticket_kind(kind: str | None) -> Kind | None:
    return "issue" if kind == "issue" else "pr" if kind == "pr" else None
