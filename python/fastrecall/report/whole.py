"""Records that were read from a file may have been changed there by anybody."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from fastrecall.errors import FastrecallError, RecordError


@contextlib.contextmanager
def whole(*records: Mapping[str, Any]) -> Iterator[None]:
    """Around what reads records: what one of a file lacks is the file's failure, and told so.

    Raises:
        RecordError: names the files. A record that was just made is not excused.
    """
    try:
        yield
    except FastrecallError:
        raise
    except Exception as error:
        paths = [str(path) for one in records if (path := getattr(one, "path", None))]
        if not paths:
            raise
        raise RecordError(
            f"{' or '.join(dict.fromkeys(paths))} is not as fastrecall wrote it "
            f"({type(error).__name__}: {str(error)[:100]}); make the record anew"
        ) from error
