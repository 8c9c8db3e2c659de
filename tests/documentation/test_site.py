"""The documentation as a site: every page is in its navigation, builds strictly and loads nothing from elsewhere."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from runtime.errors import InputError
from tests.documentation.assemble import CHANGELOG, GENERATED, README, SECTIONS, assemble, navigation, on_site
from tests.documentation.site import BROWSER, build, loaded_from_elsewhere
from tests.doors.axe import axe, violations
from tests.doors.browser import DESKTOP, PHONE, Tab, open_browser

__all__ = ["axe"]

ROOT = Path(__file__).resolve().parents[2]
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
MUST_RUN = bool(os.environ.get("CI"))
OPENED = ("index.html", "tutorial.html", "architecture.html", "reference/pipelines.html", "reference/settings.html")


def test_the_source_of_the_site_has_every_page_and_no_link_out_of_it(tmp_path: Path) -> None:
    assemble(tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert written | set(GENERATED) | {README, CHANGELOG, "decisions/index.md"} == names
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "](../README.md" not in index
    assert "[the keys](reference/settings.md)" in index
    assert [name for name in GENERATED if not re.search(rf"^- \[[\w ]+\]\({name}\): .+\.$", index, re.MULTILINE)] == []
    assert all(word in index for word in ("Claude Code", "Codex", "MCP"))
    assert "(files/configs/jeeves.yaml)" in (tmp_path / README).read_text(encoding="utf-8")
    assert (tmp_path / "files/configs/jeeves.yaml").is_file()
    assert "```mermaid" not in (tmp_path / "architecture.md").read_text(encoding="utf-8")


def test_a_page_that_the_index_does_not_list_is_refused_by_name() -> None:
    pages = dict.fromkeys([README, *GENERATED, "tutorial.md"], "# x")
    with pytest.raises(InputError, match=r"does not list extra\.md"):
        navigation(
            "## Tutorial\n\n- [First tour](tutorial.md)\n## Reference\n## Guides\n- [x](../README.md)\n",
            pages | {"extra.md": ""},
        )


def test_the_guides_are_listed_in_groups_which_the_navigation_has_as_well() -> None:
    guides = INDEX.partition("\n## Guides\n")[2].partition("\n## ")[0]
    ahead, *groups = guides.split("\n### ")
    assert "- [" not in ahead
    # Nobody looks through more than ten entries.
    assert all(0 < group.count("\n- [") <= 10 for group in groups)
    pages = dict.fromkeys([README, *GENERATED, "a.md", "b.md"], "# x")
    index = "## Guides\n\n### One\n\n- [x](../README.md)\n- [a](a.md)\n\n### Two\n\n- [b](b.md)\n\n## Reference\n"
    trees = navigation(index, pages)
    assert re.findall(r":caption: (.+)\n\n([\w./\n]+)\n`", trees)[:2] == [("One", "readme\na"), ("Two", "b")]


def test_the_index_has_the_four_kinds_of_pages_in_their_order() -> None:
    headings = [line.removeprefix("## ") for line in INDEX.splitlines() if line.startswith("## ")]
    assert headings == list(SECTIONS)


def test_decisions_are_numbered_in_one_style_and_as_their_files() -> None:
    pages = {int(path.name.partition("-")[0]): path for path in (ROOT / "docs" / "decisions").glob("*.md")}
    assert [number for number in range(1, max(pages)) if number not in pages] == [16, 17]
    for number, path in pages.items():
        assert path.read_text(encoding="utf-8").startswith(f"# {number}. ")


def test_links_and_pictures_in_examples_stay_as_they_are(tmp_path: Path) -> None:
    text = "[a](../README.md#x)\n\n```md\n[b](../README.md)\n```\n\n[c](#here) [d](https://x.org/y)\n"
    told = on_site("models.md", text, tmp_path)
    assert told == text.replace("[a](../README.md#x)", "[a](readme.md#x)")
    assert on_site("guides/a.md", "[s](../store.md#x)", tmp_path) == "[s](../store.md#x)"


def test_a_page_that_is_named_by_its_path_is_linked_by_its_title(tmp_path: Path) -> None:
    told = on_site(
        "guides/a.md", "See docs/metrics.md, `docs/store.md` and [http.md](../http.md#limits); `x docs/a.md`.", tmp_path
    )
    assert told == (
        "See [Metrics](../metrics.md), [What is kept, and who continues a run](../store.md) and "
        "[Over HTTP](../http.md#limits); `x docs/a.md`."
    )
    gone = "docs/gone.md, [the page](../http.md), build/docs/metrics.md\n\n```sh\ncat docs/metrics.md\n```\n"
    assert on_site("guides/a.md", gone, tmp_path) == gone


def test_no_page_of_the_site_names_another_one_by_its_path_alone(tmp_path: Path) -> None:
    assemble(tmp_path)
    for path in tmp_path.rglob("*.md"):
        if path.is_relative_to(tmp_path / "files"):
            continue
        prose = re.sub(r"^(`{3,}).*?^\1|`[^`\n]*`|\]\([^)]*\)", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        named = re.findall(r"(?<![\w/])docs/[\w./-]+\.md", prose)
        assert [each for each in named if (ROOT / each).is_file()] == [], path


def test_a_drawn_picture_is_put_into_the_page_with_its_text_for_those_who_cannot_see_it(tmp_path: Path) -> None:
    told = on_site("performance.md", "![Runs & hops](static/performance.svg)\n\nx\n", tmp_path)
    figure, _, rest = told.partition("</figure>")
    assert figure.startswith('<figure class="picture" tabindex="0">\n<svg aria-label="Runs &amp; hops" ')
    # An empty line would end the element.
    assert "\n\n" not in figure
    assert rest == "\n\nx\n"


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<script src="https://x.org/a.js"></script>', ["a.html: https://x.org/a.js"]),
        ('<link rel="stylesheet" href="//x.org/a.css">', ["a.html: //x.org/a.css"]),
        ('<p style="background: url(http://x.org/a.png)">', ["a.html: http://x.org/a.png"]),
        ('<img src="a.png"><a href="https://x.org">x</a><script src="_static/a.js"></script>', []),
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path: Path, page: str, found: list[str]) -> None:
    (tmp_path / "a.html").write_text(page)
    assert loaded_from_elsewhere(tmp_path) == found


def opened(page: Path, log: Path) -> tuple[list[str], list[str]]:
    """What a page asked for beyond files, and what the console said, in a browser without a network."""
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--log-net-log={log}", f"--user-data-dir={log}.profile"]
    command += ["--enable-logging=stderr", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "</h1>" in done.stdout
    asked = [event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"]]
    # The browser asks for things of its own, which have no page as their origin.
    found = {str(each.get("url")) for each in asked if each.get("initiator", "not an origin") != "not an origin"}
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return sorted(each for each in found if each.startswith("http")), said


# The article of a page scrolls by itself: what is too wide for it does not show in the width of the document. Of
# pictures the smallest letters count, as they are seen.
WIDER_THAN_THE_ARTICLE = """[...document.querySelectorAll('.content')]
    .filter(each => each.scrollWidth > each.clientWidth)
    .map(each => `${each.scrollWidth} px in ${each.clientWidth}`)"""
SMALL_LETTERS = """[...document.querySelectorAll('svg text')]
    .map(each => [parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a, each.textContent.trim()])
    .filter(([size]) => size < 10).slice(0, 1).map(([size, text]) => `${size.toFixed(1)} px: ${text}`)"""


async def too_wide_or_small(tab: Tab, page: Path, widths: tuple[int, ...] = (320, 375)) -> list[str]:
    """What scrolls the text of a page sideways, or is too small to be read, on phones of these widths."""
    await tab.open(page.as_uri())
    found: list[str] = []
    for width in widths:
        await tab.look((width, 800))
        told = [*await tab.value(WIDER_THAN_THE_ARTICLE), *await tab.value(SMALL_LETTERS)]
        if not await tab.value("document.documentElement.scrollWidth <= innerWidth"):
            told.append("the page scrolls")
        found += [f"{page.name} at {width}: {each}" for each in told]
    return found


async def measured(pages: list[Path], folder: Path) -> list[str]:
    async with open_browser(folder / "profile") as tab:
        return [each for page in pages for each in await too_wide_or_small(tab, page)]


@pytest.mark.skipif(not MUST_RUN and BROWSER is None, reason="there is no Chromium to open it: .ci/browser")
@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ('<p style="width: 500px">x</p>', ["a.html at 300: 500 px in 300"]),
        (
            '<svg width="90" viewBox="0 0 180 9"><text style="font-size: 12px">x</text></svg>',
            ["a.html at 300: 6.0 px: x"],
        ),
        ("<p>x</p>", []),
    ],
)
async def test_what_is_too_wide_or_too_small_on_a_phone_is_found(tmp_path: Path, inside: str, found: list[str]) -> None:
    article = (
        f'<meta name="viewport" content="width=device-width"><div class="content" style="overflow: auto">{inside}</div>'
    )
    (tmp_path / "a.html").write_text(f'<body style="margin: 0">{article}')
    async with open_browser(tmp_path / "profile") as tab:
        assert await too_wide_or_small(tab, tmp_path / "a.html", (300,)) == found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning."""
    if not MUST_RUN and importlib.util.find_spec("furo") is None:
        pytest.skip("Sphinx and furo are not installed: make docs")
    return build(tmp_path_factory.mktemp("site"))


@pytest.mark.long
@pytest.mark.skipif(not MUST_RUN and BROWSER is None, reason="there is no Chromium to open it: .ci/browser")
async def test_the_pages_of_the_site_are_for_everybody(pages: Path, tmp_path: Path, axe: str) -> None:
    async with open_browser(tmp_path / "profile") as tab:
        for page in ("index.html", "readme.html", "guides/deploy.html", "reference/pipelines.html"):
            for size, dark in ((DESKTOP, False), (PHONE, True)):
                await tab.look(size, dark, still=True)
                await tab.open((pages / page).as_uri())
                assert await violations(tab, axe) == [], (page, size)


@pytest.mark.long
def test_the_site_builds_without_a_warning_and_a_browser_opens_it_without_a_network(
    pages: Path, tmp_path: Path
) -> None:
    assert loaded_from_elsewhere(pages) == []
    if not MUST_RUN and BROWSER is None:
        pytest.skip("the site is built; there is no Chromium to open it: .ci/browser")
    assert asyncio.run(measured(sorted(pages.rglob("*.html")), tmp_path)) == []
    for number, page in enumerate(OPENED):
        assert opened(pages / page, tmp_path / f"log{number}.json") == ([], [])
    (tmp_path / "loads.html").write_text('<h1>x</h1><img src="http://pictures.test/a.png">')
    asked, _ = opened(tmp_path / "loads.html", tmp_path / "loads.json")
    assert asked == ["http://pictures.test/a.png"]
