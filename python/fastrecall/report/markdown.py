"""A record as Markdown, for a discussion or a build's summary page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fastrecall._visible import visible
from fastrecall.report.cautions import cautions
from fastrecall.report.format import bounds, p_value, percent, plural, points, sentence, share
from fastrecall.report.gains import told_gains
from fastrecall.report.reading import not_yet, reading_aid


def render_markdown(record: Mapping[str, Any]) -> str:
    """The record's head and one table a protocol, in GitHub's Markdown."""
    corpus, settings = record["corpus"], record["settings"]
    lines = [
        f"## Recall of past fixes: {escape(corpus['name'])}",
        "",
        f"{plural(corpus['issues'], 'issue')}, {plural(corpus['prs'], 'PR')}, "
        f"{plural(corpus['pairs'], 'gold pair')} · model {escape(record['model']['id'])} · "
        f"links {escape('+'.join(settings['links']))} · budget {settings['budget']}",
    ]
    lines += [f"\n> {escape(text)}" for text in [*cautions(record), *corpus["notes"]]]
    lines += _headline(record)
    for key, block in record["protocols"].items():
        lines += [
            "",
            f"### {escape(sentence(block['title']))}",
            "",
            f"{escape(sentence(block['sentence']))}.",
        ]
        if block["own_issue_first"] is not None:
            lines.append(
                f"Own issue ranked first for {block['own_issue_first']} of "
                f"{block['queries']} queries."
            )
        if block["unreachable"]:
            pairs = plural(block["unreachable"], "pair")
            lines.append(f"{pairs} not asked: the PR is not in the corpus.")
        if block.get("not_yet"):
            lines.append(f"{sentence(not_yet(block))}: no arm can find them.")
        headings = ("arm", "hits", "rate, Wilson 95 %", "MRR, 95 %", "nodes")
        lines += ["", f"| {' | '.join(headings)} |", "|---|--:|--:|--:|--:|"]
        lines += [
            f"| {escape(arm['title'])} | {arm['hits']}/{arm['pairs']} "
            f"| {share(arm['rate'], arm['wilson95'])} "
            f"| {arm['mrr']:.3f} [{bounds(arm['mrr_ci95'])}] "
            f"| {arm['mean_output']:.1f} |"
            for arm in block["arms"].values()
        ]
        for gain in told_gains(record, key):
            lines += [
                "",
                f"{escape(gain['title'])}: {points(gain['difference'], gain['ci95'])}, "
                f"{plural(gain['won'], 'pair')} won, {gain['lost']} lost, "
                f"{p_value(gain['holm_p'])}.",
            ]
    lines += ["", "<details><summary>How to read this</summary>", ""]
    lines += [f"- **{word}**: {escape(meaning)}" for word, meaning in reading_aid(record)]
    lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _headline(record: Mapping[str, Any]) -> list[str]:
    """The causal arm as published and, in the same sentence, without the asked issue."""
    told = [
        f"**{percent(block['arms']['causal']['rate'])}** "
        f"({block['arms']['causal']['hits']}/{block['pairs']}) {escape(block['title'])}"
        for key, block in record["protocols"].items()
        if key in ("published", "leave-one-out") and "causal" in block["arms"]
    ]
    return ["", f"Walking closing links brings back the fix for {' and '.join(told)}."] * bool(told)


_MARKUP = re.compile(r"[\\`*_\[\]|#@~!]")
_ALIVE = re.compile(r"@|#|\bGH-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)


def escape(text: str) -> str:
    r"""Text that may come from anybody, made inert in Markdown.

    GitHub looks for people, tickets and addresses after Markdown has taken backslashes away, so an
    empty comment, which nobody sees, parts what it looks for (github/cmark-gfm#181).

    >>> escape("<b>*x*</b> @ann")
    '&lt;b&gt;\\*x\\*&lt;/b&gt; \\@<!-- -->ann'
    """
    text = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ALIVE.sub(r"\g<0><!-- -->", _MARKUP.sub(r"\\\g<0>", text))
