"""Reads the output of linters, test runners and file readers where one regular expression does not do."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from runtime.context.fact_rules import Groups

MAX_JSON_CHARS = 5_000_000
MAX_NAMED_DEFINITIONS = 12

_WORDS = {
    "passed": "passed",
    "failed": "failed",
    "error": "error",
    "errors": "error",
    "skipped": "",
    "xfailed": "",
    "xpassed": "",
    "deselected": "",
    "warning": "",
    "warnings": "",
    "rerun": "",
    "subtests": "",
}
_COUNT = re.compile(r"(\d{1,9}) ([a-z]+)(?: passed)?\Z")
_TIME = re.compile(r" in [\d.:]{1,12} ?s?(?:econds)?(?: \([\d:]{1,12}\))?\Z")
_UNITTEST_RAN = re.compile(r"Ran (\d{1,9}) tests? in ")
_UNITTEST_FAILED = re.compile(r"(failures|errors)=(\d{1,9})")
_DEFINITION = re.compile(r"\s*(?:\d{1,7}(?:\s*[|:\t→]| {2}))?\s*(?:async def|def|class)\s+(\w{1,200})")
_NUMBERED = re.compile(r"\s*\d{1,7}(?:\s*[|:\t→]| {2}|$)")
_RANGE_HEADER = re.compile(r"(\S[^\n]{0,300}?) lines (\d{1,7}-\d{1,7}) of (\d{1,7})\n")
_HEADER = re.compile(
    r"[^\w\n]{0,4}(?:Read|Loaded|File|Contents? of)\b[^\n]{0,20}?[`'\"]?([\w./\\-]{1,300}\.\w{1,10})\b"
)


def linter_lines(text: str) -> str:
    """Return ruff's JSON output as lines `path:line:column: CODE message`; other text as it is."""
    start = text.lstrip()[:1]
    if start not in ("[", "{") or len(text) > MAX_JSON_CHARS:
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    found = found.get("violations") if isinstance(found, dict) else found
    if not isinstance(found, list):
        return text
    lines = [line for each in found if isinstance(each, dict) and (line := _line_of(each))]
    return "\n".join([*lines, f"Found {len(found)} violations"] if found else ["All checks passed"])


def _line_of(found: dict[str, Any]) -> str:
    """Return one violation as a line: of ruff's form, or of the one that Jeeves lists violations in."""
    location = found.get("location")
    place = location if isinstance(location, dict) else {"row": found.get("line"), "column": found.get("column")}
    path, code = found.get("filename") or found.get("path"), found.get("code") or found.get("check_id")
    if not path or not code:
        return ""
    return f"{path}:{place.get('row') or 1}:{place.get('column') or 1}: {code} {found.get('message') or ''}"


def counts_of_tests(outcome: str) -> Callable[[str], Iterator[Groups]]:
    """Return a reader that yields how many tests ended so: `passed`, `failed`, `error`, or `none` when none ran."""
    return functools.partial(_counted, outcome=outcome)


def _counted(text: str, outcome: str) -> Iterator[Groups]:
    """Yield the count of each summary line: pytest's, unittest's, or `3 passed, 1 failed` alone on its line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        counts = _summary(line)
        if counts is None and (ran := _UNITTEST_RAN.match(line)):
            counts = _unittest(int(ran[1]), lines[number + 1 : number + 4])
        if counts is None:
            continue
        if outcome == "none":
            if not any(counts.values()):
                yield {}
        elif counts.get(outcome):
            yield {"n": str(counts[outcome])}


def _summary(line: str) -> dict[str, int] | None:
    """Return the counts of a line that has counts of tests and nothing else, None for any other."""
    plain = line.strip(" =.")
    if not plain[:1].isdigit() and not plain.startswith("no tests"):
        return None
    plain = _TIME.sub("", plain)
    if plain in ("no tests ran", "no tests found", "no tests collected"):
        return {}
    counts: dict[str, int] = {}
    for part in plain.split(", "):
        match = _COUNT.match(part.removesuffix(" tests"))
        if match is None or match[2] not in _WORDS:
            return None
        if name := _WORDS[match[2]]:
            counts[name] = counts.get(name, 0) + int(match[1])
    return counts


def _unittest(ran: int, after: list[str]) -> dict[str, int]:
    verdict = next((line for line in after if line.strip()), "")
    failed = {name: int(number) for name, number in _UNITTEST_FAILED.findall(verdict)}
    if not verdict.startswith(("OK", "FAILED")):
        return {}
    counts = {"failed": failed.get("failures", 0), "error": failed.get("errors", 0)}
    return {**counts, "passed": max(0, ran - sum(counts.values()))}


def definitions_read(text: str) -> Iterator[Groups]:
    """Yield one statement on a file that was read: how many lines, and the functions and classes that it defines."""
    if not text.strip():
        return
    lines = text.split("\n")
    names = list(dict.fromkeys(match[1] for line in lines if (match := _DEFINITION.match(line))))
    defined = ", ".join(names[:MAX_NAMED_DEFINITIONS])
    more = f" and {len(names) - MAX_NAMED_DEFINITIONS} more" if len(names) > MAX_NAMED_DEFINITIONS else ""
    path, statement = _read(text, lines)
    yield {"path": path, "statement": statement + (f", defines {defined}{more}" if names else "")}


def _read(text: str, lines: list[str]) -> tuple[str, str]:
    """Return the path that an output names, if it does, and what was read of it."""
    if part := _RANGE_HEADER.match(text):
        return part[1], f"Read lines {part[2]} of {part[1]} ({part[3]} lines)"
    header = _HEADER.match(text)
    path = header[1] if header else ""
    numbered = sum(_NUMBERED.match(line) is not None for line in lines)
    count = numbered or len(lines) - (1 if header else 0) - (not lines[-1])
    return path, f"Read {path or 'a file'}: {count} lines"
