"""From GitHub (or files, or a checkout) into the data folder.

The way through the modules: `names`, `token` and `client` (one question at a time, politely) →
`queries` → `pages` (written into a `journal` one by one) with `nested` lists → `reconcile` (what no
list of changes shows) → `store`. `repository` holds them together.
"""

from fastrecall.corpus.fetch.client import GitHub
from fastrecall.corpus.fetch.gh import import_gh
from fastrecall.corpus.fetch.git_log import import_git
from fastrecall.corpus.fetch.names import GITHUB_API, Server, check_repository
from fastrecall.corpus.fetch.owner import Owned, list_repositories
from fastrecall.corpus.fetch.queries import Wanted
from fastrecall.corpus.fetch.repository import Fetched, fetch_repository
from fastrecall.corpus.fetch.store import Manifest, Store
from fastrecall.corpus.fetch.token import find_token

__all__ = [
    "GITHUB_API",
    "Fetched",
    "GitHub",
    "Manifest",
    "Owned",
    "Server",
    "Store",
    "Wanted",
    "check_repository",
    "fetch_repository",
    "find_token",
    "import_gh",
    "import_git",
    "list_repositories",
]
