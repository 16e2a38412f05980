"""Names that come from outside: repositories, owners, and the address of the server."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastrecall.corpus._records import shown
from fastrecall.errors import InputError

GITHUB_API = "https://api.github.com"

_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}")
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


def check_repository(name: str) -> str:
    """The ``owner/name`` in a name or in an address of a repository, or an error.

    >>> check_repository("https://github.com/ydb-platform/ydb.git")
    'ydb-platform/ydb'
    """
    plain = name
    if "://" in name:
        with contextlib.suppress(ValueError):  # no address either
            plain = urlsplit(name).path.strip("/").removesuffix(".git")
    if is_repository(plain):
        return plain
    raise InputError(f"{shown(name)} is no repository; expected OWNER/NAME, like ydb-platform/ydb")


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
        try:
            parts = urlsplit(api_url)
            _ = parts.port  # raises for what is no number
        except ValueError as error:
            raise InputError(
                f"the API address is {shown(api_url)} ({error}); expected one like {GITHUB_API}"
            ) from error
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https") or not host or parts.username is not None:
            raise InputError(
                f"the API address is {shown(api_url)}; expected one like {GITHUB_API} or "
                "https://HOST/api/v3, without a user name"
            )
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
        return cls(host.removeprefix("api."), f"{parts.scheme}://{parts.netloc}{path}")
