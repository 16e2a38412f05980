"""What the tools say, without the protocol around them."""

from __future__ import annotations

from pathlib import Path

import fastrecall as fr
from fastrecall.corpus import make_corpus
from fastrecall.serve.memory import ProjectMemory
from fastrecall.types import Ticket


def test_an_explanation_names_every_ticket_that_is_linked(tmp_path: Path) -> None:
    tickets = [
        Ticket("", "issue", 1, "Crash", "like #3", 1),
        Ticket("", "pr", 2, "Guard the parser", "Fixes #1, as #4 did", 2),
        Ticket("", "issue", 3, "Hang", "", 3),
        Ticket("", "pr", 4, "Bump", "", 4),
    ]
    fr.build_index(make_corpus(tickets, name="x"), tmp_path / "index", model="fake", cache=False)
    memory = ProjectMemory(tmp_path / "index", tmp_path / "notes")
    said = {id: memory.explain(id).links for id in ("#1", "#2", "#3", "#4")}
    assert said == {
        "#1": ["closed by pr #2 > Guard the parser", "mentions issue #3 > Hang"],
        "#2": ["closes issue #1 > Crash", "mentions pr #4 > Bump"],
        "#3": ["mentioned by issue #1 > Crash"],
        "#4": ["mentioned by pr #2 > Guard the parser"],
    }
