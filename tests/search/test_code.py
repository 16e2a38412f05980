"""Code search: arms, their fusion, and what of a chunk is searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fastrecall.corpus.code import CodeChunk, CodeCorpus, load_code
from fastrecall.embedding import embed
from fastrecall.errors import CorpusError, InputError
from fastrecall.search.code import CODE_ARMS, CodeIndex, CodeSettings
from fastrecall.search.code_text import chunk_text, without_licence
from fastrecall.types import Vectors


def fake(texts: Sequence[str], *, kind: str) -> Vectors:
    assert kind in ("passage", "query")
    return embed(texts, model="fake")


FILES = {
    "net/retry.rs": "/// Tries again after a pause.\nfn retry(times: u8) -> bool { times > 0 }\n",
    "store/open.rs": "/// Opens the table of rows.\nfn open_table(path: &str) { read(path) }\n",
    "store/close.rs": "/// Closes the table.\nfn close_table() { flush() }\n",
    "README.md": "# Retry\n\nRetry, retry and retry again; the retry is in the client.\n",
}


@pytest.fixture
def corpus(tmp_path: Path) -> CodeCorpus:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return load_code(tmp_path)


def paths(index: CodeIndex, query: str, k: int = 9) -> dict[str, list[str]]:
    found = index.search([query], k)
    chunks = index.corpus.chunks
    return {arm: [chunks[at].path for at in of.ids[0] if at >= 0] for arm, of in found.items()}


def test_every_arm_finds_and_bm25_returns_only_what_shares_a_term(corpus: CodeCorpus) -> None:
    found = paths(CodeIndex.build(corpus, fake), "where do we decide to retry")
    assert tuple(found) == CODE_ARMS
    assert found["bm25"] == ["net/retry.rs"]
    assert found["hybrid"][0] == "net/retry.rs"
    assert len(found["semantic"]) == len(found["hybrid"]) == 3  # prose is no candidate


def test_prose_is_a_candidate_on_request(corpus: CodeCorpus) -> None:
    found = paths(CodeIndex.build(corpus, fake, include="all"), "retry")
    assert set(found["bm25"]) == {"README.md", "net/retry.rs"}


def test_hybrid_is_the_weighted_sum_of_z_scores(corpus: CodeCorpus) -> None:
    settings = CodeSettings(lexical=0.5)
    index = CodeIndex.build(corpus, fake, settings=settings)
    found = index.search(["open the rows"], 3)
    by_arm = {}
    for arm, of in found.items():
        assert of.scores is not None
        by_arm[arm] = {
            int(at): float(score) for at, score in zip(of.ids[0], of.scores[0], strict=True)
        }
    ids = sorted(by_arm["semantic"])
    lexical = np.array([by_arm["bm25"].get(at, 0.0) for at in ids])
    semantic = np.array([by_arm["semantic"][at] for at in ids])
    expected = (semantic - semantic.mean()) / semantic.std() + 0.5 * (
        (lexical - lexical.mean()) / lexical.std()
    )
    assert [by_arm["hybrid"][at] for at in ids] == pytest.approx(expected.tolist(), abs=1e-4)


def test_semantic_is_the_mean_of_two_cosines(corpus: CodeCorpus) -> None:
    index = CodeIndex.build(corpus, fake, settings=CodeSettings(summary=3.0))
    of = index.search(["open the rows"], 3)["semantic"]
    assert of.scores is not None
    query = fake(["open the rows"], kind="query")[0]
    for at, score in zip(of.ids[0], of.scores[0], strict=True):
        text = chunk_text(corpus.chunks[at])
        code, summary = fake([text.head, text.summary], kind="passage") @ query
        assert score == pytest.approx((code + 3 * summary) / 4, abs=1e-6)


def test_a_query_without_any_known_word_still_has_a_semantic_order(corpus: CodeCorpus) -> None:
    found = paths(CodeIndex.build(corpus, fake), "zzz")
    assert found["bm25"] == []
    assert found["hybrid"] == found["semantic"]


def test_queries_in_a_batch_do_not_influence_each_other(corpus: CodeCorpus) -> None:
    index = CodeIndex.build(corpus, fake)
    queries = [f"{word} {n}" for n in range(50) for word in ("open table", "retry", "flush")]
    together = index.search(queries, 2)
    for at in (0, 1, 77, 149):
        alone = index.search([queries[at]], 2)
        for arm in CODE_ARMS:
            np.testing.assert_array_equal(together[arm].ids[at], alone[arm].ids[0])


def test_descriptions_are_embedded_before_the_text(corpus: CodeCorpus) -> None:
    seen: list[str] = []

    def watch(texts: Sequence[str], *, kind: str) -> Vectors:
        seen.extend(texts)
        return fake(texts, kind=kind)

    lines = [f"Says {at}." for at in range(len(corpus))]
    CodeIndex.build(corpus, watch, descriptions=lines, include="all")
    assert [text.split("\n")[0] for text in seen] == lines * 2
    with pytest.raises(InputError, match="1 descriptions for 4 chunks"):
        CodeIndex.build(corpus, fake, descriptions=["one"])


def test_candidates_carry_place_names_and_body(corpus: CodeCorpus) -> None:
    index = CodeIndex.build(corpus, fake)
    ranking = index.search(["retry"], 5)["bm25"].ids[0]
    candidate = index.candidates(ranking)[0]
    assert (candidate.label, candidate.symbols) == ("net/retry.rs:1-2", ("fn retry",))
    assert candidate.text == FILES["net/retry.rs"].rstrip("\n")


def test_what_cannot_be_searched_is_said(corpus: CodeCorpus) -> None:
    prose = CodeCorpus("p", tuple(c for c in corpus.chunks if not c.is_code), 1)
    with pytest.raises(CorpusError, match="no file in a known programming language"):
        CodeIndex.build(prose, fake)
    with pytest.raises(InputError, match="include is 'docs'"):
        CodeIndex.build(corpus, fake, include="docs")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k is 0"):
        CodeIndex.build(corpus, fake).search(["x"], 0)


@pytest.mark.parametrize(
    ("text", "documentation", "signature"),
    [
        ("/// Opens.\n///\n/// Twice.\n#[inline]\npub fn open(\n    p: &str,\n) -> X {\n    a\n}",
         "Opens. Twice.", "pub fn open( p: &str, ) -> X {"),
        ('@cache\ndef open(p):\n    """Opens.\n\n    Twice."""\n    return 1', "Opens. Twice.",
         "def open(p):"),
        ("/**\n * Opens.\n * @param p path\n */\nvoid open(P p) {\n}", "Opens. @param p path",
         "void open(P p) {"),
        ("# Opens.\ndef open(p): pass\n\nx = 1", "Opens.", "def open(p): pass x = 1"),
        ("#include <a.h>\nint x;", "", "#include <a.h> int x;"),
        ("let x = 1", "", "let x = 1"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_documentation_and_signature_are_told_apart(
    text: str, documentation: str, signature: str
) -> None:
    parts = chunk_text(CodeChunk("a", "rust", (), 2, 9, text))
    assert (parts.documentation, parts.signature) == (documentation, signature)
    assert parts.body == text


def test_a_licence_is_no_content() -> None:
    licence = "// Copyright 2026 Someone\n//\n// Licensed under terms\n\n"
    assert chunk_text(CodeChunk("a", "rust", (), 1, 9, licence + "fn a() {}")).body == "fn a() {}"
    assert without_licence("// licence alone") == "// licence alone"
    assert without_licence("// Opens.\nfn licence() {}") == "// Opens.\nfn licence() {}"
