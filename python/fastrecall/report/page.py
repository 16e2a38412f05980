"""What every page is made with: one file, no network, nothing that runs but its own script."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from types import ModuleType
from typing import Any

from fastrecall._lazy import require
from fastrecall.report import format as formats

_TEMPLATES = Path(__file__).parent / "templates"
_FILTERS = (
    "bounds",
    "count",
    "interval",
    "p_value",
    "percent",
    "plural",
    "points",
    "sentence",
    "setting",
)


def render_page(template: str, *, script: str = "", data: str = "", **values: Any) -> str:
    """The page that *template* makes of *values*, with the style all pages share.

    *script* names the one script that may run, *data* is the JSON it reads, fit to stand inside an
    element. A content security policy lets the page load nothing and run nothing else. Values are
    escaped; who passes texts of strangers makes them harmless to look at first
    (`untrusted.cleaned`).

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    jinja2 = templating()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in _FILTERS:
        environment.filters[name] = getattr(formats, name)
    markup = jinja2.filters.Markup
    style = _text("page.css")
    code = _text(script) if script else ""
    runs = f"script-src {_source(code)}; " if code else ""
    page: str = environment.get_template(template).render(
        style=markup(style),
        script=markup(code),
        policy=f"default-src 'none'; style-src {_source(style)}; {runs}"
        "base-uri 'none'; form-action 'none'",
        data=markup(data),
        **values,
    )
    return page


def templating() -> ModuleType:
    """The package that fills templates.

    Raises:
        MissingExtraError: it is not installed.
    """
    return require("jinja2", extra="report", purpose="an HTML page")


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The hash by which a content security policy knows an inline style or script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
