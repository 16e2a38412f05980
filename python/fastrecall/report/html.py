"""A record as one self-contained page: no network, light and dark, on paper and on a phone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from fastrecall.report.cautions import cautions
from fastrecall.report.gains import told_gains
from fastrecall.report.links_table import elsewhere
from fastrecall.report.page import render_page
from fastrecall.report.pairs import arm_titles, pair_data
from fastrecall.report.plots import curve_chart
from fastrecall.report.reading import MISS_REASONS, not_yet, reading_aid
from fastrecall.report.stats_sections import stats_sections
from fastrecall.report.untrusted import cleaned
from fastrecall.report.whole import whole


def render_html(record: Mapping[str, Any]) -> str:
    """The page of *record* as HTML.

    Everything is inside: style, script, charts as SVG, the pairs as JSON that the script draws
    when they come into view. A content security policy lets the page load nothing and run its own
    script alone. Texts of tickets are escaped and cut, and characters that hide or reorder text
    are spelt out. Keys that a record lacks (one of an older version, say) leave out their section.

    Raises:
        MissingExtraError: jinja2 is not installed.
        RecordError: *record* was read from a file that is not as it was written.
    """
    with whole(record):
        return _page(cleaned(dict(record)))


def _page(page: dict[str, Any]) -> str:
    protocols = list(_protocols(page))
    data = pair_data(page) | {
        "curves": {
            protocol["key"]: protocol["chart"].hits_at
            for protocol in protocols
            if protocol["chart"] is not None
        }
    }
    return render_page(
        "page.html.j2",
        script="page.js",
        data=script_json(data),
        corpus=page["corpus"],
        settings=page["settings"],
        model=page["model"],
        versions=page["versions"],
        seconds=page.get("timings", {}).get("total_seconds"),
        notes=[*cautions(page), *page["corpus"]["notes"]],
        headline=_headline(page),
        protocols=protocols,
        has_leave_one_out="leave-one-out" in page["protocols"],
        arms=arm_titles(page),
        reasons=MISS_REASONS,
        links=page.get("links"),
        elsewhere=elsewhere(page["links"]) if "links" in page else [],
        aid=reading_aid(page),
        sections=stats_sections(page["stats"]) if "stats" in page else [],
    )


def script_json(value: object) -> str:
    r"""*value* as JSON that may stand inside a script element, whatever its texts are.

    >>> script_json("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _headline(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The numbers on top: as published, beside it without the asked issue, and the controls."""
    protocols = page["protocols"]
    chosen = [
        (protocol, arm, note)
        for protocol, arm, note in (
            ("published", "causal", "the asked issue is itself stored"),
            ("leave-one-out", "causal", "the asked issue is new to the memory"),
            ("leave-one-out", "semantic_prs", "no links followed: just the nearest PRs"),
            ("shuffled", "causal", "a control: all links lead to wrong PRs"),
        )
        if arm in protocols.get(protocol, {"arms": {}})["arms"]
    ]
    if not chosen:
        protocol, block = next((k, b) for k, b in protocols.items() if b["arms"])
        chosen = [(protocol, next(iter(block["arms"])), block["sentence"])]
    return [
        {
            "key": arm,
            "protocol": protocols[protocol]["title"],
            "arm": protocols[protocol]["arms"][arm],
            "note": note,
        }
        for protocol, arm, note in chosen
    ]


def _protocols(page: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    misses = _miss_counts(page)
    for key, block in page["protocols"].items():
        yield {
            "key": key,
            "block": block,
            "not_yet": not_yet(block) if block.get("not_yet") else "",
            "gains": told_gains(page, key),
            "chart": curve_chart(block["arms"], budget=page["settings"]["budget"]),
            "breakdowns": page.get("breakdowns", {}).get(key, {}),
            "misses": {
                reason: {arm: misses[key, arm, reason] for arm in block["arms"]}
                for reason in MISS_REASONS
                if any(misses[key, arm, reason] for arm in block["arms"])
            },
        }


def _miss_counts(page: Mapping[str, Any]) -> Counter[tuple[str, str, str]]:
    return Counter(
        (protocol, arm, miss["reason"])
        for row in page["queries"]
        for protocol, arms in row["misses"].items()
        for arm, miss in arms.items()
    )
