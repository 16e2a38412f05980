"""What automation opens by itself, again and again under almost the same title."""

from __future__ import annotations

from dataclasses import dataclass

from fastrecall.corpus.demo.accounts import ACTIONS, DEPENDABOT, HOUSE_BOT, RENOVATE, Account
from fastrecall.corpus.demo.words import phrases


@dataclass(frozen=True, slots=True)
class Chore:
    """The routine pull requests of one account; ``share`` is their number in 1,200 tickets."""

    account: Account
    share: int
    frames: tuple[str, ...]
    body: str

    def titles(self) -> tuple[str, ...]:
        """Title frames in which only numbers, hashes and versions are still open."""
        return tuple(
            frame.replace("{package}", package)
            for frame in self.frames
            for package in (phrases("english")["packages"] if "{package}" in frame else ("",))
        )


CHORES = (
    Chore(
        DEPENDABOT,
        60,
        ("Bump {package} from {older} to {version}",),
        # Numbers of other repositories: larger than any number here, so that they link nothing.
        "Bumps the dependency to {version}.\n\n<details>\n<summary>Release notes</summary>\n\n"
        "- fixes #{foreign}\n- better error messages\n</details>",
    ),
    Chore(
        RENOVATE,
        30,
        ("Update dependency {package} to v{version}",),
        "| Package | Change |\n|---|---|\n| dependency | `{older}` -> `{version}` |",
    ),
    Chore(ACTIONS, 20, ("Refresh lock files {day}",), "Made by the weekly workflow."),
    Chore(
        HOUSE_BOT,
        25,
        ("Update translations {day}", "Sync documentation snapshot {hash}"),
        "Automatic change, job {count}.",
    ),
)
