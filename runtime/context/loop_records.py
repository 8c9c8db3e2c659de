"""Makes the neutral records that loops are detected from of an agent's actions and facts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from runtime.context.actions import ActionRecord
from runtime.context.fact_extraction import is_specific
from runtime.context.understanding import Fact, FactCategory
from runtime.loops.error_categories import error_category, error_digest
from runtime.loops.read_parts import ReadParts
from runtime.loops.records import ActionGroup, StepRecord
from runtime.loops.run_noise import without_run_noise
from runtime.loops.suggestions import Advice

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")

GROUP_OF: Mapping[str, ActionGroup] = {
    "edit_file": "edit",
    "replace_lines": "edit",
    "write_file": "edit",
    "extract_function": "extract",
    "simplify_conditional": "extract",
    "run_check": "check",
    "run_conformance_check": "check",
    "run_tests": "check",
    "run_affected_tests": "check",
    "read_file": "read",
    "load_context": "read",
    "complete": "end",
    "escalate": "end",
    "cannot_fix": "end",
}

EDITING_ADVICE: Advice = {
    ("edit_file", "not_found"): (
        "The text to replace is not in the file, or no longer: read the file again and copy the text exactly.",
        "Replace by line numbers with replace_lines instead of by text.",
        "Compare the white space: tabs and spaces, and the ends of lines.",
    ),
    ("replace_lines", "not_found"): ("The lines have moved: read the file again for their numbers.",),
    ("read_file", "not_found"): ("There is no such file: take its path from the violation or from load_context.",),
    ("read_file", ""): ("The file was read and has not changed: use what is known of it, or read another part.",),
    ("load_context", ""): ("This context was loaded: use it.",),
    ("edit_file", "syntax_error"): ("Give whole statements with the indentation of the lines around them.",),
    ("replace_lines", "syntax_error"): ("Give whole statements with the indentation of the lines around them.",),
    ("write_file", "syntax_error"): ("The whole content must parse; keep what need not change as it is.",),
    ("edit_file", "test_regression"): ("The edit changes what the code does: read the failing test, then edit less.",),
    ("replace_lines", "test_regression"): (
        "The edit changes what the code does: read the failing test, then edit less.",
    ),
    ("write_file", "test_regression"): ("The new content changes what the code does: edit only the function itself.",),
    ("extract_function", "extraction_blocked"): (
        "The lines contain a return, break or continue that leads out of them: choose lines without one.",
        "Simplify the conditional around them first, with simplify_conditional.",
    ),
    ("extract_function", "not_found"): ("The function or its lines have moved: take them from the analysis again.",),
    ("extract_function", "test_regression"): ("Extract other lines: these need names that they do not get.",),
    ("extract_function", ""): ("Choose another of the suggested ranges.",),
    ("simplify_conditional", "extraction_blocked"): ("Choose another conditional, or extract a function instead.",),
    ("run_check", ""): ("The result cannot change before the code does: edit first.",),
    ("run_tests", ""): ("The result cannot change before the code does: edit first.",),
    ("run_tests", "timeout"): ("Run only the tests that the edit affects.",),
    ("complete", ""): ("The task is not ready: make the failing checks and tests pass first, or escalate.",),
}


def digest(value: object) -> str:
    """Return a digest of plain data; the order of keys does not count."""
    return hashlib.blake2b(_ENCODER.encode(value), digest_size=12).hexdigest()


def parameters_digest(target: str | None, parameters: Mapping[str, Any]) -> str:
    """Return the digest by which records, detections and blocks know the parameters of an action."""
    return digest([target, dict(parameters)])


def state_digest(files: Mapping[str, str], verification: Mapping[str, Any]) -> str:
    """Return the digest of a state: modified files (path -> hash of the content) and the results of checks."""
    return digest([dict(files), dict(verification)])


class LoopRecorder:
    """Makes a record of each action of one task, in order; remembers the facts and files that were known before."""

    def __init__(self, groups: Mapping[str, ActionGroup] = GROUP_OF) -> None:
        self._groups = groups
        self._known: set[tuple[FactCategory, str]] = set()
        self._read = ReadParts()

    def know(self, facts: Iterable[Fact] = (), files_read: Iterable[str] = ()) -> None:
        """Take facts and files as known, such as those from before the first step."""
        self._known.update((fact.category, _comparable(fact)) for fact in facts)
        self._read.add(files_read)

    def record(
        self,
        action: ActionRecord,
        state: str,
        facts: Sequence[Fact] = (),
        files_read: Sequence[str] = (),
        *,
        category: str | None = None,
        is_state_restored: bool = False,
        is_by_system: bool = False,
    ) -> StepRecord:
        """Return the record of the next action.

        `state` is the digest after it (see `state_digest`); `facts` are those that it produced, of which those
        that say no more than the result do not count; `files_read` are paths, or `path:first-last` for parts, which
        are new only if enough of their lines are. `category` overrides the category of the error's text.
        """
        facts = [fact for fact in facts if is_specific(fact)]
        new = {fact.category for fact in facts if (fact.category, _comparable(fact)) not in self._known}
        has_new_files = self._read.is_any_new(files_read)
        self.know(facts, files_read)
        return StepRecord(
            step=action.step,
            action=action.action,
            outcome=action.result.value,
            group=self._groups.get(action.action, "other"),
            target=action.target or "",
            parameters=parameters_digest(action.target, action.parameters),
            error_category=error_category(action.error) if category is None else category,
            error=error_digest(action.error),
            state=state,
            is_state_restored=is_state_restored,
            is_by_system=is_by_system,
            has_new_facts=bool(new - {FactCategory.VERIFICATION, FactCategory.ERROR}),
            has_new_checks=FactCategory.VERIFICATION in new,
            has_new_errors=FactCategory.ERROR in new,
            has_new_files=has_new_files,
            files_read=tuple(files_read),
            checks=_statements(facts, FactCategory.VERIFICATION),
            errors=_statements(facts, FactCategory.ERROR),
        )


def _statements(facts: Sequence[Fact], category: FactCategory) -> tuple[str, ...]:
    return tuple(dict.fromkeys(digest(_comparable(fact)) for fact in facts if fact.category is category))


def _comparable(fact: Fact) -> str:
    """Return the statement of a fact; of a result without what differs between runs, such as durations."""
    is_result = fact.category in {FactCategory.VERIFICATION, FactCategory.ERROR}
    return without_run_noise(fact.statement) if is_result else fact.statement
