"""Figures that a page takes from another one, as the README's comparison does, stand on the page that measured them."""

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
    opening = f"in a fresh install without a model, {float(good[2]):g} % of 54 questions used in development"
    assert [page for page in ("README.md", "docs/index.md") if opening not in (ROOT / page).read_text("utf-8")] == []


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A link of figures alone, such as [0.24 s instead of 5.4](docs/performance.md#start-and-memory).
TOLD = re.compile(r"\[(?P<told>\d[^\]]*)\]\((?P<place>[\w./-]*performance\.md)#(?P<anchor>[\w-]+)\)")
LINKS = [
    (page, each["told"], each["place"], each["anchor"])
    for page in PAGES
    for each in TOLD.finditer(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(
    ("page", "told", "place", "anchor"), LINKS, ids=[f"{page.name}: {told}" for page, told, _, _ in LINKS]
)
def test_a_figure_that_leads_to_where_it_was_measured_is_the_one_there(
    page: Path, told: str, place: str, anchor: str
) -> None:
    there = [float(each.replace(",", "")) for each in FIGURE.findall(section(page.parent / place, anchor))]
    for figure in FIGURE.findall(told):
        decimals = len(figure.partition(".")[2])
        assert float(figure.replace(",", "")) in {round(each, decimals) for each in there}, figure


def test_the_sizes_of_a_deployment_are_those_that_were_measured() -> None:
    guide = ROOT / "docs/guides/deploy.md"
    rows = [line.strip("| ").split(" | ") for line in section(guide, "sizing").splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 4
    measured = ""
    for what, memory, where in rows:
        if (link := re.search(r"\(([\w./-]+\.md)(?:#([\w-]+))?\)", where)) is not None:
            page = guide.parent / link[1]
            measured = section(page, link[2]) if link[2] else page.read_text(encoding="utf-8")
        assert set(FIGURE.findall(memory)) - set(FIGURE.findall(measured)) == set(), what
