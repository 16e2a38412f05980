"""How engineers write: titles that name the change, bodies with reasons and closing references."""

from __future__ import annotations

from fastrecall.corpus.demo.chores import CHORES
from fastrecall.corpus.demo.draft import Draft
from fastrecall.corpus.demo.links import REPO
from fastrecall.corpus.demo.pen import Pen
from fastrecall.corpus.demo.traces import HUMAN_TRAILER
from fastrecall.corpus.demo.words import phrases

TITLE_STYLES = ("{title}", "{title}", "{name}: {title}", "[{name}] {title}", "fix({name}): {title}")

NAMES_THE_THING = 0.7
"""Share of fixes that say in the users' words where the fault was seen."""
QUOTES_THE_ISSUE = 0.12
"""Share of fixes that repeat the issue's title."""


def write_pr(draft: Draft, pen: Pen) -> None:
    """Give a pull request its title and body."""
    draft.title = _title(draft, pen)
    paragraphs = _paragraphs(draft, pen)
    paragraphs += [text.format(n=other.number) for other, text in draft.mentions]
    paragraphs += _trailers(draft, pen)
    draft.body = pen.with_line_ends("\n\n".join(paragraphs)) if paragraphs else _nothing(pen)


def _title(draft: Draft, pen: Pen) -> str:
    dice, words = pen.dice, phrases("english")
    if draft.series:
        return pen.fill(draft.series)
    if draft.origin is not None:
        return _title_after(draft, draft.origin)
    if draft.role == "mute":
        return pen.title(lambda: pen.fill(dice.pick(words["flaky_fixes"]), test=draft.test))
    if draft.role == "deflake":
        return pen.title(lambda: pen.fill(dice.pick(words["flaky_calm"]), test=draft.test))
    if draft.friend is not None and draft.friend.title:
        frame = draft.friend.title
        title = pen.title(lambda: pen.fill(frame, part=dice.pick(draft.component.parts)))
    else:
        title = pen.title(lambda: _change(draft, pen))
    for issue, form in draft.closes:
        if form.place == "title":
            return form.text.format(title=title, n=issue.number)
    return title


def _title_after(draft: Draft, origin: Draft) -> str:
    if draft.role == "backport":
        return f"[{draft.base}] {origin.title} (#{origin.number})"
    verb = "Revert" if draft.role == "revert" else "Reapply"
    return f'{verb} "{origin.title}"'


def _change(draft: Draft, pen: Pen) -> str:
    dice, words = pen.dice, phrases(draft.language)
    if draft.role == "work":
        frames = phrases("english")["work"]
    else:
        frames = draft.fault.fixes if draft.language == "english" else words["fixes"]
    change = dice.pick(frames).replace("{part}", dice.pick(draft.component.parts))
    if draft.language == "english" and dice.chance(0.6):
        change = f"{change} {dice.pick(words['tails'])}"
    return dice.pick(TITLE_STYLES).format(title=change, name=draft.component.name)


def _paragraphs(draft: Draft, pen: Pen) -> list[str]:
    dice, words = pen.dice, phrases("english")
    closing = [
        form.text.format(n=issue.number) for issue, form in draft.closes if form.place == "body"
    ]
    if draft.role == "chore":
        frame = next(chore.body for chore in CHORES if chore.account is draft.account)
        return [pen.fill(frame)]
    if draft.role == "revert" and draft.origin is not None:
        reason = pen.fill(dice.pick(words["reasons_to_revert"]))
        return [f"Reverts {REPO}#{draft.origin.number}", reason]
    if draft.role == "backport" and draft.origin is not None:
        return [f"Cherry-pick of #{draft.origin.number}.", *closing, "Related issues: None"]
    if not closing and dice.chance(0.3):
        return []
    reasons = _reasons(draft, pen)
    if dice.chance(0.14):
        return _template(draft, reasons, closing)
    return [*closing, *reasons] if dice.chance(0.4) else [*reasons, *closing]


def _reasons(draft: Draft, pen: Pen) -> list[str]:
    dice = pen.dice
    if draft.role == "work":
        return [pen.fill(dice.pick(phrases("english")["work_notes"]))]
    if draft.role in ("mute", "deflake"):
        return [f"Seen in {dice.between(2, 9)} of {dice.between(40, 99)} runs."]
    said = []
    if draft.language == "russian":
        said.append(dice.pick(phrases("russian")["reasons"]))
    elif dice.chance(0.75):
        said.append(dice.pick(draft.fault.reasons))
    if dice.chance(NAMES_THE_THING):
        things = draft.component.things["english"]
        said.append(f"Seen with the {things[draft.thing % len(things)]}.")
    for issue, _ in draft.closes:
        if issue.title and dice.chance(QUOTES_THE_ISSUE):
            said.append(f"Was reported as “{issue.title}”.")
    return [" ".join(said)] if said else []


def _template(draft: Draft, reasons: list[str], closing: list[str]) -> list[str]:
    """The project's own pull request template: closing lines come late, often past any cut."""
    return [
        "### Changelog entry",
        f"Changes the {draft.component.name} component.",
        "### Changelog category",
        "* Improvement\n* Bug\n* Not for the changelog",
        "### For reviewers",
        *reasons,
        "- [x] tests\n- [ ] documentation",
        *closing,
    ]


def _trailers(draft: Draft, pen: Pen) -> list[str]:
    said = [source.text for source in (draft.friend, draft.trace) if source is not None]
    texts = [pen.fill(text) for text in said if text]
    if draft.coauthor is not None:
        name, login = draft.coauthor.name, draft.coauthor.login
        texts.append(HUMAN_TRAILER.format(name=name, login=login))
    return texts


def _nothing(pen: Pen) -> str | None:
    """An empty body comes as ``null`` or as an empty string."""
    return None if pen.dice.chance(0.4) else ""
