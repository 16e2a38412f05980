"""Which tickets there are, and how they hang together: everything except the words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice

from fastrecall.corpus.demo.accounts import DEPENDABOT, GHOST, HOUSE_BOT, RENOVATE, people
from fastrecall.corpus.demo.chores import CHORES, Chore
from fastrecall.corpus.demo.dice import Dice
from fastrecall.corpus.demo.draft import EVIDENCE, Draft, Role
from fastrecall.corpus.demo.links import (
    ADDRESS,
    IN_TITLE,
    LOOKALIKES,
    LOOSE,
    MENTIONS,
    PLAIN,
    SIDEBAR,
    STRICT,
    Form,
)
from fastrecall.corpus.demo.traces import FALSE_FRIENDS, TRACES
from fastrecall.corpus.demo.words import Component, Fault, Language, components, phrases

UNIT = 1200
"""The shares below are counts in a corpus of this size; others are scaled."""

FIRST_DAY = 1_672_652_400  # 2023-01-02T09:40:00Z
SPAN = 3 * 365 * 86_400
HOUR, DAY = 3_600, 86_400

RUSSIAN_SHARE = 0.25
OLDER_BRANCHES = ("stable-24.1", "stable-24.2")
SERIES_SIZES = (34, 7, 5, 4, 3, 2, 2)
"""Groups of issues whose titles differ in a number, hash or version only."""
FIXED_IN_SERIES = 5
"""Every so many of a series is answered by a fix of its own."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many of each kind a corpus of ``nodes`` tickets holds."""

    nodes: int

    def of(self, count: int) -> int:
        """*count* in 1,200 tickets, scaled down or up."""
        return self.nodes * count // UNIT

    @property
    def issues(self) -> int:
        """All issues; the rest are pull requests."""
        return self.of(460)

    @property
    def pairs(self) -> int:
        """Gold pairs by the published expression."""
        return self.of(293)


class Plan:
    """Draws the drafts of one corpus; ``drafts`` holds them in the order of their numbers."""

    def __init__(self, nodes: int, seed: int) -> None:
        self.dice = Dice(seed)
        self.quotas = Quotas(nodes)
        self.drafts: list[Draft] = []
        self._issues = 0
        self._pairs = 0
        self._loose_forms = cycle(LOOSE)
        self._series_titles: set[str] = set()
        self._reused: set[Draft] = set()  # pull requests that others revert, reapply or backport
        self._plan()
        self._number_all()
        self._mention_others()
        self._settle()

    def _plan(self) -> None:
        of = self.quotas.of
        for size, count in ((2, of(20)), (3, of(7)), (5, of(2))):
            for _ in range(count):
                self._several_issues(size)
        for _ in range(of(10)):
            self._backported()
        for _ in range(of(12)):
            self._continued()
        for _ in range(of(6)):
            self._reverted_and_back()
        self._series()
        for _ in range(of(8)):
            role: Role = "mute" if self.dice.chance(0.5) else "deflake"
            self._fix(self._issue("flaky report"), role)
        for _ in range(of(10)):
            self._fix(self._issue("regression"))
        for _ in range(of(22)):
            self._fix(self._issue("terse"))
        self._duplicates(of(24))
        for forms, count in ((STRICT, of(18)), (IN_TITLE, of(14)), ((SIDEBAR,), of(8))):
            for form in islice(cycle(forms), count):
                self._fix(self._issue("report"), form=form)
        while self._pairs < self.quotas.pairs:
            self._fix(self._issue("report"))
        for _ in range(of(8)):
            self._issue("flaky report")
        while self._issues < self.quotas.issues:
            self._issue("wish" if self.dice.chance(0.4) else "report")
        self._unlinked_prs()
        self._leave_traces()

    # One ticket.

    def _draft(
        self, role: Role, *, is_pr: bool, like: Draft | None = None, time: int = -1
    ) -> Draft:
        """A new draft; with *like* about the same matter."""
        dice = self.dice
        language: Language
        if like is None:
            language = "russian" if dice.chance(RUSSIAN_SHARE) else "english"
            component: Component = dice.pick(components())
            fault: Fault = dice.pick(component.faults)
            thing = dice.below(40)
        else:
            language, component = like.language, like.component
            fault, thing = like.fault, like.thing
        if is_pr and language == "russian" and not dice.chance(0.25):
            language = "english"
        draft = Draft(
            role=role,
            is_pr=is_pr,
            time=dice.below(SPAN) if time < 0 else time,
            language=language,
            component=component,
            fault=fault,
            thing=thing,
            account=GHOST if dice.chance(0.005) else dice.pick(people(language)),
        )
        self.drafts.append(draft)
        if role in ("flaky report", "mute"):
            draft.test = self._test_name()
        self._issues += not is_pr
        return draft

    def _issue(self, role: Role, *, like: Draft | None = None, time: int = -1) -> Draft:
        return self._draft(role, is_pr=False, like=like, time=time)

    def _later(self, earlier: Draft, days: int) -> int:
        return earlier.time + HOUR + self.dice.early(days * DAY)

    def _link(self, issue: Draft, pr: Draft, form: Form) -> None:
        pr.closes.append((issue, form))
        self._pairs += form.published

    def _form(self) -> Form:
        return next(self._loose_forms) if self.dice.chance(0.08) else self.dice.pick(PLAIN)

    def _fix(self, issue: Draft, role: Role = "fix", *, form: Form | None = None) -> Draft:
        """A pull request that answers *issue*; a few were there before anybody complained."""
        if self.dice.chance(0.02):
            time = max(0, issue.time - self.dice.below(3 * DAY))
        else:
            time = self._later(issue, 90)
        pr = self._draft(role, is_pr=True, like=issue, time=time)
        pr.test = issue.test
        self._link(issue, pr, form or self._form())
        return pr

    # Episodes: tickets that belong together.

    def _several_issues(self, size: int) -> None:
        """Several people report one fault, one pull request closes all their issues."""
        issues = [self._issue("report")]
        for _ in range(size - 1):
            sibling = self._issue("report", like=issues[0], time=self._later(issues[-1], 20))
            if self.dice.chance(0.3):
                sibling.thing = self.dice.below(40)
            issues.append(sibling)
        pr = self._fix(issues[0], form=self.dice.pick(PLAIN))
        pr.time = max(pr.time, issues[-1].time + 60)
        for issue in issues[1:]:
            self._link(issue, pr, self.dice.pick(PLAIN))

    def _backported(self) -> None:
        """The house bot carries a fix to two older branches and repeats its closing line."""
        issue = self._issue("report")
        pr = self._fix(issue, form=self.dice.pick(PLAIN))
        self._reused.add(pr)
        for branch in OLDER_BRANCHES:
            port = self._draft("backport", is_pr=True, like=pr, time=self._later(pr, 10))
            port.language, port.account = "english", HOUSE_BOT
            port.origin, port.base = pr, branch
            self._link(issue, port, pr.closes[0][1])

    def _continued(self) -> None:
        """The first pull request was half the fix; the second closes the issue again."""
        issue = self._issue("report")
        first = self._fix(issue)
        second = self._draft("continuation", is_pr=True, like=issue, time=self._later(first, 30))
        self._link(issue, second, self._form())

    def _reverted_and_back(self) -> None:
        """A fix is reverted, then comes back."""
        issue = self._issue("report")
        pr = self._fix(issue, form=self.dice.pick(PLAIN))
        revert = self._revert(pr)
        back = self._draft("reapply", is_pr=True, like=pr, time=self._later(revert, 40))
        back.language, back.origin = "english", pr
        self._link(issue, back, self.dice.pick(PLAIN))

    def _revert(self, pr: Draft) -> Draft:
        self._reused.add(pr)
        revert = self._draft("revert", is_pr=True, like=pr, time=self._later(pr, 15))
        revert.language, revert.origin = "english", pr
        return revert

    def _series(self) -> None:
        """Groups of near-identical issue titles, made by the nightly robot; some get fixed."""
        wanted = self.quotas.of(sum(SERIES_SIZES))
        while wanted > 1:
            for size in SERIES_SIZES:
                size = min(size, wanted)
                if size < 2:
                    continue
                wanted -= size
                title = self._series_title()
                for place in range(size):
                    issue = self._issue("series")
                    issue.series, issue.language = title, "english"
                    issue.account = HOUSE_BOT
                    if place % FIXED_IN_SERIES == 1:
                        self._fix(issue)

    def _series_title(self) -> str:
        """A title that only one series has; numbers, hashes and versions are still open."""
        words = phrases("english")
        suite = self.dice.pick(words["suites"])
        title = self.dice.pick(words["series"])
        if title.replace("{suite}", suite) in self._series_titles:
            suite = f"{suite} {self.dice.codename(4)}"
        title = title.replace("{suite}", suite)
        self._series_titles.add(title)
        return title

    def _test_name(self) -> str:
        words, dice = phrases("english"), self.dice
        return "_".join(dice.pick(words[f"test_{part}"]) for part in ("nouns", "verbs", "hows"))

    def _duplicates(self, count: int) -> None:
        """Somebody reports a known fault in other words, and is pointed to the older issue."""
        for _ in range(count):
            known = self._issue("report")
            self._fix(known, form=self.dice.pick(PLAIN))
            again = self._issue("duplicate", like=known, time=self._later(known, 120))
            again.origin = known

    def _unlinked_prs(self) -> None:
        """Fill up with pull requests that close nothing."""
        of, dice = self.quotas.of, self.dice
        fixes = [
            draft
            for draft in self.drafts
            if draft.role == "fix"
            and draft not in self._reused
            and all(form.place != "title" for _, form in draft.closes)
        ]
        dice.shuffle(fixes)
        for _ in range(min(of(8), len(fixes))):
            self._revert(fixes.pop())
        for chore in CHORES:
            for _ in range(of(chore.share)):
                self._chore(chore)
        for _ in range(of(6)):
            self._draft("mute", is_pr=True)
        while len(self.drafts) < self.quotas.nodes:
            self._draft("fix" if dice.chance(0.55) else "work", is_pr=True)

    def _chore(self, chore: Chore) -> None:
        draft = self._draft("chore", is_pr=True)
        draft.language, draft.account = "english", chore.account
        draft.series = self.dice.pick(chore.titles())

    def _leave_traces(self) -> None:
        """Give some pull requests a coding agent, a false friend or a human co-author."""
        of, dice = self.quotas.of, self.dice
        bumps = [draft for draft in self.drafts if draft.account in (DEPENDABOT, RENOVATE)]
        # Agents came late in the life of the project.
        free = [
            draft
            for draft in self.drafts
            if draft.role in ("fix", "work", "continuation")
            and draft.language == "english"
            and draft.account is not GHOST
            and draft not in self._reused
            and draft.time > SPAN // 3
        ]
        dice.shuffle(free)
        for trace in TRACES:
            for _ in range(of(trace.share)):
                draft = free.pop()
                draft.trace = trace
                draft.account = trace.account or draft.account
        for friend in FALSE_FRIENDS:
            for _ in range(of(friend.share)):
                draft = bumps.pop() if friend.kind == "bump" else free.pop()
                draft.friend = friend
                draft.account = friend.account or draft.account
                if friend.kind == "bump":
                    draft.series = friend.title
        for _ in range(of(9)):
            free.pop().coauthor = dice.pick(people("english"))

    # The whole.

    def _number_all(self) -> None:
        """Number issues and pull requests in one sequence, in order of creation."""
        self.drafts.sort(key=lambda draft: draft.time)
        clock = 0
        for number, draft in enumerate(self.drafts, start=1):
            clock = max(clock + 1, FIRST_DAY + draft.time)
            draft.number, draft.time = number, clock

    def _mention_others(self) -> None:
        """Let some bodies name an older ticket in words that close nothing."""
        issue = pr = None
        for draft in self.drafts:
            if draft.role in ("fix", "work"):
                if issue is not None and self.dice.chance(0.08):
                    text = ADDRESS if self.dice.chance(0.3) else self.dice.pick(MENTIONS)
                    draft.mentions.append((issue, text))
                if pr is not None and self.dice.chance(0.05):
                    draft.mentions.append((pr, self.dice.pick(LOOKALIKES)))
            if draft.is_pr:
                pr = draft
            else:
                issue = draft

    def _settle(self) -> None:
        """Decide what became of each ticket, in order of creation."""
        for draft in self.drafts:
            if draft.is_pr:
                self._settle_pr(draft)
            elif draft.origin is not None:
                draft.state, draft.ended = "CLOSED", self._end(draft, 20)
                draft.evidence = self.dice.pick(EVIDENCE)
                draft.state_reason = "DUPLICATE" if draft.evidence == "state" else "NOT_PLANNED"
        for draft in self.drafts:
            if not draft.is_pr and draft.state == "OPEN" and self.dice.chance(0.3):
                draft.state, draft.ended = "CLOSED", self._end(draft, 200)
                draft.state_reason = self.dice.pick(("COMPLETED", "NOT_PLANNED"))

    def _settle_pr(self, pr: Draft) -> None:
        must_merge = pr.role not in ("fix", "work", "chore") or pr in self._reused
        fate = 0 if must_merge else self.dice.below(100)
        if fate >= 98:
            return
        # What others build on was merged before they came.
        pr.ended = self._end(pr, 0 if pr in self._reused else 12)
        pr.state = "MERGED" if fate < 88 else "CLOSED"
        if pr.state == "MERGED":
            for issue, _ in pr.closes:
                if issue.state == "OPEN":
                    issue.state, issue.state_reason = "CLOSED", "COMPLETED"
                    issue.ended = max(pr.ended, issue.time + 60)

    def _end(self, draft: Draft, days: int) -> int:
        return draft.time + 300 + self.dice.early(days * DAY)
