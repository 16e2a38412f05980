"""The page: what it says, and that nothing in it does harm."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.browser import Browser, chromium
from tests.report.elements import HOSTILE, OWN, Elements

from fastrecall.corpus import load_corpus, make_corpus
from fastrecall.errors import MissingExtraError
from fastrecall.report.html import render_html, script_json
from fastrecall.study import Record, evaluate
from fastrecall.types import Ticket, WindowCut


@pytest.fixture(scope="module")
def record() -> Record:
    """Fifty issues, each closed by a PR; the first ones have hostile titles."""
    tickets = []
    for number in range(1, 51):
        hostile = HOSTILE[number - 1] if number <= len(HOSTILE) else f"symptom no. {number}"
        day = 1_600_000_000 + 86_400 * number
        tickets.append(Ticket("o/r", "issue", number, hostile, "", day))
        body = f"Fixes #{number}"
        tickets.append(
            Ticket("o/r", "pr", number + 100, f"Change {number} {hostile}", body, day + 5)
        )
    cut = WindowCut(50, 50, 50, 50)
    corpus = make_corpus(tickets, name="<b>odd</b>", cut=cut, notes=(HOSTILE[0],))
    return evaluate(corpus, model="fake", cache=False, budget=4)


@pytest.fixture(scope="module")
def page(record: Record) -> str:
    return render_html(record)


def test_numbers_of_the_record_stand_in_the_page(record: Record, page: str) -> None:
    for block in record["protocols"].values():
        for arm in block["arms"].values():
            assert f"{arm['hits']}/{arm['pairs']}" in page
            assert f"{100 * arm['rate']:.1f} %" in page
            assert f"{arm['mrr']:.3f}" in page
    assert record["corpus"]["fingerprint"] in page
    for breakdown in record["breakdowns"]["leave-one-out"].values():
        assert breakdown["sentence"].replace("'", "&#39;") in page


def test_the_headline_names_its_protocol_and_has_leave_one_out_beside_it(page: str) -> None:
    headline = page[page.index('id="headline"') : page.index("<nav")]
    titles = re.findall(r"<figcaption><strong>(.*?)</strong>(.*?)</figcaption>", headline)
    assert titles[:2] == [("As published", "causal"), ("Leave-one-out", "causal")]
    assert "ranked first for" in headline


def test_the_page_is_one_file(page: str) -> None:
    elements = Elements(page).found
    assert not {"link", "img", "iframe", "object", "embed", "base"} & {tag for tag, _ in elements}
    for _, attributes in elements:
        assert not {"src", "srcset", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in page
    assert "@import" not in page


def test_hostile_texts_make_no_elements(page: str) -> None:
    elements = Elements(page)
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert not re.search("[\u200f\u202e\u2028\ud800]", page)
    assert "‹U+202E›" in page
    assert "x" * 1000 not in page
    assert "<b>odd</b>" not in page
    page.encode()


def test_the_policy_lets_only_the_pages_own_script_run(page: str) -> None:
    elements = Elements(page)
    [policy] = [
        attributes["content"] or ""
        for tag, attributes in elements.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for text in (elements.texts["script"][-1], elements.texts["style"][0]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_embedded_pairs_are_those_of_the_record(record: Record, page: str) -> None:
    data = json.loads(Elements(page).texts["script"][0])
    protocols = [key for key, _ in data["protocols"]]
    arms = [key for key, _ in data["arms"]]
    assert len(data["pairs"]) == len(record["queries"]) == 50
    for row, (issue, _, pr, ranks, misses) in zip(record["queries"], data["pairs"], strict=True):
        assert data["tickets"][issue][0] == f"o/r#{row['issue']}"
        assert data["tickets"][pr][0] == f"o/r#{row['pr']}"
        for place, protocol in enumerate(protocols):
            told = {
                arm: rank or None
                for arm, rank in zip(arms, ranks[place], strict=True)
                if rank is not None
            }
            assert told == row["ranks"][protocol]
            for arm, miss in row["misses"].get(protocol, {}).items():
                reason, rank, *instead = misses[str(place)][str(arms.index(arm))]
                assert data["reasons"][reason][0] == miss["reason"]
                assert (rank or None) == miss.get("rank")
                assert [data["tickets"][ticket][0] for ticket in instead] == miss["instead"]


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "\u2028", '"\\', "&lt;"])
def test_json_in_a_script_is_read_back_and_ends_no_element(text: str) -> None:
    written = script_json([text])
    assert not set("<>&\u2028") & set(written)
    assert json.loads(written) == [text]


def test_a_record_without_the_newer_keys_is_drawn(record: Record) -> None:
    kept = {k: v for k, v in record.items() if k not in ("breakdowns", "links", "tickets")}
    page = render_html(kept)
    assert 'id="links"' not in page
    assert "data-panel=" not in page
    assert 'id="pairs"' in page


def test_one_protocol_and_one_arm_are_drawn() -> None:
    demo = load_corpus("demo")
    page = render_html(
        evaluate(demo, model="fake", cache=False, protocols=["leave-one-out"], arms=["bm25"])
    )
    assert page.count("<figure class") == 2  # the headline and the curves


@pytest.mark.parametrize("budget", [3, 64, 65, 150])
def test_curves_reach_the_budget(budget: int) -> None:
    demo = load_corpus("demo")
    record = evaluate(
        demo,
        model="fake",
        cache=False,
        protocols=["leave-one-out"],
        arms=["semantic", "bm25"],
        budget=budget,
    )
    arms = record["protocols"]["leave-one-out"]["arms"]
    assert {len(arm["hits_at"]) for arm in arms.values()} == {max(budget, 64)}
    assert all(arm["hits_at"][budget - 1] == arm["hits"] for arm in arms.values())
    page = render_html(record)
    assert f"at k = {budget}<" in page
    legend = page[page.index('<ul class="legend">') : page.index(f"at k = {budget}<")]
    assert f"semantic <b>{100 * arms['semantic']['rate']:.1f} %</b>" in legend


def test_a_missing_package_is_named(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fastrecall\[report\]'"):
        render_html(record)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium on this machine: the page was not opened")
    with Browser(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def address(page: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


ROWS = "document.querySelectorAll('#rows tr.pair').length"


def search(browser: Browser, words: str) -> None:
    browser.run(f"document.querySelector('[name=q]').value = {json.dumps(words)}")
    browser.run("document.querySelector('#filters').dispatchEvent(new Event('input'))")


def test_the_browser_loads_nothing_and_runs_nothing_foreign(browser: Browser, address: str) -> None:
    browser.open(address)
    browser.until(f"{ROWS} === 50")
    browser.run("document.querySelectorAll('#rows .opener').forEach((opener) => opener.click())")
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [address]
    assert browser.run("document.title") == "Recall of past fixes: <b>odd</b>"
    assert (
        browser.run("document.querySelectorAll('#rows script, #rows img, #rows svg').length") == 0
    )
    trouble = [
        event for event in browser.events
        if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")
    ]  # fmt: skip
    assert trouble == []


def test_the_policy_stops_an_injected_script(browser: Browser, address: str) -> None:
    browser.open(address)
    browser.run(
        "const added = document.createElement('script'); "
        f"added.textContent = {json.dumps(OWN)}; document.body.append(added)"
    )
    assert browser.run("document.title") != "owned"


def test_search_and_filters_choose_rows(browser: Browser, address: str, record: Record) -> None:
    browser.open(address)
    browser.until(f"{ROWS} === 50")
    search(browser, "SYMPTOM 33")
    browser.until(f"{ROWS} === 1")
    assert "symptom no. 33" in browser.run("document.querySelector('#rows tr.pair').textContent")
    assert browser.run("location.hash").startswith("#q=SYMPTOM+33&protocol=leave-one-out")
    search(browser, "<script>")
    browser.until(f"{ROWS} === 3")
    hits = record["protocols"]["published"]["arms"]["semantic"]["hits"]
    browser.open(f"{address}#protocol=published&arm=semantic&show=found")
    browser.until(f"{ROWS} === {hits}")
    browser.run("location.hash = '#protocol=published&arm=semantic&show=missed'")
    browser.until(f"{ROWS} === {50 - hits}")


def test_counts_of_misses_lead_to_their_pairs(browser: Browser, address: str) -> None:
    browser.open(address)
    number = browser.run("document.querySelector('#misses td a').textContent")
    browser.run("document.querySelector('#misses td a').click()")
    browser.until(f"{ROWS} === {number}")


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_page_fits_its_window(browser: Browser, address: str, width: int) -> None:
    browser.window(width, 844)
    browser.open(address)
    browser.until(f"{ROWS} === 50")
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_dark_and_light_differ(browser: Browser, address: str) -> None:
    seen = []
    for dark in (False, True):
        browser.window(1280, 844, dark=dark)
        browser.open(address)
        seen.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert seen == ["rgb(251, 251, 250)", "rgb(20, 23, 26)"]
