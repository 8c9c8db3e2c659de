"""Renders Markdown for a terminal: code highlighted, citations linked, hidden characters visible.

Markdown decodes entities and reads file names as markup (`__init__.py`), so hidden characters are escaped again in what
comes out of it, and the marks of citations are kept from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.markdown import Markdown
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax

from runtime.primitives.visible_text import visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_MARK = re.compile(r"\[(?P<file>[^\[\]\n]+):\d+(?:-\d+)?\]")
_CODE_OR_MARK = re.compile(rf"(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))|{_MARK.pattern}")
_MARKUP = re.compile(r"([\\`*_~<>&])")


class MarkdownView:
    """Shows Markdown; `addresses`: mark of a citation → what it links to. `is_light`: the terminal's background."""

    def __init__(self, text: str, addresses: Mapping[str, str], is_light: bool = False) -> None:
        self._text = prepared(visible(text))
        self._addresses = addresses
        self._theme = "ansi_light" if is_light else "ansi_dark"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = Markdown(self._text, hyperlinks=False, code_theme=self._theme)
        for line in console.render_lines(shown, options, pad=False):
            plain = [segment for segment in line if not segment.is_control]
            yield from linked([Segment(visible_line(each.text), each.style) for each in plain], self._addresses)
            yield Segment.line()


def prepared(text: str) -> str:
    """Return Markdown in which code without a language has that of the file cited before it, and marks are literal."""
    lines: list[str] = []
    open_fence, cited = "", ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if open_fence:
            closes = fence is not None and fence["mark"].startswith(open_fence) and not fence["info"].strip()
            open_fence = "" if closes else open_fence
            lines.append(line)
        elif fence is not None:
            open_fence = fence["mark"]
            lines.append(line if fence["info"].strip() else f"{open_fence}{_language_of(cited)}")
        else:
            marks = list(_MARK.finditer(line))
            cited = marks[-1]["file"] if marks else cited
            lines.append(_CODE_OR_MARK.sub(_literal, line))
    return "\n".join(lines)


def _literal(found: re.Match[str]) -> str:
    return found[0] if found["code"] else _MARKUP.sub(r"\\\1", found[0])


def _language_of(path: str) -> str:
    found = Syntax.guess_lexer(path) if path else ""
    return "" if found == "default" else found


def linked(line: list[Segment], addresses: Mapping[str, str]) -> Iterator[Segment]:
    """Yield the segments of a line with the known marks in it as links; a mark may span segments."""
    spans = [
        (mark.start() + 1, mark.end() - 1, addresses[mark[0]])
        for mark in _MARK.finditer("".join(segment.text for segment in line))
        if mark[0] in addresses
    ]
    at = 0
    for segment in line:
        end = at + len(segment.text)
        cuts = sorted({at, end, *(cut for first, last, _ in spans for cut in (first, last) if at < cut < end)})
        for first, last in pairwise(cuts):
            address = next((each for start, stop, each in spans if start <= first and last <= stop), None)
            style = segment.style if address is None else (segment.style or Style()) + Style(link=address)
            yield Segment(segment.text[first - at : last - at], style)
        at = end
