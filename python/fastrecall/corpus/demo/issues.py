"""How users write: titles that name a symptom, bodies with templates, logs and small talk."""

from __future__ import annotations

from fastrecall.corpus.demo.draft import Draft
from fastrecall.corpus.demo.pen import Pen, sentence
from fastrecall.corpus.demo.words import phrases


def write_issue(draft: Draft, pen: Pen) -> None:
    """Give an issue its title, body and comment."""
    draft.title = _title(draft, pen)
    body = _body(draft, pen)
    if draft.origin is not None:
        body = _point_at(draft.origin, draft, body, pen)
    draft.body = None if body is None else pen.with_line_ends(body)


def _point_at(original: Draft, draft: Draft, body: str | None, pen: Pen) -> str | None:
    """Name the original of a duplicate, in the body or in a comment; returns the body."""
    if draft.evidence != "text":
        draft.comment = f"Same as #{original.number}."
        return body
    pointer = f"Duplicate of #{original.number}"
    if pen.dice.chance(0.5):
        return f"{body or ''}\n\n{pointer}".strip()
    draft.comment = pointer
    return body


def symptom(draft: Draft, pen: Pen) -> str:
    """The fault in a user's words."""
    things = draft.component.things[draft.language]
    said = pen.dice.pick(draft.fault.symptoms[draft.language])
    return sentence(said.replace("{thing}", things[draft.thing % len(things)]))


def _title(draft: Draft, pen: Pen) -> str:
    dice, words = pen.dice, phrases(draft.language)
    things = draft.component.things[draft.language]
    thing = things[draft.thing % len(things)]
    if draft.role == "series":
        return pen.fill(draft.series)
    if draft.role == "wish":
        return pen.title(lambda: sentence(pen.fill(dice.pick(words["wishes"]), thing=thing)))
    if draft.role == "terse":
        nouns = words["terse_nouns"]
        return pen.title(
            lambda: sentence(pen.fill(dice.pick(words["terse"]), noun=dice.pick(nouns)))
        )
    if draft.role == "flaky report":
        frames = phrases("english")["flaky_issues"]
        return pen.title(lambda: pen.fill(dice.pick(frames), test=draft.test))
    if draft.role == "regression":
        frames = phrases("english")["regressions"]
        return pen.title(lambda: pen.fill(dice.pick(frames), symptom=_complaint(draft, pen)))
    return pen.title(lambda: _complaint(draft, pen))


def _complaint(draft: Draft, pen: Pen) -> str:
    said = symptom(draft, pen)
    if pen.dice.chance(0.6):
        return f"{said} {pen.dice.pick(phrases(draft.language)['when'])}"
    return said


def _body(draft: Draft, pen: Pen) -> str | None:
    dice, words = pen.dice, phrases(draft.language)
    if draft.role == "series":
        return pen.fill(dice.pick(phrases("english")["series_notes"]))
    if draft.role != "terse" and dice.chance(0.06):
        return None if dice.chance(0.5) else ""
    said = [symptom(draft, pen) + "."] if draft.role == "terse" or dice.chance(0.5) else []
    said += [pen.fill(dice.pick(words["details"])) for _ in range(1 + dice.chance(0.3))]
    body = " ".join(said)
    if dice.chance(0.3):
        body = pen.fill(
            dice.pick(words["headings"]),
            said=body,
            expected=dice.pick(words["expected"]),
            step=pen.fill(dice.pick(phrases("english")["steps"])),
            detail=pen.fill(dice.pick(words["details"])),
        )
    if dice.chance(0.1):
        log = "\n".join(pen.fill(line) for line in draft.component.log)
        body += f"\n\n```\n{log}\n```"
    return body
