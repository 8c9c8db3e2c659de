"""Reads what documents say of settings: the name of each, what it is for, and its default.

A setting is a row of a table, an item that begins with a name in code, a section that is headed by one, or a parameter
of a documentation string. A default is taken only as it stands in a line: from the column of a table that is headed
«default», behind the word, or ahead of «(default)». Pure functions over lines.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MAX_LINE_CHARS = 600
# A table's head stands at most so many lines above a row.
MAX_TABLE_LINES = 80
MAX_VALUE_CHARS = 60

_NAME = r"[A-Za-z_][\w.\-]{0,60}"
_BULLET = r"\s*(?P<bullet>(?:[-*+•|:]\s+|\d+[.)]\s+|&#\d+;\s*|[^\w\s`*\-|.:#<>\[\](){}\"'/\\@$=,;]{1,3}\s*)?)"
# `- name: …`, «**--name** _N_», «⏳``name``<br/>», «-p, --name int», «.. option:: --name=<N>».
_ITEM = re.compile(
    rf"{_BULLET}(?:(?P<mark>``|`|\*\*`?)(?:-\w(?:``|`|\*\*),?\s+(?:``|`|\*\*))?\\?-{{0,2}}(?P<name>{_NAME})(?:[=<\[,/:][^`*]{{0,30}}|:)?(?P=mark)"
    rf"|(?:\*\*)?(?:-\w(?:\*\*)?,?\s+(?:\*\*)?)?\\?--(?P<flag>{_NAME})"
    rf"|\.\.\s+(?:[\w:]+:)?(?:option|confval|envvar|setting|attribute|data)::\s+(?:-\w,?\s+)?(?:--)?(?P<directive>{_NAME}))"
)
# «* **Line length:** … `MAX_LINE` …», with one constant.
_BOLD_ITEM = re.compile(rf"{_BULLET}\*\*[^*`]{{2,60}}\*\*")
_CONSTANTS = re.compile(r"`(?:-D)?([A-Z][A-Z\d]*_[A-Z\d_]+)(?:=\w+)?`")
# `:param name:`, `@param name`, `name (int): …`, `name : int`.
_PARAMETER = re.compile(
    rf"\s*[*/#]*\s*(?::(?:param|type|ivar|cvar|var|keyword|attribute)(?:\s+[\w.\[\]|]+)?\s+(?P<field>{_NAME})\s*:"
    rf"|[@\\]param\s+(?:\{{[^}}]*\}}\s+)?\[?(?P<tag>{_NAME})|(?P<typed>{_NAME})\s*(?:\([^)]{{1,60}}\)\s*:|\s:\s))"
)
_HEADED = re.compile(rf"[`*\"']*-{{0,2}}(?P<name>{_NAME})[`*\"']*(?:\(\))?")
# «Line Length» above a line «**Default:** `79`» is the setting `line_length`.
_TITLE = re.compile(r"[A-Z][\w-]{1,30}(?: [\w-]{1,30}){1,4}")
_DEFAULT_LINE = re.compile(r"\W{0,6}Default\W{0,3}:")
_NO_NAMES = frozenset({"default", "defaults", "note", "warning", "example", "type", "returns", "raises", "usage"})
_RULE = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?\s*")
_OF_DEFAULTS = frozenset({"default", "defaults", "default value", "default values"})
_SWITCH = r"true|false|none|null|nil|undefined|on|off|enabled|disabled"
_STATED = re.compile(
    r"\b(?:by )?defaults?\b(?: (?:values?|setting))?(?:,? (?:(?:it|this value|this|which) )?(?:is|are|to|of|being|=))?"
    r"[\s:=*(]*(?:(?P<tick>``?|\")(?P<code>[^`\"]{1,60})(?P=tick)"
    rf"|(?P<plain>-?\d[\d_,.]*(?<![,.])%?(?: ?(?:ms|s|[kKMG]i?B)\b)?|(?:{_SWITCH})\b)(?![\w/-]|\.\w))",
    re.IGNORECASE,
)
_CHOSEN = re.compile(r"(?P<mark>``|`|\*\*|\")(?P<value>[\w.\-]{1,40})(?P=mark):?\s*\((?:the )?default\)", re.IGNORECASE)


# «-p, --port N   Port to use [8080]»: a line of a help text that ends with the default.
_USAGE = re.compile(
    r"^[\s\W]{0,12}?(?=-{1,2}[A-Za-z])"
    r"(?P<text>-[^\n]{6,200}?[\[(](?:defaults?(?: to| is|:|=)?\s*)?(?P<value>[^\[\]()\s][^\[\]()]{0,50}?)[\])]"
    r"(?:[.,;]? [\w(\[][^\n]{0,80})?)[.;]?(?:\\n)?[\"'`,+;)\s\\]*$"
)
_USAGE_VALUE = re.compile(r"-?\d[\w.:%]*|true|false|on|off|[\w./:*-]+", re.IGNORECASE)


_KIND = r"(?:option|setting|parameter|variable|key|flag|field|property)"
_CALLED_SETTING = re.compile(
    rf"``?-{{0,2}}(?P<before>{_NAME})``?\s+(?:\w+\s+)?{_KIND}\b|\b{_KIND}\s+``?-{{0,2}}(?P<behind>{_NAME})``?",
    re.IGNORECASE,
)


class DocumentedSetting(NamedTuple):
    """Describes a setting as a document tells of it: its lines, and the default stated there as it stands; «» if none.

    `default_line`: the line of the default, 0 without one.
    """

    name: str
    start_line: int
    end_line: int
    text: str
    default: str = ""
    default_line: int = 0


def settings_in(lines: Sequence[str], first: int, last: int, heading: str) -> Iterator[DocumentedSetting]:
    """Yield the settings that a passage tells of: its lines from `first` to `last`, counted from 1.

    `lines`: those of the whole file; `heading`: the sections that it stands in, the innermost behind the last «>».
    """
    headed = _HEADED.fullmatch(heading.rpartition(" > ")[2].strip())
    if headed is not None and _is_name(headed["name"]) and _looks_written(heading, headed["name"]):
        yield _setting(headed["name"], lines, first, last)
        return
    titled = _TITLE.fullmatch(heading.rpartition(" > ")[2].strip())
    if titled is not None and sum(_DEFAULT_LINE.match(line) is not None for line in lines[first - 1 : last]) == 1:
        yield _setting(titled.group().lower().replace(" ", "_"), lines, first, last)
        return
    yield from _named_in_prose(lines, first, last)
    starts: list[tuple[int, str]] = []
    for number in range(first, min(last, len(lines)) + 1):
        line = lines[number - 1][:MAX_LINE_CHARS]
        if line.lstrip().startswith("|"):
            row = _row(lines, number)
            if row is not None:
                yield row
            continue
        name = _item_at(lines, number, is_first=number == first)
        # An item without a name ends the one before.
        if _is_name(name) or (not name and _BOLD_ITEM.match(line)):
            starts.append((number, name))
    for (start, name), (end, _) in itertools.pairwise([*starts, (min(last, len(lines)) + 1, "")]):
        if name:
            yield _setting(name, lines, start, end - 1)


def stated_default(line: str) -> str:
    """Return the one default that a line states, as it stands there; «» if it states none, or several."""
    found = stated_defaults(line)
    return found[0] if len(found) == 1 else ""


def stated_defaults(line: str) -> list[str]:
    """Return the defaults that a line states, as they stand there, each once."""
    read = line[:MAX_LINE_CHARS]
    found = [one["code"] or one["plain"] for one in _STATED.finditer(read)]
    found = found or [one["value"] for one in _CHOSEN.finditer(read)]
    return list(dict.fromkeys(told for one in found if (told := one.strip()) and len(told) <= MAX_VALUE_CHARS))


def _named_in_prose(lines: Sequence[str], first: int, last: int) -> Iterator[DocumentedSetting]:
    """Yield the one setting that a passage calls so: «use the `strong_rec_thresh` option, which …»."""
    text = "\n".join(line[:MAX_LINE_CHARS] for line in lines[first - 1 : last])
    found = {one["before"] or one["behind"] for one in _CALLED_SETTING.finditer(text)}
    if len(found) == 1 and _is_name(name := found.pop()):
        yield _setting(name, lines, first, min(last, len(lines)))


def usage_default(line: str) -> tuple[str, str] | None:
    """Return the text of a line of a help text and the default at its end; None for any other line."""
    found = _USAGE.match(line[:MAX_LINE_CHARS])
    if found is None or _USAGE_VALUE.fullmatch(found["value"].strip("\"'` ")) is None:
        return None
    is_marked = re.search(r"default", found["text"][found.start("value") - found.start("text") - 12 :], re.IGNORECASE)
    is_plain = found["text"][found.start("value") - found.start("text") - 1] == "["
    return (found["text"], found["value"].strip("\"'` ")) if is_marked or is_plain else None


def row_default(lines: Sequence[str], number: int) -> str:
    """Return what a line states in the column of defaults of a table, whatever its first column has; «» if nothing."""
    cells = _row_cells(lines, number)
    return cells[1] if cells is not None else ""


def _item_at(lines: Sequence[str], number: int, *, is_first: bool) -> str:
    """Return the name that a line of an item begins with; «» for any other line.

    A line of prose may begin with a name as well: without a bullet, an item begins behind an empty line.
    """
    line = lines[number - 1][:MAX_LINE_CHARS]
    found = _ITEM.match(line)
    constants = set(_CONSTANTS.findall(line)) if _BOLD_ITEM.match(line) else set()
    if len(constants) == 1:
        return str(constants.pop())
    if found is not None:
        begins = is_first or bool(found["bullet"].strip()) or not lines[number - 2].strip()
        return found["flag"] or found["directive"] or (found["name"] if begins else "")
    parameter = _PARAMETER.match(line)
    return "" if parameter is None else parameter["field"] or parameter["tag"] or parameter["typed"]


def _is_name(name: str) -> bool:
    return len(name) > 1 and name.lower() not in _NO_NAMES


def _looks_written(heading: str, name: str) -> bool:
    """Return whether a heading is a name of code: in quotes of code, with inner marks or capitals."""
    said = heading.rpartition(" > ")[2].strip()
    is_of_code = said[:1] in "`*-\"'" or name.islower()
    return is_of_code or "_" in name or "-" in name[1:] or re.search(r"[a-z][A-Z]", name) is not None


def _setting(name: str, lines: Sequence[str], start: int, end: int) -> DocumentedSetting:
    text = "\n".join(line[:MAX_LINE_CHARS] for line in lines[start - 1 : end])
    stated = [(told, number) for number in range(start, end + 1) if (told := stated_default(lines[number - 1]))]
    values = {told for told, _ in stated}
    told, at = stated[0] if len(values) == 1 else ("", 0)
    return DocumentedSetting(name, start, end, text, told, at)


def _row(lines: Sequence[str], number: int) -> DocumentedSetting | None:
    """Return the setting of a row of a table that has a column of defaults."""
    cells = _row_cells(lines, number)
    named = _HEADED.match(cells[0]) if cells is not None else None
    if cells is None or named is None or not _is_name(named["name"]):
        return None
    text, value = lines[number - 1][:MAX_LINE_CHARS], cells[1]
    return DocumentedSetting(named["name"], number, number, text, value, number if value else 0)


def _row_cells(lines: Sequence[str], number: int) -> tuple[str, str] | None:
    """Return the first cell of a row and its default, «» if it states none; None without a column of defaults."""
    if "|" not in lines[number - 1]:
        return None
    for above in range(number - 1, max(1, number - MAX_TABLE_LINES), -1):
        line = lines[above - 1][:MAX_LINE_CHARS]
        if "|" not in line:
            return None
        if _RULE.fullmatch(line):
            head, cells = _cells(lines[above - 2]), _cells(lines[number - 1])
            places = [at for at, cell in enumerate(head) if cell.lower().strip("*` ") in _OF_DEFAULTS]
            if len(places) != 1 or len(cells) != len(head):
                return None
            value = cells[places[0]].strip("*` ")
            is_told = bool(value) and len(value) <= MAX_VALUE_CHARS and value.strip("-–—") != ""
            return cells[0], value if is_told and value in lines[number - 1][:MAX_LINE_CHARS] else ""
    return None


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row[:MAX_LINE_CHARS].strip().strip("|").split("|")]
