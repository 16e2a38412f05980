"""A published run and its repetition, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.report.console import finished, text_console
from fastrecall.report.format import plural, points, share

_PROTOCOLS = {"published": "as published", "leave-one-out": "own issue removed"}


def render_reproduction(document: Mapping[str, Any], *, width: int, color: bool) -> str:
    """The comparison as text: a table a published figure, then what explains the differences."""
    from rich.table import Table

    console, out = text_console(width, color)
    corpus = document["corpus"]
    console.print(
        f"{corpus['name']}: {plural(corpus['issues'], 'issue')}, {plural(corpus['prs'], 'PR')} in "
        f"the window · model {document['model']}"
    )
    console.print(
        f"{document['asked']} of {document['published_pairs']} published pairs asked · "
        f"{document['article']}"
    )
    for row in document["rows"]:
        published = row["published"]
        console.print()
        console.print(
            f"{row['what']}: published {published['hits']}/{published['pairs']} = "
            f"{share(published['rate'], published['wilson95'])}",
            style="bold",
        )
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
        for heading in ("measured", "protocol", "hits", "rate", "difference", "nodes"):
            left = heading in ("measured", "protocol")
            table.add_column(heading, justify="left" if left else "right")
        for arm in row["measured"].values():
            for protocol, block in arm.items():
                table.add_row(
                    block["title"],
                    _PROTOCOLS.get(protocol, protocol),
                    f"{block['hits']}/{block['pairs']}",
                    share(block["rate"], block["wilson95"]),
                    points(block["rate"] - published["rate"]),
                    f"{block['mean_output']:.1f}",
                )
        console.print(table)
    console.print()
    console.print("What explains the differences", style="bold")
    for reason in document["reasons"]:
        console.print(f"· {reason}")
    return finished(out)
