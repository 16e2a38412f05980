"""Results as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.results import Measurement, roof_seconds

Rows = Mapping[str, dict[str, Any]]

HEAD = (
    "| work | threads | best peer | its median | fastrecall | times faster (95 %) | goal | met "
    "| recall | of the roof |\n|---|---|---|---|---|---|---|---|---|---|"
)
CAPS_HEAD = "| work | measured (95 %) | goal | met |\n|---|---|---|---|"
KERNELS_HEAD = "| kernel | instruction set | rate | of its roof |\n|---|---|---|---|"


def goals_table(rows: Rows) -> str:
    """The table of goals, the figures with a cap instead of a peer, and where they are from."""
    if not rows:
        return "Nothing has been measured yet: `python bench/goals.py` does."
    roof = rows.get("roof", {}).get("roof", {})
    lines = [one for row in rows.values() for one in row["measurements"]]
    parts = []
    if faster := [one for one in lines if one.kind == "faster"]:
        parts.append("\n".join([HEAD, *(_faster_line(one, roof) for one in faster)]))
    if caps := [one for one in lines if one.kind == "at most"]:
        parts.append("\n".join([CAPS_HEAD, *(_cap_line(one) for one in caps)]))
    if notes := list(dict.fromkeys(one.note for one in lines if one.note)):
        parts.append("\n".join(f"* {note}" for note in notes))
    parts.append(_origin(rows))
    return "\n\n".join(parts)


def kernels_table(rows: Rows) -> str:
    """Every kernel on every instruction set, and the roof it is measured by."""
    row = rows.get("roof")
    if row is None:
        return "The roof has not been measured yet: `python bench/goals.py --rows roof` does."
    lines = [KERNELS_HEAD]
    for one in row["kernels"]:
        share = "–" if one["share"] is None else f"{one['share']:.0%}"
        lines.append(
            f"| {one['kernel']} | {one['isa']} | {one['rate']:.4g} {one['unit']} | {share} |"
        )
    roof = "; ".join(
        f"{what} {' / '.join(f'{rate:.4g}' for rate in rates.values())}"
        for what, rates in row["roof"].items()
    )
    return "\n".join(lines) + f"\n\nRoof on 1 / 2 / … threads (Gop/s or GB/s): {roof}."


def _faster_line(one: Measurement, roof: dict[str, Any]) -> str:
    peer, ours = one.best_peer, one.seconds.get(one.contender)
    work = one.work if one.contender == "fastrecall" else f"{one.work}, {one.contender[11:]}"
    cells = [work, str(one.threads), peer or "–"]
    cells.append(_shown(one, peer) if peer else "–")
    cells.append(_shown(one, one.contender) if ours else "–")
    cells.append("{:.2f} ({:.2f}–{:.2f})".format(*one.interval()) if one.ratios() else "–")
    cells += [f"≥ {one.goal:g}", one.verdict()]
    cells.append(f"{one.recall[one.contender]:.4f}" if one.contender in one.recall else "checked")
    least = roof_seconds(one, roof)
    cells.append(f"{least / one.time_of(one.contender):.0%}" if least and ours else "–")
    return f"| {' | '.join(cells)} |"


def _cap_line(one: Measurement) -> str:
    measured = "–"
    if one.values:
        middle, low, high = one.interval()
        spread = f" ({low:.3g}–{high:.3g})" if len(one.values) > 1 else ""
        measured = f"{middle:.3g}{spread} {one.unit}"
    return f"| {one.work} | {measured} | ≤ {one.goal:.3g} {one.unit} | {one.verdict()} |"


def _shown(one: Measurement, name: str) -> str:
    time = one.scale * one.time_of(name)
    return f"{time:,.0f} {one.unit}" if time >= 100 else f"{time:.3g} {one.unit}"


def _origin(rows: Rows) -> str:
    """Machine, versions and dates; says so when rows are not from one run or a busy machine."""
    first = next(iter(rows.values()))["provenance"]
    used = {name: version for name, version in first["versions"].items() if version != "absent"}
    lines = [
        f"{first['cpu']}, {first['cores']} cores, kernels {first['isa']}, "
        f"built by {first['build'].get('compiler', '?')}.",
        "Versions: " + ", ".join(f"{name} {version}" for name, version in used.items()) + ".",
    ]
    dates = sorted(row["provenance"]["date"] for row in rows.values())
    commits = sorted({row["provenance"]["commit"][:10] for row in rows.values()})
    lines.append(
        f"Measured from {dates[0]} to {dates[-1]}, commit{'s' * (len(commits) > 1)} "
        f"{', '.join(commits)}."
    )
    if changed := [name for name, row in rows.items() if row["provenance"]["changed_files"]]:
        lines.append(f"With uncommitted changes: {', '.join(changed)}.")
    if quick := [name for name, row in rows.items() if row["quick"]]:
        lines.append(f"Small sizes, good for a try only: {', '.join(quick)}.")
    busy = {name: row["surroundings"]["others_share"] for name, row in rows.items()}
    if busy := {name: share for name, share in busy.items() if share > 0.1}:
        lines.append(
            "Other programs had more than a tenth of the machine during: "
            + ", ".join(f"{name} ({share:.0%})" for name, share in busy.items())
            + "."
        )
    absent = {name: why for row in rows.values() for name, why in row["absent"].items()}
    lines += [f"Absent: {name}, {why}." for name, why in sorted(absent.items())]
    return "  \n".join(lines)
