"""Check a built site: every link of every page leads to a file, and to a place in it."""

from __future__ import annotations

import functools
import html
import os
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Python's parser of HTML takes a tenth of a second for a page of this site, and there are thousands.
_TAG = re.compile(r"<!--.*?-->|<(script|style)\b([^>]*)>.*?</\1>|<([a-zA-Z][\w-]*)\b([^>]*)>", re.DOTALL)
_ATTRIBUTE = re.compile(r"""\b(href|src|id|name)=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


class _Page(NamedTuple):
    links: list[str]
    places: set[str]


@functools.cache
def _read(path: Path) -> _Page:
    page = _Page([], set())
    for script, of_script, tag, of_tag in _TAG.findall(path.read_text("utf-8")):
        for name, *values in _ATTRIBUTE.findall(of_script or of_tag):
            value = html.unescape("".join(values))
            if name in ("id", "name"):
                page.places.add(value)
            elif (script or tag) != "base":
                page.links.append(value)
    return page


@functools.cache
def _file(name: str) -> Path | None:
    """The file that a link shows, that of a folder being its index; None where there is none."""
    path = Path(name, "index.html") if os.path.isdir(name) else Path(name)
    return path if path.exists() else None


def broken_links(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere; those to other sites are not followed."""
    for path in sorted(site.rglob("*.html")):
        for link in dict.fromkeys(_read(path).links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = _file(os.path.normpath(path.parent / urllib.parse.unquote(parts.path))) if parts.path else path
            if target is None:
                yield f"{path.relative_to(site)}: {link} leads to no file"
            elif parts.fragment and target.suffix == ".html":
                place = urllib.parse.unquote(parts.fragment)
                if place not in _read(target).places and place != "__skip":
                    yield f"{path.relative_to(site)}: {link} leads to no place in {target.relative_to(site)}"
