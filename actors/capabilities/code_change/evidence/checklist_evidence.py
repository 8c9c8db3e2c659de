"""Checks evidence: the file, the lines, that they were changed, and that they do something."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from actors.capabilities.code_change.evidence.changed_lines import ALL_LINES, ChangedLines, Lines
from actors.capabilities.code_change.evidence.definitions import (
    has_signatures,
    hollow_functions,
    is_meant,
    only_bare_types,
    written_functions,
)
from actors.capabilities.code_change.evidence.item_words import Asks, asks_of
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.language_registry import language_at
from runtime.codebase.parsing.bodies.empty_bodies import code_lines, judge_of
from runtime.contracts.payloads import is_text

MAX_FILE_BYTES = 20_000_000
MAX_RANGE_LINES = 2_000

_PLACE = re.compile(r"(.+):(\d{1,9})(?:-(\d{1,9}))?")
_SEVERAL = re.compile(r":\d+(?:-\d+)?(?:\s|,|;)")
_DELETED = re.compile(r"deleted:\s*(.+)", re.DOTALL)
_COMMENT_MARKS = ("#", "//", "/*", "--", ";", "%")
_QUOTES = re.compile(r"""["'`]""")
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)""")
# Blanks that part no two words: `return 1` and `return1` differ.
_BLANKS = re.compile(r" (?!\w)|(?<!\w) ")
_MARKERS = frozenset({"__init__.py", "__init__.pyi", "py.typed", ".gitkeep", ".keep"})
_WORD = re.compile(r"[^\W\d_]{2}")
# How a value is said to be unused.
_DROPPED = re.compile(r"\s*(?:\(void\)\s*\w+|void\s+\w+|(?:let\s+)?_\s*=\s*&?\w+)\s*;?\s*")
MAX_NAMED = 5
WAY_ON = (
    "; where that is all there is to do, as a constant answer or a message to a log may be, name other lines that the "
    "item changed (a caller, a test), or skip it with that as the reason, which the person is told"
)
HOLLOW = (
    "the changed ones of lines {start} to {end} of '{file}' implement nothing: {names} among them does nothing, "
    f"whatever stands beside it; write its body{WAY_ON}"
)
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
    return _refuted_lines(file, start, end, folder, changed, asks_of(item))


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
        try:
            is_link = place.is_symlink()
        except OSError as error:  # a name that is too long for the disk, or a folder that may not be entered
            return f"'{file[:200]}' cannot be looked at: {error.strerror}"
        if is_link:
            return f"'{file[:200]}' leads through the link {place.relative_to(folder)}"
    return None


def is_package_marker(file: str, changed: ChangedLines) -> bool:
    """Return whether a file is new and does its work by being there, as `__init__.py` and `py.typed` do."""
    return PurePosixPath(file).name in _MARKERS and changed.lines.get(file) == ALL_LINES


def is_prose(text: str, file: str, parts: Lines, changed: ChangedLines) -> bool:
    """Return whether the changed parts of a file say something, and do nothing."""
    lines = [line for first, last in parts for line in text.split("\n")[first - 1 : last]]
    if not any(_WORD.search(line) for line in lines):
        return False
    judge = judge_of(text, file)
    return all(judge.is_empty(first, last) or _is_as_before(text, file, first, last, changed) for first, last in parts)


def _refuted_lines(file: str, start: int, end: int, folder: Path, changed: ChangedLines, asks: Asks) -> str | None:
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
    if changed.proves_whole(file, start):
        return None
    parts = changed.within(file, start, min(end, count))
    written = written_parts(parts, file, changed)
    hollow = hollow_functions(text, file, written)
    is_asked_for = bool(hollow.names) and not hollow_functions(text, file, written, meant=asks.meant).names
    if hollow.names and not hollow.beside and not is_asked_for:
        return HOLLOW.format(start=start, end=end, file=file, names=", ".join(hollow.names[:MAX_NAMED]))
    if _is_beside_removal(file, start, end, changed, asks):
        return None
    if not written:
        return f"beside lines {start} to {end} of '{file}' only blank lines or comments were removed"
    is_asked_for = is_asked_for or is_quiet_on_purpose(text, file, tuple(written), asks)
    return _refuted_parts(text, file, (start, end), tuple(written), changed, asks, is_asked_for=is_asked_for)


def _refuted_parts(
    text: str, file: str, named: tuple[int, int], parts: Lines, changed: ChangedLines, asks: Asks, *, is_asked_for: bool
) -> str | None:
    """Return why new lines do nothing, or nothing else than the old ones; None where they do something.

    `is_asked_for`: the functions among them that do nothing do what the item asks for.
    """
    where = f"the changed ones of lines {named[0]} to {named[1]} of '{file}'"
    if asks.prose and is_prose(text, file, parts, changed) and not _is_blank_change(text, file, parts, changed):
        return None
    if asks.package and is_package_marker(file, changed):
        return None
    judge = judge_of(text, file)
    is_empty = not is_asked_for and all(judge.is_empty(first, last) for first, last in parts)
    if is_empty and not has_signatures(text, file, parts):
        if asks.type and only_bare_types(text, file, parts):
            return None
        if asks.quiet and all(any(map(str.strip, changed.before(file, *part))) or _drops(text, part) for part in parts):
            return None
        return f"{where} implement nothing{WAY_ON}"
    if all(
        _is_as_before(text, file, first, last, changed) or _is_rewrapped(text, first, last, file, changed)
        for first, last in parts
    ):
        return f"{where} differ in blanks or comments alone"
    return None


def is_quiet_on_purpose(text: str, file: str, parts: Lines, asks: Asks) -> bool:
    """Return whether parts do nothing, as their item asks, in a file of which no functions are known by name."""
    if not asks.meant or not parts or language_at(file).grammar is not None or written_functions(text, file, parts):
        return False
    judge = judge_of(text, file)
    return all(judge.is_empty(*part) and is_meant(text, file, part, asks.meant) for part in parts)


def _drops(text: str, part: tuple[int, int]) -> bool:
    """Return whether all lines of a part say that a value is not used."""
    return all(map(_DROPPED.fullmatch, text.split("\n")[part[0] - 1 : part[1]]))


def _is_as_before(text: str, file: str, first: int, last: int, changed: ChangedLines) -> bool:
    """Return whether lines say what stood in their place before, but for comments and blanks behind."""
    old = changed.before(file, first, last)
    if not old or last - first >= MAX_RANGE_LINES:
        return False
    code = [line.rstrip() for line in code_lines(text, file)[first - 1 : last]]
    return all(not line or any(_says(before, line) for before in old) for line in code)


def _is_rewrapped(text: str, first: int, last: int, file: str, changed: ChangedLines) -> bool:
    """Return whether lines are those before them broken elsewhere; text between quotes may differ by that."""
    old, new = changed.before(file, first, last), text.split("\n")[first - 1 : last]
    counts = [sum(1 for line in lines if line.strip()) for lines in (old, new)]
    before, now = "".join(old), "".join(new)
    is_same = "".join(before.split()) == "".join(now.split())
    return is_same and counts[0] != counts[1] and not _QUOTES.search(before + now)


def _says(before: str, line: str) -> bool:
    if _squeezed(before) == _squeezed(line):
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
    # Blanks between quotes are part of a text; where those do not pair up, all of the line may be.
    pieces = _QUOTED.split(code)
    if any(_QUOTES.search(piece) for piece in pieces[::2]):
        return line[: len(line) - len(code)], code.rstrip()
    pieces[::2] = [_BLANKS.sub("", " ".join(f"_{piece}_".split()))[1:-1] for piece in pieces[::2]]
    return line[: len(line) - len(code)], "".join(pieces)


def _is_beside_removal(file: str, start: int, end: int, changed: ChangedLines, asks: Asks) -> bool:
    """Return whether a change of a file near a range only removed lines: nothing new stands there to do something.

    Blank lines and comments that are gone prove an item that speaks of removing, or of comments, and no other.
    """
    if asks.removal or asks.prose:
        return bool(_near(changed.removals, file, start, end))
    blank = _near(changed.blank_removals, file, start, end)
    return any(pair not in blank for pair in _near(changed.removals, file, start, end))


def is_beside_blank_removal(file: str, start: int, end: int, changed: ChangedLines) -> bool:
    """Return whether all that changed near a range is that blank lines or comments are gone."""
    near = changed.within(file, start, end)
    blank = _near(changed.blank_removals, file, start, end)
    return (
        bool(blank)
        and not written_parts(near, file, changed)
        and not _is_beside_removal(file, start, end, changed, Asks(prose=False, removal=False))
    )


def _near(removals: Mapping[str, Lines], file: str, start: int, end: int) -> list[tuple[int, int]]:
    return [pair for pair in removals.get(file, ()) if pair[0] <= end and start <= pair[1]]


def written_parts(parts: Lines, file: str, changed: ChangedLines) -> list[tuple[int, int]]:
    """Return the parts of a file that hold new lines; the others only stand beside what was removed."""
    beside = changed.removals.get(file, ())
    return [pair for pair in parts if not any(low <= pair[0] and pair[1] <= high for low, high in beside)]
