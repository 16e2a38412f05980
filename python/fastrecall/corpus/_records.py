"""One record of any accepted spelling → one `Ticket`.

Spellings: what ``gh … --json`` writes, what the REST and GraphQL services answer, and the field
names of `Ticket` itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from fastrecall.types import Kind, Ticket

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PLAIN_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)
LARGEST_NUMBER = 2**31 - 1
_LONGEST_REPOSITORY = 200
_SHARED = 1 << 20
"""Texts held to be shared: bounds what millions of branch names take."""
_FIRST_MOMENT = (datetime.min - _PLAIN_EPOCH) // _SECOND
_PAST_MOMENTS = (datetime.max - _PLAIN_EPOCH) // _SECOND + 1
"""Years 1 to 9999: what can be shown as a date."""

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?)? ?(Z|[+-]\d\d:?\d\d)?",
    re.ASCII | re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"https?://(?:www\.|api\.)?github\.com/(?:repos/)?([^/\s]+/[^/\s]+?)"
    r"(?:/(issues|pull|pulls)/(\d+).*)?/?",
    re.ASCII,
)
_FULL_NAME = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")

_KINDS: Mapping[str, Kind] = {
    "issue": "issue",
    "pr": "pr",
    "pull": "pr",
    "pullrequest": "pr",
    "pull_request": "pr",
}
_ONLY_PRS = (
    "mergedAt",
    "merged_at",
    "closingIssuesReferences",
    "baseRefName",
    "headRefName",
    "isDraft",
    "base",
    "head",
)
_ONLY_ISSUES = ("stateReason", "state_reason", "isPinned")


class BadField(ValueError):  # noqa: N818 - never leaves the room: readers turn it into CorpusError
    """What is wrong with a record; the reader adds the file and the record number."""

    @classmethod
    def of(cls, field: str, came: object, expected: str) -> BadField:
        """The usual form: a field, what came, what was expected."""
        return cls(f"{field} is {shown(came)}; expected {expected}")


class RecordReader:
    """Turns records into tickets, and counts what had to be mended on the way.

    *repo* is the repository of records that do not name one.
    """

    def __init__(self, repo: str = "") -> None:
        self.repo = repo
        self.mended_texts = 0
        self._shared: dict[str, str] = {}

    def ticket(self, record: Mapping[str, Any], kind: Kind | None) -> tuple[Ticket, int]:
        """The ticket in a record, and when it was last updated (-1: not said).

        *kind* None: the record itself must tell an issue from a PR.

        Raises:
            BadField: a field is missing or of the wrong form.
        """
        get = record.get
        number = get("number")
        if type(number) is not int or not 0 < number <= LARGEST_NUMBER:
            number = _number(number, record)
        created = _time(_either(get, "createdAt", "created_at"), "createdAt")
        if created is None:
            raise BadField(
                "createdAt is missing; expected a time like 2024-05-31T12:00:00Z "
                "(export with `--json number,createdAt,author,title,body`)"
            )
        merged = _either(get, "mergedAt", "merged_at")
        pull = get("pull_request")
        if merged is None and isinstance(pull, dict):
            merged = pull.get("merged_at")
        merged_at = _time(merged, "mergedAt")
        updated_at = _time(_either(get, "updatedAt", "updated_at"), "updatedAt")
        author, is_bot = self._author(_either(get, "author", "user"), get("is_bot"))
        url = self._text(_either(get, "html_url", "url"), "url")
        state = self._word(get("state"), "state")
        ticket = Ticket(
            repo=self._repo(record, url),
            kind=kind or kind_of(record),
            number=number,
            title=self._text(get("title"), "title"),
            body=self._text(get("body"), "body"),
            created_at=created,
            author=author,
            is_bot=is_bot,
            state="MERGED" if merged_at is not None else state,
            state_reason=self._word(_either(get, "stateReason", "state_reason"), "stateReason"),
            closed_at=_time(_either(get, "closedAt", "closed_at"), "closedAt"),
            merged_at=merged_at,
            labels=self._labels(get("labels")),
            closes=self._closes(_either(get, "closingIssuesReferences", "closes")),
            comments=self._comments(get("comments")),
            base=self._branch(_either(get, "baseRefName", "base"), "baseRefName"),
            url=url,
            head=self._branch(_either(get, "headRefName", "head"), "headRefName"),
            commits=self._commits(get("commits")),
        )
        return ticket, -1 if updated_at is None else updated_at

    def _text(self, value: object, field: str) -> str:
        if value is None:
            return ""
        if type(value) is str:
            if value.isascii():
                return value
            try:
                value.encode()
            except UnicodeEncodeError:
                self.mended_texts += 1
                # UTF-16 is the form in which each lone surrogate is one bad unit, so one U+FFFD.
                units = value.encode("utf-16-le", "surrogatepass")
                return units.decode("utf-16-le", "replace")
            return value
        if _absent(value):
            return ""
        raise BadField.of(field, value, "text or null")

    def _share(self, text: str) -> str:
        """The same object for equal short texts: a corpus repeats logins and labels."""
        if len(self._shared) > _SHARED:
            self._shared.clear()
        return self._shared.setdefault(text, text)

    def _word(self, value: object, field: str) -> str:
        return self._share(self._text(value, field).upper())

    def _author(self, value: object, is_bot: object) -> tuple[str, bool]:
        bot = is_bot is True
        if isinstance(value, dict):
            bot = bot or value.get("is_bot") is True
            bot = bot or value.get("type") == "Bot" or value.get("__typename") == "Bot"
            value = value.get("login")
        login = self._text(value, "author")
        bare = bare_login(login)
        # An empty slug is a deleted account, which gh prints like an app: unknown, not a bot.
        return self._share(bare), bool(bare) and (bot or bare != login)

    def _labels(self, value: object) -> tuple[str, ...]:
        if not value:
            return ()
        names = []
        for label in _items(value, "labels"):
            name = label.get("name") if isinstance(label, dict) else label
            names.append(self._share(self._text(name, "labels")))
        return tuple(name for name in names if name)

    def _comments(self, value: object) -> tuple[str, ...]:
        if not value or type(value) is int:  # REST gives the number of comments instead
            return ()
        bodies = []
        for comment in _items(value, "comments"):
            body = comment.get("body") if isinstance(comment, dict) else comment
            bodies.append(self._text(body, "comments"))
        return tuple(bodies)

    def _branch(self, value: object, field: str) -> str:
        if isinstance(value, dict):
            value = value.get("ref")
        return self._share(self._text(value, field))

    def _commits(self, value: object) -> tuple[str, ...]:
        if not value or type(value) is int:  # REST gives their number instead
            return ()
        return tuple(
            self._text(_commit_text(item) if isinstance(item, dict) else item, "commits")
            for item in _items(value, "commits")
        )

    def _repo(self, record: Mapping[str, Any], url: str) -> str:
        value = _either(record.get, "repo", "repository")
        name = self._text(repository_name(value), "repo")
        address = url or self._text(record.get("repository_url"), "url")
        name = name or _repository_of(address) or self.repo
        # It becomes part of ids, which nobody quotes or escapes.
        if len(name) > _LONGEST_REPOSITORY or not name.isprintable():
            raise BadField.of("repo", name, "a name like owner/name")
        return self._share(name)

    def _closes(self, value: object) -> tuple[tuple[str, int], ...] | None:
        if _absent(value):
            return None
        found = []
        for item in _items(value, "closingIssuesReferences"):
            if item is None:  # an issue that the one who asked may not see
                continue
            if not isinstance(item, dict):
                raise BadField.of(
                    "closingIssuesReferences", item, "objects with number and repository"
                )
            number = _number(item.get("number"), item)
            value = _either(item.get, "repo", "repository")
            name = self._text(repository_name(value), "closingIssuesReferences")
            address = self._text(item.get("url"), "url")
            found.append((self._share(name or _repository_of(address)), number))
        return tuple(found)


def _commit_text(commit: Mapping[str, Any]) -> str:
    """A commit as ``gh`` or GraphQL describes it: who wrote it, and the message."""
    inner = commit.get("commit")
    if isinstance(inner, dict):
        authors, message = [inner.get("author")], inner.get("message")
    else:
        authors = list(_items(commit.get("authors"), "commits"))
        parts = [commit.get("messageHeadline"), commit.get("messageBody")]
        message = "\n\n".join(str(part) for part in parts if part)
    lines = [
        f"Author: {author.get('name') or ''} <{author.get('email') or ''}>\n"
        for author in authors
        if isinstance(author, dict)
    ]
    return f"{''.join(lines)}\n{message or ''}"


def bare_login(login: str) -> str:
    """The account's name without the decoration that some interfaces give to apps.

    >>> {bare_login(name) for name in ("app/renovate", "renovate[bot]", "renovate")}
    {'renovate'}
    """
    return login.removeprefix("app/").removesuffix("[bot]")


def kind_of(record: Mapping[str, Any]) -> Kind:
    """Whether a record of a mixed file is an issue or a PR, from what it says about itself."""
    said = _either(record.get, "kind", "__typename")
    if said is not None:
        kind = _KINDS.get(said.lower()) if isinstance(said, str) else None
        if kind is None:
            raise BadField.of("kind", said, "'issue' or 'pr'")
        return kind
    if record.get("pull_request") is not None:
        return "pr"
    url = _either(record.get, "html_url", "url")
    address = _ADDRESS.fullmatch(url) if isinstance(url, str) else None
    if address and address[2]:
        # The REST address of a PR that is listed among the issues also says "issues"; such a
        # record carries pull_request, which has been asked above.
        return "issue" if address[2] == "issues" else "pr"
    if any(key in record for key in _ONLY_PRS):
        return "pr"
    if any(key in record for key in _ONLY_ISSUES):
        return "issue"
    raise BadField(
        "nothing says whether this is an issue or a PR; expected a field kind ('issue' or 'pr'), "
        "or two files named prs.json and issues.json"
    )


def repository_name(value: object) -> object:
    """``owner/name`` from a string or from any of the objects that stand for a repository."""
    if not isinstance(value, dict):
        return value
    full = _either(value.get, "nameWithOwner", "full_name")
    if full is not None:
        return full
    owner = value.get("owner")
    if isinstance(owner, dict):
        owner = owner.get("login")
    name = value.get("name")
    return f"{owner}/{name}" if isinstance(owner, str) and isinstance(name, str) else name


def is_repository_name(name: str) -> bool:
    """Whether a name has the form ``owner/name``."""
    return _FULL_NAME.fullmatch(name) is not None


def shown(value: object) -> str:
    """A value as it may be quoted in a message: short, and ASCII whatever it holds.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
    """
    if isinstance(value, (dict, list, tuple)):
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    if isinstance(value, int) and abs(value) > 10**40:
        return "a number of more than 40 digits"
    text = "null" if value is None else ascii(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _either(get: Callable[[str], Any], name: str, other: str) -> Any:
    """The value by one of two spellings: the first that is there and not null."""
    value = get(name)
    return get(other) if value is None else value


def _repository_of(address: str) -> str:
    """``owner/name`` from the address of a ticket or a repository; "" when it is none."""
    match = _ADDRESS.fullmatch(address) if address else None
    return match[1] if match else ""


def _absent(value: object) -> bool:
    """Null, or the NaN that some exporters write for it."""
    return value is None or (isinstance(value, float) and value != value)


def _items(value: object, field: str) -> Sequence[Any]:
    if isinstance(value, dict):  # a GraphQL connection
        value = value.get("nodes")
    if _absent(value):
        return ()
    if not isinstance(value, (list, tuple)):
        raise BadField.of(field, value, "an array")
    return value


def _number(value: object, record: Mapping[str, Any]) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        if value is None:
            keys = ", ".join(ascii(key)[1:-1] for key in list(record)[:6])
            raise BadField(
                f"number is missing (the fields are: {keys or 'none'}); expected a ticket with "
                "number, createdAt, title and body"
            )
        raise BadField.of("number", value, "a whole number")
    if not 0 < value <= LARGEST_NUMBER:
        raise BadField.of("number", value, f"a whole number from 1 to {LARGEST_NUMBER}")
    return value


def _time(value: object, field: str) -> int | None:
    """Seconds since 1970; None for null and for the year 1 that Go programs write for it."""
    if value is None:
        return None
    if type(value) is str:
        if (
            len(value) == 20
            and value[19] == "Z"
            and value[4] == value[7] == "-"
            and value[10] == "T"
            and value[13] == value[16] == ":"
        ):
            try:
                plain = datetime.fromisoformat(value[:19])
            except ValueError:
                raise _bad_time(value, field) from None
            return None if plain.year == 1 else (plain - _PLAIN_EPOCH) // _SECOND
        if not value:
            return None
        return _odd_time(value, field)
    if _absent(value):
        return None
    if type(value) is int and _FIRST_MOMENT <= value < _PAST_MOMENTS:
        return value
    raise _bad_time(value, field)


def _odd_time(value: str, field: str) -> int | None:
    parts = _TIME.fullmatch(value.strip())
    if parts is None:
        raise _bad_time(value, field)
    year, month, day, hour, minute, second = (int(part or 0) for part in parts.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(parts[7]))
    except ValueError:
        raise _bad_time(value, field) from None
    seconds = (moment - _EPOCH) // _SECOND
    if seconds >= _PAST_MOMENTS:  # the last hours of 9999 to the west are past it in Greenwich
        raise _bad_time(value, field)
    return None if year == 1 else seconds


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return timezone.utc
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _bad_time(value: object, field: str) -> BadField:
    return BadField.of(field, value, "a time like 2024-05-31T12:00:00Z")
