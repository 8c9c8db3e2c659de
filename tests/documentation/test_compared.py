"""The README compares Jeeves with the alternatives: each figure stands on the page that measured it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_links import anchors

ROOT = Path(__file__).parent.parent.parent
ROW = re.compile(r"^\|(?P<cells>.+)\| \[[^\]]+\]\((?P<page>docs/[\w/]+\.md)#(?P<anchor>[\w-]+)\) \|$", re.MULTILINE)
FIGURE = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?")
README = (ROOT / "README.md").read_text(encoding="utf-8")
TABLE = README.partition("## Compared with the alternatives")[2].partition("\n## ")[0]
ROWS = [(row["cells"], row["page"], row["anchor"]) for row in ROW.finditer(TABLE)]


def section(page: Path, anchor: str) -> str:
    """Return the text from the heading of an anchor to the next heading of its depth or less."""
    lines = page.read_text(encoding="utf-8").split("\n")
    heads = [(at, line) for at, line in enumerate(lines) if re.match(r"#+ ", line)]
    first = next(at for at, line in heads if anchors(line) == {anchor})
    depth = len(lines[first].split(" ")[0])
    last = next((at for at, line in heads if at > first and len(line.split(" ")[0]) <= depth), len(lines))
    return "\n".join(lines[first + 1 : last])


def test_every_row_of_the_comparison_names_the_page_that_measured_it() -> None:
    assert len(ROWS) == TABLE.count("\n|") - 2
    assert len(ROWS) >= 5


@pytest.mark.parametrize(("cells", "page", "anchor"), ROWS)
def test_the_figures_of_a_row_stand_below_the_heading_that_it_names(cells: str, page: str, anchor: str) -> None:
    told = set(FIGURE.findall(section(ROOT / page, anchor)))
    assert set(FIGURE.findall(cells)) - told == set()


def test_the_share_of_good_answers_is_that_of_the_page_that_measured_it() -> None:
    page = (ROOT / "docs/answer-quality.md").read_text(encoding="utf-8")
    good = re.search(r"^\| good \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert good is not None
    assert all(f"{share} %" in TABLE for share in good.groups())
