"""Expected failures: one root, few children, one clear sentence each."""

from __future__ import annotations


class FastrecallError(Exception):
    """Root of every failure that the package expects; the command line exits with 2.

    The message is one sentence: where, what came, what was expected, what to do.
    """


class InputError(FastrecallError, ValueError):
    """What the user gave cannot be used: a file, an option, an array."""


class CorpusError(InputError):
    """A corpus, gold file, run or qrels that cannot be read."""


class ModelError(FastrecallError):
    """An embedding model that is unknown, incomplete, damaged or out of reach."""


class CacheError(FastrecallError):
    """A cache or output folder that cannot be used."""


class MissingExtraError(FastrecallError, ImportError):
    """A feature whose optional packages are not installed."""


class RemoteError(FastrecallError):
    """A server (GitHub, a language model) that refused, failed or answered nonsense."""


class RecordError(InputError):
    """A record that cannot be read, or two records that must not be compared."""
