"""Check a built site: every link of every page leads to a file, and to a place in it."""

from __future__ import annotations

import functools
import html.parser
import urllib.parse
from collections.abc import Iterator
from pathlib import Path


class _Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src") and tag != "base":
                self.links.append(value)
            if name in ("id", "name"):
                self.places.add(value)


@functools.cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text("utf-8"))
    return page


def broken_links(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere; those to other sites are not followed."""
    for path in sorted(site.rglob("*.html")):
        for link in dict.fromkeys(_read(path).links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = path.parent / urllib.parse.unquote(parts.path) if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{path.relative_to(site)}: {link} leads to no file"
            elif parts.fragment and target.suffix == ".html":
                place = urllib.parse.unquote(parts.fragment)
                if place not in _read(target.resolve()).places and place != "__skip":
                    yield f"{path.relative_to(site)}: {link} leads to no place in {target.relative_to(site)}"
