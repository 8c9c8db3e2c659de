"""Builds the documentation site strictly, and lists what its pages would load from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from tests.documentation.assemble import ROOT, assemble

# The browser that opens pages in tests; None where there is none.
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# As the theme writes it → with what a screen reader or a keyboard needs.
_MENDED = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="This page">'),
    ("<pre>", '<pre tabindex="0">'),
    ('<th class="head"><p></p></th>', '<td class="head"></td>'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
)
_LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "embed": "src"}
_LINKS_LOADED = frozenset({"stylesheet", "icon", "preload", "preconnect", "modulepreload", "manifest"})
_ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_CSS_URL = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s;]+)""")


def build(folder: Path) -> Path:
    """Build the site below a folder and return the folder of its pages; any warning is an error."""
    source, pages = folder / "source", folder / "html"
    assemble(source)
    # Sphinx keeps what it has read beside the pages unless told otherwise; a build begins afresh.
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-c", str(ROOT / "docs")]
    subprocess.run([*command, "-d", str(folder / "read"), str(source), str(pages)], cwd=ROOT, check=True)
    for page in pages.rglob("*.html"):
        page.write_text(with_roles(page.read_text(encoding="utf-8")), encoding="utf-8")
    return pages


def with_roles(html: str) -> str:
    """Return a page with what the theme leaves out: keys reach what scrolls, headings and sides say what they are."""
    for lacking, mended in _MENDED:
        html = html.replace(lacking, mended)
    return html


def loaded_from_elsewhere(pages: Path) -> list[str]:
    """Return `file: address` for each thing that a page or a style sheet would load from another host."""
    found = []
    for path in sorted(pages.rglob("*.html")):
        reader = _Loaded()
        reader.feed(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(pages)}: {each}" for each in reader.found]
    for path in sorted(pages.rglob("*.css")):
        found += [f"{path.relative_to(pages)}: {each}" for each in _CSS_URL.findall(path.read_text(encoding="utf-8"))]
    return found


class _Loaded(HTMLParser):
    """Collects the addresses at other hosts that a page loads by itself; links that a reader follows are none."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [each for each in self._addresses(tag, given) if _ELSEWHERE.match(each)]
        self.found += _CSS_URL.findall(given.get("style") or "")

    def _addresses(self, tag: str, given: dict[str, str | None]) -> Iterator[str]:
        if tag in _LOADING:
            yield given.get(_LOADING[tag]) or ""
            yield from ((given.get("srcset") or "").split(",")[:1])
        if tag == "link" and _LINKS_LOADED & set((given.get("rel") or "").split()):
            yield given.get("href") or ""
