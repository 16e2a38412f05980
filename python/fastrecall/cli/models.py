"""``fastrecall models``: the embedding models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._output import print_json

if TYPE_CHECKING:
    from fastrecall.embedding import ModelInfo


@click.command("models")
@click.option("--fetch", metavar="NAME", help="Download this model into the hub cache.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(fetch: str | None, as_json: bool) -> None:
    """List the embedding models: where they come from, how big they are, whether they are here.

    `--model` of other commands takes a name from this list, a folder with model.onnx and
    tokenizer.json, or the id of a model on the Hugging Face hub.
    """
    from fastrecall._term import note
    from fastrecall.embedding import fetch_model, list_models

    if fetch is not None:
        note(f"{fetch} is at {fetch_model(fetch).path}")
        return
    rows = [_row(model) for model in list_models()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        place = row["path"] or ("built in" if row["available"] else "not here")
        click.echo(f"{row['name']}  ({row['id']})")
        click.echo(f"    {row['about']}")
        click.echo(f"    {row['dim']} dimensions, {row['megabytes']} MB, {row['licence']}; {place}")
        if not row["available"]:
            click.echo(f"    fetch it with: fastrecall models --fetch {row['name']}")


def _row(model: ModelInfo) -> dict[str, Any]:
    return {
        "name": model.name,
        "id": model.id,
        "about": model.about,
        "dim": model.dim,
        "megabytes": round(model.size / 1e6, 1),
        "licence": model.licence,
        "available": model.available,
        "path": str(model.path) if model.path else None,
    }
