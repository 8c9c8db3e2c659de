"""Each link of the documentation leads to a file that is there, and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: str) -> set[str]:
    """The anchors of the headings of a page, as code hosts make them."""
    headings = _HEADING.findall(_BLOCK.sub("", page))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """The links of a page within the repository that lead nowhere."""
    found = []
    for link in _LINK.findall(_BLOCK.sub("", page.read_text("utf-8"))):
        path, _, anchor = link.partition("#")
        if link.startswith(("http://", "https://")):
            continue
        target = page.parent / path if path else page
        is_there = target.exists()
        if not is_there or (anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.parametrize("link", ["b.md", "a.md#three", "#two-or-more"])
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, link: str) -> None:
    page = tmp_path / "a.md"
    page.write_text(f"# One\n## Two, or `three`\n[](a.md) [](#two-or-three) [](https://x.org/y#z) []({link})\n")
    assert broken(page) == [link]
