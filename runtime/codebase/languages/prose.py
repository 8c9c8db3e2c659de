"""Declares formats of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.codebase.language_parts.language import Language
from runtime.codebase.language_parts.outlines import MAX_LINE_CHARS, Opening, no_openings

_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_ATX_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_SETEXT_RULE = re.compile(r"^\s{0,3}(=+|-{2,})\s*$")
_RST_RULE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")


def _markdown_sections(lines: Sequence[str]) -> Iterator[Opening]:
    fenced = False
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (heading := _ATX_HEADING.match(line[:MAX_LINE_CHARS])):
            yield number, len(heading.group(1)), heading.group(2), "section"
        elif not fenced and number > 1 and (rule := _SETEXT_RULE.match(line)):
            title = lines[number - 2].strip()
            if title and not title.startswith(("#", "-", ">", "|", "`")):
                yield number - 1, 1 if rule.group(1)[0] == "=" else 2, title, "section"


def _rst_sections(lines: Sequence[str]) -> Iterator[Opening]:
    levels: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        rule = _RST_RULE.match(line)
        title = lines[number - 2].rstrip()
        if rule is None or not title or title[0].isspace() or _RST_RULE.match(title):
            continue
        if len(line.rstrip()) < min(len(title), 3):
            continue
        mark = rule.group(1)
        if mark not in levels:
            levels.append(mark)
        yield number - 1, levels.index(mark) + 1, title, "section"


LANGUAGES = (
    Language(
        name="markdown",
        # Manuals in the form of ronn and scdoc have the headings and paragraphs of Markdown.
        extensions="md markdown mdx ronn scd",
        role="prose",
        path_kinds=(("docs", r"\.(md|markdown|mdx|ronn|scd)$"),),
        outline=_markdown_sections,
    ),
    Language(name="rst", extensions="rst", role="prose", path_kinds=(("docs", r"\.rst$"),), outline=_rst_sections),
    Language(
        name="text",
        extensions="txt text adoc pod",
        file_names="readme license changelog go.mod",
        role="prose",
        path_kinds=(("docs", r"\.(adoc|txt|pod)$"),),
        outline=no_openings,
    ),
)
