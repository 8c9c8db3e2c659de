"""Finds functions of a change that only give a constant answer: meant so, or not written yet."""

from __future__ import annotations

import re

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines, Lines
from actors.capabilities.code_change.evidence.definitions import MAX_JUDGED, written_functions
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.parsing.bodies.constant_bodies import ConstantBody, is_constant
from runtime.codebase.parsing.bodies.empty_bodies import judge_of

_ASKED = re.compile(
    r"\b(?:constant|always|literal|hard-?coded|stub|placeholder|default)\b"
    r"|\breturn(?:s|ing)?\b.*(?:\b(?:true|false|none|null|nil|\d+)\b|[\"'`])",
    re.IGNORECASE,
)


def asks_for_constant(item: str) -> bool:
    """Return whether an item of a task speaks of a constant answer."""
    return _ASKED.search(item) is not None


def constant_answers(text: str, file: str, parts: Lines, changed: ChangedLines, most: int = MAX_JUDGED) -> list[str]:
    """Return the functions whose bodies a change wrote, and that give a constant, or what they were given.

    Those of tests, which are often made so, and those that gave a constant before are left out.
    """
    if kind_of_path(file) == "test":
        return []
    judge = judge_of(text, file)
    functions = written_functions(text, file, parts, most) or ()
    bodies = [(each.name, judge.constant_body(each.start_line, each.end_line)) for each in functions]
    known = {name for name, _ in bodies}
    bodies += (pair for first, last in parts for pair in judge.constant_values(first, last) if pair[0] not in known)
    return [name for name, body in bodies if body is not None and _is_written(file, body, parts, changed)]


def _is_written(file: str, body: ConstantBody, parts: Lines, changed: ChangedLines) -> bool:
    """Return whether changed parts wrote a body that gave no constant before."""
    if not any(first <= body.last and body.first <= last for first, last in parts):
        return False
    before = [line for line in changed.before(file, body.first, body.last) if line.strip()]
    return not before or not all(map(is_constant, before))
