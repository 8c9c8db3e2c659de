"""Checks evidence: the file, the lines, that they were changed, and that they do something."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines, Lines
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.parsing.empty_bodies import code_lines, is_empty
from runtime.contracts.payloads import is_text

MAX_FILE_BYTES = 20_000_000
MAX_RANGE_LINES = 2_000

_PLACE = re.compile(r"(.+):(\d{1,9})(?:-(\d{1,9}))?")
_SEVERAL = re.compile(r":\d+(?:-\d+)?(?:\s|,|;)")
_DELETED = re.compile(r"deleted:\s*(.+)", re.DOTALL)
_COMMENT_MARKS = ("#", "//", "/*", "--", ";", "%")
_QUOTES = re.compile(r"""["'`]""")
# Blanks that part no two words: `return 1` and `return1` differ.
_BLANKS = re.compile(r" (?!\w)|(?<!\w) ")
_PROSE = re.compile(r"\b(?:doc(?:s|strings?|ument\w*)?|comments?|typos?|spelling|wording)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2}")
_FORM = "write path:line, path:first-last or deleted: path"


def refuted_items(checklist: Sequence[Mapping[str, Any]], folder: Path, changed: ChangedLines) -> dict[str, str]:
    """Return the done items whose evidence does not hold, each with the reason."""
    refuted = {}
    for entry in checklist:
        item, evidence = str(entry.get("item") or ""), str(entry.get("evidence") or "")
        if entry.get("status") == "done" and (why := refutation(evidence, folder, changed, item)):
            refuted[item] = why
    return refuted


def refutation(evidence: str, folder: Path, changed: ChangedLines, item: str = "") -> str | None:
    """Return why evidence does not hold in a folder; None where it does.

    Comments and documentation strings prove an `item` that speaks of them, and no other.
    """
    if gone := _DELETED.fullmatch(evidence.strip()):
        file = gone.group(1).strip()
        return None if file in changed.deleted else f"'{file}' was not deleted by this change"
    place = place_of(evidence)
    if place is None:
        return f"'{evidence[:120]}' is no place; {_FORM}"
    file, start, end = place
    if len(_SEVERAL.findall(file)) > 0:
        return f"'{evidence[:120]}' names several places; give one, the lines that decide: {_FORM}"
    if (why := path_problem(file, folder)) is not None:
        return why
    return _refuted_lines(file, start, end, folder, changed, asks_for_prose(item))


def place_of(evidence: str) -> tuple[str, int, int] | None:
    """Return the file of a place and its first and last line; None where evidence is no place."""
    found = _PLACE.fullmatch(evidence.strip())
    return None if found is None else (found.group(1), int(found.group(2)), int(found.group(3) or found.group(2)))


def path_problem(file: str, folder: Path) -> str | None:
    """Return why a path names no file of a folder; None where it does, be it there or not.

    It must be written as the repository writes it: relative, with slashes, without `.` or `..`, through no link.
    """
    if "\0" in file or not file.strip():
        return "the path is empty or holds a zero byte"
    if not is_text(file):
        return "the name is not UTF-8, and such files are not written here"
    plain = PurePosixPath(file)
    if plain.is_absolute() or file != str(plain) or ".." in plain.parts or "\\" in file:
        return f"'{file[:200]}' must be a path from the top of the repository, without '.', '..' or '//'"
    if ".git" in [part.casefold() for part in plain.parts]:
        return f"'{file[:200]}' lies in git's own folder"
    place = folder
    for part in plain.parts:
        place = place / part
        if place.is_symlink():
            return f"'{file[:200]}' leads through the link {place.relative_to(folder)}"
    return None


def asks_for_prose(item: str) -> bool:
    """Return whether an item of a task speaks of documentation, comments or wording."""
    return _PROSE.search(item) is not None


def is_prose(text: str, file: str, parts: Lines, changed: ChangedLines) -> bool:
    """Return whether the changed parts of a file say something, and do nothing."""
    lines = [line for first, last in parts for line in text.split("\n")[first - 1 : last]]
    if not any(_WORD.search(line) for line in lines):
        return False
    return all(
        is_empty(text, file, first, last) or _is_as_before(text, file, first, last, changed) for first, last in parts
    )


def _refuted_lines(
    file: str, start: int, end: int, folder: Path, changed: ChangedLines, may_be_prose: bool
) -> str | None:
    try:
        data = read_start(folder / file, MAX_FILE_BYTES)
    except (OSError, ValueError):
        return f"there is no file '{file[:200]}'"
    text = data.decode("utf-8", "replace")
    count = text.count("\n") + (not text.endswith("\n"))
    if not 1 <= start <= end <= count:
        return f"lines {start} to {end} are not in '{file}', which has {count}"
    if end - start >= MAX_RANGE_LINES:
        return f"{end - start + 1} lines are no evidence; name the deciding ones, at most {MAX_RANGE_LINES}"
    if not changed.proves(file, start, end):
        whole = f"; of its mode or its bytes as a whole '{file}:1' is the evidence" if file in changed.whole else ""
        return f"lines {start} to {end} of '{file}' were not changed by this task's branch{whole}"
    if changed.proves_whole(file, start) or _is_beside_removal(file, start, end, changed):
        return None
    parts = changed.within(file, start, min(end, count))
    if may_be_prose and is_prose(text, file, parts, changed) and not _is_blank_change(text, file, parts, changed):
        return None
    if all(is_empty(text, file, first, last) for first, last in parts):
        return f"the changed ones of lines {start} to {end} of '{file}' implement nothing"
    if all(_is_as_before(text, file, first, last, changed) for first, last in parts):
        return f"the changed ones of lines {start} to {end} of '{file}' differ in blanks or comments alone"
    return None


def _is_as_before(text: str, file: str, first: int, last: int, changed: ChangedLines) -> bool:
    """Return whether lines say what stood in their place before, but for comments and blanks behind."""
    old = changed.before(file, first, last)
    if not old or last - first >= MAX_RANGE_LINES:
        return False
    code = [line.rstrip() for line in code_lines(text, file)[first - 1 : last]]
    return all(not line or any(_says(before, line) for before in old) for line in code)


def _says(before: str, line: str) -> bool:
    if not _QUOTES.search(before + line) and _squeezed(before) == _squeezed(line):
        return True
    rest = before[len(line) :].strip() if before.startswith(line) else None
    return rest is not None and (not rest or rest.startswith(_COMMENT_MARKS))


def _is_blank_change(text: str, file: str, parts: Lines, changed: ChangedLines) -> bool:
    """Return whether parts of a file say the very words that stood in their place before."""
    lines = text.split("\n")
    return all(
        "".join("".join(lines[first - 1 : last]).split()) == "".join("".join(changed.before(file, first, last)).split())
        for first, last in parts
    )


def _squeezed(line: str) -> tuple[str, str]:
    """Return a line's indentation, which may mean something, and the rest of it without blanks between its words."""
    code = line.lstrip()
    return line[: len(line) - len(code)], _BLANKS.sub("", " ".join(code.split()))


def _is_beside_removal(file: str, start: int, end: int, changed: ChangedLines) -> bool:
    """Return whether a change of a file near a range only removed lines: nothing new stands there to do something."""
    near = [pair for pair in changed.removals.get(file, ()) if pair[0] <= end and start <= pair[1]]
    return bool(near)
