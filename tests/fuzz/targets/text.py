"""Texts of tickets and questions, through every expression that reads them."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, must_hold

from fastrecall.corpus import change_edges, find_duplicates, find_links, make_corpus
from fastrecall.corpus.markdown import mask
from fastrecall.search.mentions import find_mentions
from fastrecall.search.redaction import redact
from fastrecall.search.tokens import mask_references, terms, words
from fastrecall.search.when import first_second, past_end
from fastrecall.serve.answers import quoted, titled
from fastrecall.types import Ticket


def run(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape").encode("utf-16-le", "surrogatepass")
    text = text.decode("utf-16-le", "replace")
    must_hold(len(mask(text)) == len(text), "masking moves text")
    once = redact(text)
    must_hold(redact(once) == once, "redacting twice changes more")
    title, _, body = text.partition("\n")
    tickets = [
        Ticket("a/b", "issue", 7, title, body, 0),
        Ticket("a/b", "issue", 8, title, text, 5),
        Ticket("a/b", "pr", 9, title, body, 9),
        Ticket("a/b", "pr", 10, "Fix", text, 9),
    ]
    corpus = make_corpus(tickets, name="a/b")
    find_links(corpus)
    find_duplicates(corpus)
    change_edges(corpus)
    find_mentions(corpus)
    for word in words(mask_references(text)):
        must_hold(terms(word) is not None, "terms")
    must_hold(len(quoted(text, 60)) <= 200, "a quote that is too long")
    titled(text)
    with expected_errors():
        must_hold(first_second(title) < past_end(title), "a day without length")
