"""Groups lines of code into statements, and ties each comment to the statement that it documents.

A statement is a line with what stands further right below it, as code in nearly every language is laid out. A comment
documents the statement that follows without a blank line between, the line that it trails, or, as a documentation
string, the assignment above it or the definition that it begins. Positions count from 0 and are inclusive. Pure.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.search.prose.comment_lines import OpenText, comment_lines, opens_trailing_block

_CLOSES = re.compile(r"\s*(?:[)\]}>]|end\b|fi\b|done\b|esac\b)")
_NEXT_BRANCH = re.compile(r"\s*\}?\s*(?:else|elif|elsif|elseif|except|rescue|catch|finally|ensure|case|default|when)\b")
_OPENS = re.compile(r"(?:[({\[:]|=>|->|=|\bthen|\bdo)\s*(?:(?://|#|/\*).*)?$")
# What stands on a line of its own before the line that it belongs to: decorators, attributes, the type of a C function.
_ATTRIBUTE = re.compile(
    r"\s*(?:@\w|#!?\[|\[\w[\w.:, \"()=]*\]\s*$|[A-Z][A-Z0-9_]{3,}(?:\([^()]*\))?\s*$"
    r"|(?:static|extern|inline|const|unsigned|signed|struct|void|int|char|long|bool|size_t)\b[\w\s*]*$)"
)
_DIRECTIVE = re.compile(r"#\s*(?:if|ifdef|ifndef|else|elif|endif|pragma|region|endregion)\b")
_STRING = re.compile(r"\s*[rRbBuUfF]{0,2}(?:\"\"\"|''')")
_ASSIGNS = re.compile(r"\s*[\w.]+(?:\[[^\]]*\])?\s*(?::[^=]*)?(?:=(?!=)|$)|\s*[\w.]+\s*:\s*\S")
_LINE_COMMENT = re.compile(r"\s*(?://|#|--\s|;)")
_BELOW = re.compile(r"\s*(?://[/!]<|/\*[*!]<)")
_TRAILING = re.compile(r"(?<=[\w)\]};,\"'>`])\s+(?://|#(?![\w\[])|/\*|--\s|;)")
# What has members, each of which is documented by itself.
_HOLDER = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|partial|data|pub(?:\([^)]*\))?"
    r"|declare|const|typedef|readonly|unsafe|open|case)\s+)*"
    r"(?:class|struct|interface|enum|trait|impl|object|record|union|module|namespace|protocol|message|service|mod"
    r"|type\s+\w+(?:<[^=]*>)?\s*(?:=\s*\{|struct\b|interface\b)|extension)\b"
)
_TABLE = re.compile(
    r"\s*(?:(?:export|const|let|var|static|final|pub|public|private|readonly)\s+)*[\w$.\"']+[^=(]*(?:=|:|:=)\s*[\[{(]\s*$"
)
_BRANCH = re.compile(
    r"\s*\}?\s*(?:if|elif|elsif|else|unless|for|foreach|while|until|switch|match|case|default|when|try|except|catch|rescue|finally|with|loop)\b"
)
_CONDITION = re.compile(
    r"\s*\}?\s*(?:if|elif|elsif|else|unless|switch|match|case|default|when|except|catch|rescue|guard)\b"
)
_ALTERNATIVE = re.compile(r"\s*\}?\s*(?:else|elif|elsif)\b")
# How many conditions around a line are told.
MAX_CONDITIONS = 3
_MACRO = re.compile(r"#\s*define\s+\w+\b(?!\()")
_ARM = re.compile(r".*=>\s*\{?\s*$")


class Extent(NamedTuple):
    """Spans positions of lines, inclusive."""

    start: int
    end: int

    def has(self, place: int) -> bool:
        """Return whether a position lies within."""
        return self.start <= place <= self.end


class Statements:
    """Answers which lines belong together in the lines of one place.

    `within`: the comment or string in which the first line begins.
    """

    def __init__(self, lines: Sequence[str], *, begins_file: bool = False, within: OpenText | None = None) -> None:
        self.lines = lines
        self._begins_file = begins_file
        self._begun_lines = 0 if within is None or within.closing == "*/" else _lines_to(within.closing, lines)
        self.is_comment = comment_lines(lines, within)
        self._indents = [indent_of(line) for line in lines]
        self._is_blank = [not line.strip() for line in lines]

    def extent(self, place: int) -> Extent:
        """Return the statement that begins at a position, with its body, up to its next branch."""
        own = self._indents[place]
        head, end = place, place
        is_open = True
        for at in range(place + 1, len(self.lines)):
            line = self.lines[at]
            if self._is_blank[at] or (own and _DIRECTIVE.match(line)):
                continue
            indent = self._indents[at]
            if indent < own:
                break
            if indent == own:
                follows_attribute = _ATTRIBUTE.match(self.lines[head]) is not None and end == at - 1
                begins_body = line.lstrip().startswith("{") and end == at - 1
                if follows_attribute:
                    head = at
                elif _CLOSES.match(line) and is_open and not _NEXT_BRANCH.match(line):
                    is_open = _OPENS.search(line) is not None
                elif not begins_body:
                    break
            end = at
        return Extent(place, end)

    @functools.cached_property
    def owners(self) -> dict[int, Extent]:
        """Map the positions of comment lines to the statement that they document; without those that document none."""
        found: dict[int, Extent] = {}
        for block in self._blocks():
            owner = self._owner(block)
            if owner is not None:
                found.update(dict.fromkeys(range(block.start, block.end + 1), owner))
        return found

    def head(self, owner: Extent) -> int:
        """Return the position of the line that names a statement: the first behind decorators and attributes."""
        own = range(owner.start, owner.end + 1)
        return next((at for at in own if not (_ATTRIBUTE.match(self.lines[at]) or self._is_blank[at])), owner.start)

    def is_holder(self, owner: Extent) -> bool:
        """Return whether a statement holds members that are documented each by itself: a class, a table of settings."""
        line = self.lines[self.head(owner)]
        return owner.end > owner.start and (_HOLDER.match(line) is not None or _TABLE.match(line) is not None)

    def branch_head(self, place: int) -> int | None:
        """Return the position of the line that begins the innermost branch around a line of code; None outside any."""
        indent = self._indents[place]
        for at in range(place - 1, -1, -1):
            if self._is_blank[at] or self.is_comment[at] or self._indents[at] >= indent:
                continue
            if _CLOSES.match(self.lines[at]) and not _NEXT_BRANCH.match(self.lines[at]):
                indent = self._indents[at] + 1
                continue
            is_branch = _BRANCH.match(self.lines[at]) or _ARM.match(self.lines[at])
            return at if is_branch else None
        return None

    def conditions(self, place: int) -> list[int]:
        """Return the positions of the lines that decide whether a line of code is reached, the outermost first.

        Loops and handles of resources decide nothing. For an `else` the line that begins its first branch counts too.
        """
        found: list[int] = []
        at = place
        while (above := self._outside(at)) is not None and len(found) < MAX_CONDITIONS:
            line = self.lines[above]
            at = above
            if _CONDITION.match(line) or _ARM.match(line):
                found.append(above)
                if _ALTERNATIVE.match(line) and (first := self._first_branch(above)) is not None:
                    found.append(first)
                    at = first
        return sorted(found)

    def _outside(self, place: int) -> int | None:
        """Return the position of the next line of code above that stands further left; None if none does."""
        indent = self._indents[place]
        for at in range(place - 1, -1, -1):
            if self._is_blank[at] or self.is_comment[at] or self._indents[at] >= indent:
                continue
            if not _CLOSES.match(self.lines[at]) or _NEXT_BRANCH.match(self.lines[at]):
                return at
            # What closes a bracket here belongs to the line that opened it.
            indent = self._indents[at] + 1
        return None

    def _first_branch(self, place: int) -> int | None:
        """Return the position of the `if` above, in the same column, to which an `else` belongs."""
        for at in range(place - 1, -1, -1):
            if self._is_blank[at] or self.is_comment[at] or self._indents[at] > self._indents[place]:
                continue
            if self._indents[at] < self._indents[place]:
                return None
            if _CONDITION.match(self.lines[at]) and not _ALTERNATIVE.match(self.lines[at]):
                return at
            if not _CONDITION.match(self.lines[at]) and not _CLOSES.match(self.lines[at]):
                return None
        return None

    def whole(self) -> Extent | None:
        """Return the one statement that all lines of code make up; None for several, or a single line."""
        code = [at for at, blank in enumerate(self._is_blank) if not blank and not self.is_comment[at]]
        if len(code) < 2:
            return None
        extent = self.extent(code[0])
        return extent if extent.end >= code[-1] else None

    def is_member(self, place: int) -> bool:
        """Return whether a line of code is one of several that stand for themselves: a field, a setting, a macro."""
        if _MACRO.match(self.lines[place]):
            return True
        above = range(place - 1, -1, -1)
        outer = next((at for at in above if not self._is_blank[at] and self._indents[at] < self._indents[place]), None)
        return outer is not None and self.is_holder(Extent(outer, place))

    def comment_above(self, place: int) -> int:
        """Return the first position of a statement's comment and attributes, given that of one of its lines."""
        at = place
        while at > 0 and self._indents[at - 1] == self._indents[at] and _ATTRIBUTE.match(self.lines[at - 1]):
            at -= 1
        first = at
        while at > 0 and self.is_comment[at - 1] and (owner := self.owners.get(at - 1)) and owner.start == first:
            at -= 1
        return at

    def comment_below(self, place: int) -> int:
        """Return the last position of the comment that documents, from below, a statement that ends at a position."""
        at = place
        while at + 1 < len(self.lines) and (owner := self.owners.get(at + 1)) and owner.end == place:
            at += 1
        return at

    def _blocks(self) -> list[Extent]:
        """Return the comments: runs of comment lines; a documentation string is one by itself."""
        blocks: list[Extent] = []
        for at, is_comment in enumerate(self.is_comment):
            if not is_comment:
                continue
            last = blocks[-1] if blocks else None
            if last is not None and last.end == at - 1 and not self._begins_another(at, last):
                blocks[-1] = Extent(last.start, at)
            else:
                blocks.append(Extent(at, at))
        return blocks

    def _begins_another(self, at: int, before: Extent) -> bool:
        """Return whether a comment line does not go on with the one above: it is a string, or in another column."""
        if before.start < self._begun_lines:
            return at >= self._begun_lines
        is_string = _STRING.match(self.lines[at]) is not None
        was_string = _STRING.match(self.lines[before.start]) is not None
        if not was_string:
            return is_string or (
                self._indents[at] != self._indents[before.start] and _LINE_COMMENT.match(self.lines[at]) is not None
            )
        text = "\n".join(self.lines[before.start : at])
        return (text.count('"""') + text.count("'''")) % 2 == 0

    def _owner(self, block: Extent) -> Extent | None:
        if block.start < self._begun_lines:
            # What the string documents stands above all lines.
            return None
        first = self.lines[block.start]
        if _STRING.match(first):
            return self._owner_of_string(block)
        if _BELOW.match(first) or self._goes_on_with_trailing(block):
            return self._above(block.start)
        below = block.end + 1
        if below >= len(self.lines) or self._is_blank[below] or self.is_comment[below]:
            return None
        if self._indents[below] < self._indents[block.start] or _CLOSES.match(self.lines[below]):
            return None
        return self.extent(below)

    def _owner_of_string(self, block: Extent) -> Extent | None:
        """Return the definition that a documentation string begins, or the assignment directly above it."""
        at = block.start - 1
        while at >= 0 and self.is_comment[at]:
            at -= 1
        if at < 0 or (self._is_blank[at] and all(self._is_blank[:at])):
            return Extent(0, len(self.lines) - 1) if self._begins_file else None
        own = self._indents[block.start]
        if self._indents[at] == own and not self._is_blank[at] and not self.lines[at].rstrip().endswith(":"):
            start = self._first_of(at)
            return Extent(start, at) if _ASSIGNS.match(self.lines[start]) else None
        while at >= 0 and (self._is_blank[at] or self.is_comment[at]):
            at -= 1
        if at < 0 or self._indents[at] >= own or not self.lines[at].rstrip().endswith(":"):
            return None
        return self.extent(self._first_of(at))

    def _first_of(self, place: int) -> int:
        """Return the first line of the statement that ends at a position: above closing brackets, its opening line."""
        at = place
        while at > 0 and (_CLOSES.match(self.lines[at]) or self._is_blank[at]):
            above = range(at - 1, -1, -1)
            at = next((n for n in above if not self._is_blank[n] and self._indents[n] <= self._indents[at]), 0)
        while at > 0 and _ATTRIBUTE.match(self.lines[at - 1]) and self._indents[at - 1] == self._indents[at]:
            at -= 1
        return at

    def _above(self, place: int) -> Extent | None:
        at = place - 1
        while at >= 0 and self.is_comment[at]:
            at -= 1
        return Extent(self._first_of(at), at) if at >= 0 and not self._is_blank[at] else None

    def _goes_on_with_trailing(self, block: Extent) -> bool:
        """Return whether a comment stands right below one that trails a line of code, in its column."""
        above = block.start - 1
        if above < 0 or self._is_blank[above] or self.is_comment[above]:
            return False
        if opens_trailing_block(self.lines, above):
            return True
        trailing = _TRAILING.search(self.lines[above])
        if trailing is None or not self._indents[block.start]:
            return False
        marks = self.lines[above][trailing.start() :]
        column = len(self.lines[above][: trailing.start() + len(marks) - len(marks.lstrip())].expandtabs(4))
        below = block.end + 1
        is_deeper = (
            below >= len(self.lines) or self._is_blank[below] or self._indents[below] < self._indents[block.start]
        )
        return column == self._indents[block.start] and is_deeper


def _lines_to(closing: str, lines: Sequence[str]) -> int:
    """Return how many lines there are up to the first with what closes a string, that one included."""
    return next((at + 1 for at, line in enumerate(lines) if closing in line), len(lines))
