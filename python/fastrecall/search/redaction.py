"""Secrets that people paste into tickets, replaced by what they were.

Known shapes only: a password that looks like a word is not recognised. A rule is tried where one of
its marks stands in the text, so that most texts cost a few substring searches.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Rule(NamedTuple):
    """The group ``secret`` of what the pattern matches goes, the rest of it stays."""

    what: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]

    def without_secret(self, match: re.Match[str]) -> str:
        """What matched, with the secret named instead of told."""
        first, last = (place - match.start() for place in match.span("secret"))
        return f"{match[0][:first]}[redacted: {self.what}]{match[0][last:]}"


def _rule(what: str, marks: str, pattern: str) -> _Rule:
    return _Rule(what, tuple(marks.split()), re.compile(pattern))


_RULES = (
    _rule(
        "private key",
        "PRIVATE",
        r"(?s)(?P<secret>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r".*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z))",
    ),
    _rule("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\b(?P<secret>gh[pousr]_[A-Za-z0-9]{30,})"),
    _rule("GitHub token", "github_pat_", r"\b(?P<secret>github_pat_[A-Za-z0-9_]{22,})"),
    _rule("GitLab token", "glpat-", r"\b(?P<secret>glpat-[\w-]{20,})"),
    _rule("AWS key id", "AKIA ASIA ABIA ACCA", r"\b(?P<secret>A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16})\b"),
    _rule(
        "AWS secret key",
        "secret SECRET Secret",
        r"(?i)aws.{0,20}secret.{0,20}?[\"'\s:=]+(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    _rule("API key", "sk- sk_ rk_", r"\b(?P<secret>sk-[\w-]{20,}|[sr]k_live_\w{16,})"),
    _rule("Google API key", "AIza", r"\b(?P<secret>AIza[\w-]{35})"),
    _rule("Slack token", "xox", r"\b(?P<secret>xox[abeoprs]-[A-Za-z0-9-]{10,})"),
    _rule(
        "Slack address",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/+-]{20,})",
    ),
    _rule("Hugging Face token", "hf_", r"\b(?P<secret>hf_[A-Za-z0-9]{30,})"),
    _rule("npm token", "npm_", r"\b(?P<secret>npm_[A-Za-z0-9]{36})"),
    _rule("PyPI token", "pypi-", r"\b(?P<secret>pypi-[\w-]{50,})"),
    _rule("JSON web token", "eyJ", r"\b(?P<secret>eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?)"),
    # Behind the others, so that a bearer token of a known shape is called by its own name.
    _rule(
        "credentials",
        "earer BEARER uthorization AUTHORIZATION",
        r"(?i)\b(?:authorization[\"']?\s*[:=]\s*[\"']?(?:basic|bearer|token)|bearer)\s+"
        r"(?P<secret>(?=[^\s\"']*\d)[A-Za-z0-9._~+/=-]{16,})",
    ),
    _rule("password", "://", r"://[^\s/:@]{1,100}:(?P<secret>[^\s/@\[]{1,200})@"),
)


def redact(text: str) -> str:
    """*text* with each secret of a known shape replaced by ``[redacted: what it was]``.

    Redacting twice changes nothing more.

    >>> redact("push with ghp_abcdefghijklmnopqrstuvwxyz0123456789 failed")
    'push with [redacted: GitHub token] failed'
    >>> redact("clone https://ann:hunter2@example.org/x.git")
    'clone https://ann:[redacted: password]@example.org/x.git'
    """
    before = None
    while text != before:  # a secret that was glued to another one begins a word now
        before = text
        for rule in _RULES:
            if any(mark in text for mark in rule.marks):
                text = rule.pattern.sub(rule.without_secret, text)
    return text
