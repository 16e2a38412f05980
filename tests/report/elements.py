"""What pages are made to swallow, and what is then in them."""

from __future__ import annotations

from html.parser import HTMLParser

OWN = "document.title='owned'"
HOSTILE = (
    f"<script>{OWN}</script>",
    f"</script><script>{OWN}</script>",
    f'<img src="https://evil.invalid/x.png" onerror="{OWN}">',
    f"\"'><svg onload={OWN}>",
    "<!--<script>",
    "right to left \u202e gnitirw \u200f marks",
    "ten thousand " + "x" * 10_000,
    "{{ 7 * 7 }} ${7 * 7} \u2028 \ud800 &amp; &#60;b&#62;",
    "سجل الأخطاء فارغ",
)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.texts:
            self.texts[self._inside].append(data)
