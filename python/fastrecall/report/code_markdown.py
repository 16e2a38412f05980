"""A record of code search as Markdown, for a discussion or a build's summary page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.report.code_table import METRICS
from fastrecall.report.format import bounds, p_value, plural, points
from fastrecall.report.markdown import escape


def render_code_markdown(record: Mapping[str, Any]) -> str:
    """The record's head and its table of arms, in GitHub's Markdown."""
    corpus, block, gain = record["corpus"], record["protocols"]["code"], record["gain"]["code"]
    at = f" at {escape(corpus['commit'][:12])}" if corpus["commit"] else ""
    lines = [
        f"## Code search: {escape(corpus['name'])}{at}",
        "",
        f"{plural(block['queries'], 'query', 'queries')} ({escape(corpus['gold_origin'])}) · "
        f"{plural(corpus['nodes'], 'candidate')} · model {escape(record['model']['id'])}",
        "",
        f"| arm | {' | '.join(METRICS.values())} |",
        f"|---|{'--:|' * len(METRICS)}",
    ]
    for arm in block["arms"].values():
        cells = (f"{arm[name]:.3f} [{bounds(arm['ci95'][name])}]" for name in METRICS)
        lines.append(f"| {escape(arm['title'])} | {' | '.join(cells)} |")
    lines += [
        "",
        f"[ ]: 95 % intervals. {escape(gain['title'])}: "
        f"{points(gain['difference'], gain['ci95'])}, exact McNemar {p_value(gain['mcnemar_p'])}.",
    ]
    if "reasoning" in record:
        lines += ["", escape(record["reasoning"]["sentence"])]
    return "\n".join(lines) + "\n"
