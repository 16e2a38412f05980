"""Who writes: people, project bots, automation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from fastrecall.corpus.demo.words import Language, phrases


@dataclass(frozen=True, slots=True)
class Account:
    """One author as ``gh`` spells it: apps have no id and a login that starts with ``app/``."""

    login: str
    is_app: bool = False

    @property
    def name(self) -> str:
        """The name beside the login.

        >>> Account("claude-fournier").name
        'Claude Fournier'
        """
        return self.login.replace("-", " ").title()

    def to_gh(self) -> dict[str, str | bool]:
        """The author object of ``gh … --json author``.

        >>> Account("dependabot", is_app=True).to_gh()
        {'is_bot': True, 'login': 'app/dependabot'}
        """
        if self.is_app:
            return {"is_bot": True, "login": f"app/{self.login}"}
        return {
            "id": f"U_{self.login.encode().hex()}",
            "is_bot": False,
            "login": self.login,
            "name": self.name,
        }


DEPENDABOT = Account("dependabot", is_app=True)
RENOVATE = Account("renovate", is_app=True)
ACTIONS = Account("github-actions", is_app=True)
HOUSE_BOT = Account("lattice-bot")
"""The project's own bot: an ordinary user account, unknown to the default author filter."""

AUTOMATION = (DEPENDABOT, RENOVATE, ACTIONS, HOUSE_BOT)

GHOST = Account("", is_app=True)
"""A deleted account comes out of ``gh`` as an app without a name."""


@cache
def people(language: Language) -> tuple[Account, ...]:
    """The people who write in that language."""
    return tuple(Account(login) for login in phrases(language)["people"])
