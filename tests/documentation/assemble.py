"""Assembles the source of the documentation site: the pages of docs/, the README, and the generated reference.

    python -m tests.documentation.assemble FOLDER

The pages of docs/ stay readable on a code host; what only a site needs is done here. Links to files outside of docs/
lead to copies, pages that are named by their path are named by their title, Mermaid pictures become SVG, other pictures
are put into the page, whose colours they then have, and the lists of docs/index.md become the navigation.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path, PurePosixPath

from runtime.errors import InputError
from tests.documentation.commands_page import commands_page
from tests.documentation.drawing import svg
from tests.documentation.events_page import events_page
from tests.documentation.flowchart import flowchart
from tests.documentation.http_page import http_page
from tests.documentation.kernel_pages import errors_page, pipelines_page
from tests.documentation.markdown import prose
from tests.documentation.settings_page import settings_page

ROOT = Path(__file__).resolve().parents[2]
INDEX, README, CHANGELOG, DECISIONS = "index.md", "readme.md", "changelog.md", "decisions/index.md"
README_TITLE = "All commands by example"
# File outside of docs/ → its place on the site.
OUTSIDE = {"README.md": README, "CHANGELOG.md": CHANGELOG}
# So long a page would be found for every word.
_NOT_SEARCHED = "---\nnosearch: true\n---\n\n"

# Page → what generates it; they stand first in the section of this name, on the index and in the navigation.
GENERATED: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/http-routes.md": http_page,
    "reference/settings.md": settings_page,
    "reference/pipelines.md": pipelines_page,
    "reference/events.md": events_page,
    "reference/errors.md": errors_page,
}
GENERATED_SECTION = "Reference"
CONTENTS = {
    "reference/commands.md": "every command with its options.",
    "reference/http-routes.md": "what each takes and answers.",
    "reference/settings.md": "form, default and meaning of each.",
    "reference/pipelines.md": "those that ship, drawn and with their figures, and the keys of their files.",
    "reference/events.md": "what runs report and record, with the fields of each.",
    "reference/errors.md": "codes, exit statuses, HTTP statuses, and what helps.",
}
SECTIONS = ("Tutorial", "Guides", "Reference", "Explanation")

_FENCE = re.compile(r"^(?P<mark>`{3,})(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=mark)[ \t]*$\n?", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"(?P<language>\w+) (?P<path>\S+)")
_LINK = re.compile(r"\]\((?P<target>[^)#\s:]+)?(?P<anchor>#[^)\s]*)?\)")
_SECTION = re.compile(r"^## (?P<title>.+?)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_GROUP = re.compile(r"^### (?P<title>.+?)\n(?P<body>.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[^)#]+\.md)\)", re.MULTILINE)
# A link, a page named in a code span, another code span, or a page named in prose.
_MENTION = re.compile(
    r"(?P<link>!?\[(?P<text>[^\]]*)\]\((?P<at>[^)#\s]*)(?P<anchor>#[^)\s]*)?\))"
    r"|`(?P<spanned>docs/[\w./-]+\.md)`|`[^`]*`|(?<![\w/.])(?P<bare>docs/[\w./-]+\.md)"
)
_PATH = re.compile(r"`?[\w./-]+\.md`?")
_PICTURE = re.compile(r"^!\[(?P<told>[^\]]+)\]\((?P<file>[^)\s]+\.svg)\)$", re.MULTILINE)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def assemble(folder: Path) -> None:
    """Write the source of the site into a folder, in the place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = dict(_written_pages())
    pages |= {name: generate() for name, generate in GENERATED.items()}
    pages[DECISIONS] = _decisions(pages)
    pages[INDEX] = _with_generated(pages[INDEX], pages)
    pages[INDEX] += navigation(pages[INDEX], pages)
    for name, text in pages.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(on_site(name, text, folder), encoding="utf-8")


def _written_pages() -> Iterator[tuple[str, str]]:
    """Yield each page that somebody wrote, by its place on the site."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield path.relative_to(ROOT / "docs").as_posix(), path.read_text(encoding="utf-8")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    yield README, _TITLE.sub(f"# {README_TITLE}", text, count=1)
    yield CHANGELOG, _NOT_SEARCHED + (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _decisions(pages: dict[str, str]) -> str:
    told = (
        "Why things are as they are: the context, the choice, and what was rejected. A decision keeps its number;"
        " 16 and 17 were never given to one, so none is missing."
    )
    lines = ["# Decisions", "", told, ""]
    names = sorted(name for name in pages if name.startswith("decisions/"))
    lines += [f"- [{_title(pages[name])}]({name.partition('/')[2]})" for name in names]
    return "\n".join(lines) + _tree("", [name.partition("/")[2] for name in names])


def _title(text: str) -> str:
    found = _TITLE.search(text)
    if found is None:
        raise InputError("a page has no title; it needs a line like `# Title`")
    return prose(found[1])


def _with_generated(index: str, pages: dict[str, str]) -> str:
    """Return the index with the generated pages in their section; a code host does not have them."""
    heading = f"## {GENERATED_SECTION}\n\n"
    entries = "".join(f"- [{_title(pages[name])}]({name}): {CONTENTS[name]}\n" for name in GENERATED)
    # A code host has the file alone; the site has a page made from it.
    index = index.replace("[the keys](../configs/jeeves.yaml)", "[the keys](reference/settings.md)")
    return index.replace(heading, heading + entries, 1)


def navigation(index: str, pages: dict[str, str]) -> str:
    """Return the hidden trees of contents for the lists of the index. Raises InputError for a page in none of them."""
    trees, listed = "", {INDEX, DECISIONS, *(name for name in pages if name.startswith("decisions/"))}
    for section in _SECTION.finditer(index):
        for title, body in _groups(section):
            names = [entry["page"] for entry in _ENTRY.finditer(body)]
            names = [OUTSIDE.get(name.removeprefix("../"), name) for name in names]
            names += (name for name in GENERATED if title == GENERATED_SECTION and name not in names)
            names += (DECISIONS,) if title == SECTIONS[-1] else ()
            listed.update(names)
            trees += _tree(title, names)
    if missing := sorted(set(pages) - listed):
        raise InputError(f"docs/index.md does not list {', '.join(missing)}", pages=missing)
    return trees


def _groups(section: re.Match[str]) -> list[tuple[str, str]]:
    """Return the groups of a section, each with its title and its list; a section without groups is one."""
    groups = [(group["title"], group["body"]) for group in _GROUP.finditer(section["body"])]
    return groups or [(section["title"], section["body"])]


def _tree(caption: str, names: list[str]) -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *(name.removesuffix(".md") for name in names), "```", ""])


def on_site(name: str, text: str, folder: Path) -> str:
    """Return a page as the site needs it; files that it links to are copied into `folder`."""
    parts, at = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_relinked(name, text[at : fence.start()], folder), _fenced(name, fence)]
        at = fence.end()
    return "".join([*parts, _relinked(name, text[at:], folder)])


def _fenced(name: str, fence: re.Match[str]) -> str:
    if (named := _NAMED.fullmatch(fence["info"].strip())) is not None:
        # Code hosts and the builder leave out the name that stands behind the language.
        mark = fence["mark"]
        return f"{mark}{{code-block}} {named['language']}\n:caption: {named['path']}\n\n{fence['body']}{mark}\n"
    if fence["info"].strip() != "mermaid":
        return fence[0]
    title = f"Picture of the page {name.removesuffix('.md')}"
    return _figure(svg(flowchart(fence["body"]), title))


def _figure(picture: str) -> str:
    """Return a picture as an element of its own, which scrolls, by keys too, where the screen is narrower."""
    return f'<figure class="picture" tabindex="0">\n{picture}\n</figure>\n'


def _relinked(name: str, text: str, folder: Path) -> str:
    def moved(link: re.Match[str]) -> str:
        if not link["target"]:
            return link[0]
        return f"]({_target(name, link['target'], folder)}{link['anchor'] or ''})"

    def shown(picture: re.Match[str]) -> str:
        drawn = (_folder(name) / picture["file"]).read_text(encoding="utf-8")
        lines = [line for line in drawn.splitlines() if line.strip()]
        lines[0] = lines[0].replace("<svg ", f'<svg aria-label="{escape(picture["told"])}" ', 1)
        return _figure("\n".join(lines)).rstrip("\n")

    def named(mention: re.Match[str]) -> str:
        path = mention["spanned"] or mention["bare"]
        if path:
            there = ROOT / path
            return f"[{_title_of(there)}]({os.path.relpath(there, _folder(name))})" if there.is_file() else mention[0]
        if mention["link"] and _PATH.fullmatch(mention["text"]) and mention["at"].endswith(".md"):
            return f"[{_title_of(_folder(name) / mention['at'])}]({mention['at']}{mention['anchor'] or ''})"
        return mention[0]

    return _LINK.sub(moved, _PICTURE.sub(shown, _MENTION.sub(named, text)))


def _title_of(path: Path) -> str:
    """Return the title of a page, by which the site names it instead of by its path."""
    text = path.read_text(encoding="utf-8")
    if path.resolve() == ROOT / "README.md":
        return README_TITLE
    found = _TITLE.search(text)
    return found[1] if found else path.name


def _folder(name: str) -> Path:
    """Return the folder of the file that a page of the site comes from."""
    return ROOT if name in OUTSIDE.values() else (ROOT / "docs" / name).parent


def _target(name: str, target: str, folder: Path) -> str:
    """Return where a link of a page leads on the site."""
    there = os.path.normpath((_folder(name) / target).relative_to(ROOT))
    on_site_at = {**OUTSIDE, "docs/decisions": DECISIONS, "docs/guides": INDEX}.get(there)
    if on_site_at is None and there.startswith("docs/") and there.endswith(".md"):
        on_site_at = there.removeprefix("docs/")
    if on_site_at is None:
        on_site_at = f"files/{there}"
        copy = folder / on_site_at
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / there, copy)
    return os.path.relpath(on_site_at, PurePosixPath(name).parent)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
