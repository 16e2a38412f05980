"""Names that come from outside: repositories, owners, and the address of the server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from fastrecall.corpus._records import shown
from fastrecall.errors import InputError

GITHUB_API = "https://api.github.com"
COMMITS = "git"
"""Where commits are kept, in the place of a server's name."""

_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}")
_HOST = re.compile(
    r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-)){0,20}|[0-9a-f:.]*:[0-9a-f:.]+",
    re.ASCII,
)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_owner(name: str) -> str:
    """The name of a user or an organisation, or an error.

    >>> check_owner("ydb-platform")
    'ydb-platform'
    """
    if _OWNER.fullmatch(name):
        return name
    raise InputError(
        f"{shown(name)} is no owner of repositories; expected a name like ydb-platform"
    )


def is_repository(name: str) -> bool:
    """Whether a name is one that GitHub could give to a repository, and safe as a path.

    >>> [is_repository(name) for name in ("ydb-platform/ydb", "../ydb", "a/..", "a/b/c")]
    [True, False, False, False]
    """
    owner, slash, rest = name.partition("/")
    return bool(slash and _OWNER.fullmatch(owner) and _NAME.fullmatch(rest))


def check_repository(name: str, *, host: str | None = None) -> str:
    """The ``owner/name`` in a name or in an address of a repository, or an error.

    An address must lead to *host*, when one is given.

    >>> check_repository("https://github.com/ydb-platform/ydb.git")
    'ydb-platform/ydb'
    """
    plain = name
    if "://" in name and (parts := _parts(name)) is not None:
        plain = parts.path.strip("/").removesuffix(".git")
        there = (parts.hostname or "").removeprefix("www.")
        if host is not None and there != host:
            raise InputError(
                f"the address of {shown(plain)} leads to {there}, and {host} would be asked; give "
                "OWNER/NAME, or that server with --api-url"
            )
    if is_repository(plain):
        return plain
    # What stands before an @ is a secret as often as not.
    told = shown(name.rpartition("@")[2])
    raise InputError(f"{told} is no repository; expected OWNER/NAME, like ydb-platform/ydb")


@dataclass(frozen=True)
class Server:
    """A GitHub server: ``host`` as people write it, ``graphql`` the address that is asked."""

    host: str
    graphql: str

    @classmethod
    def at(cls, api_url: str) -> Server:
        """The server behind the address of its REST or GraphQL interface, or of its front page.

        Raises:
            InputError: no such address, or one to which a token would travel in the open.

        >>> Server.at("https://api.github.com")
        Server(host='github.com', graphql='https://api.github.com/graphql')
        >>> Server.at("https://git.example.org/api/v3/").graphql
        'https://git.example.org/api/graphql'
        """
        parts = _parts(api_url)
        expected = f"expected one like {GITHUB_API} or https://HOST/api/v3"
        if parts is not None and parts.username is not None:
            # Not quoted: what stands before the host is a secret as often as not.
            raise InputError(f"the API address holds a user name or a token; {expected}, without")
        host = parts.hostname if parts is not None else None
        if parts is None or not host or parts.scheme not in ("http", "https"):
            raise InputError(f"the API address is {shown(api_url)}; {expected}")
        if parts.scheme == "http" and host not in _LOOPBACK:
            raise InputError(
                f"the API address {shown(api_url)} is not encrypted, and a token would be sent "
                "there; use https"
            )
        path = parts.path.rstrip("/")
        if not path.endswith("/graphql"):
            has_own_host = host.startswith("api.")
            path = path.removesuffix("/v3") or ("" if has_own_host else "/api")
            path += "/graphql"
        host = host.removeprefix("api.")
        if host == COMMITS:
            raise InputError(
                f"a server that is called {COMMITS} has no folder of its own, as commits are kept "
                f"there; give its full name, like {COMMITS}.example.org"
            )
        return cls(host, f"{parts.scheme}://{parts.netloc}{path}")


def _parts(address: str) -> SplitResult | None:
    """The parts of an address whose host can be one, and the name of a folder; None: it is none."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises for what is no number
    except ValueError:
        return None
    return parts if _HOST.fullmatch(parts.hostname or "") else None
