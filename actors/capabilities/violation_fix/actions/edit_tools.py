"""Edits the file of a violation: by lines, by quotation, as a whole, or by a refactoring.

Every edit is journaled. One that was interrupted is found done, or is made now; none leaves a file that does not parse.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from actors.capabilities.violation_fix.actions.edit_journal import EditJournal, digest_of
from actors.capabilities.violation_fix.actions.text_edits import (
    EditRefused,
    SourceText,
    decoded,
    replace_lines,
    replace_quoted,
    syntax_problem,
)
from actors.capabilities.violation_fix.checks.violation import Violation
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from actors.capabilities.violation_fix.verification.verdicts import Workspace
from runtime.codebase.git.work_trees import WorkTree
from runtime.errors import FileEditError
from runtime.tools.result import ToolResult

MAX_SHOWN_LINES = 400

NOWHERE = Workspace(WorkTree("", "", "", ""), TestSetup("", "none"))
NOTHING = Violation("", 0, 0, "", "")

LineNumber = Annotated[int, Meta(ge=1, le=10_000_000)]
FunctionName = Annotated[str, Meta(pattern=r"^[^\W\d]\w*\Z", max_length=80)]
Edited = tuple[str, str]


class FixWorkspace(msgspec.Struct, frozen=True):
    """Names the place of one fix: `file` in the work tree `root`, and the folder that its edits are recorded in.

    `verified`, `violation` and `baseline_file`: what its checks and tests are compared with.
    """

    root: str
    file: str
    edits: str
    line_length: int = 120
    verified: Workspace = NOWHERE
    violation: Violation = NOTHING
    baseline_file: str = ""

    @property
    def journal(self) -> EditJournal:
        """The journal of the edits."""
        return EditJournal(Path(self.root), Path(self.edits))

    @property
    def is_python(self) -> bool:
        """True for a Python file, which has to parse after every edit."""
        return PurePosixPath(self.file).suffix in {".py", ".pyi", ".pyw"}


class _Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Carries what every edit has: `key` names the edit, so that it is made once."""

    key: str


class ReplaceLines(_Parameters, frozen=True):
    """Replaces lines of the file."""

    start_line: LineNumber
    end_line: LineNumber
    text: Annotated[str, Meta(max_length=200_000)]
    path: str = ""


class EditFile(_Parameters, frozen=True):
    """Replaces a quotation."""

    old: Annotated[str, Meta(min_length=1, max_length=200_000)]
    new: Annotated[str, Meta(max_length=200_000)]
    path: str = ""


class WriteFile(_Parameters, frozen=True):
    """Replaces the whole content."""

    text: Annotated[str, Meta(max_length=2_000_000)]
    path: str = ""


def replace_lines_tool(place: FixWorkspace, asked: ReplaceLines) -> ToolResult:
    """Replace lines of the violation's file."""

    def edit(source: SourceText) -> Edited | EditRefused:
        text = replace_lines(source, asked.start_line, asked.end_line, asked.text)
        return text if isinstance(text, EditRefused) else (text, f"replaced lines {asked.start_line}-{asked.end_line}")

    return edited(place, asked.key, asked.path, edit)


def edit_file_tool(place: FixWorkspace, asked: EditFile) -> ToolResult:
    """Replace a quotation in the violation's file."""

    def edit(source: SourceText) -> Edited | EditRefused:
        text = replace_quoted(source, asked.old, asked.new)
        return text if isinstance(text, EditRefused) else (text, f"replaced {len(asked.old.splitlines())} quoted lines")

    return edited(place, asked.key, asked.path, edit)


def write_file_tool(place: FixWorkspace, asked: WriteFile) -> ToolResult:
    """Write the whole of the violation's file."""

    def edit(source: SourceText) -> Edited | EditRefused:
        return asked.text.replace("\r\n", "\n").replace("\n", source.newline), "wrote the whole file"

    return edited(place, asked.key, asked.path, edit)


def edited(place: FixWorkspace, key: str, path: str, edit: Callable[[SourceText], Edited | EditRefused]) -> ToolResult:
    """Carry out an edit of the violation's file; `edit` returns the new text and what was done."""
    if path not in ("", place.file):
        return refused(EditRefused("other", f"only {place.file} belongs to this fix, not {path!r}"))
    journal = place.journal
    try:
        content = journal.read(place.file)
        known = journal.done(key)
        if known is not None and digest_of(content) == known.after:
            return _done(place, key, "done before this process died")
        source = decoded(content, is_python=place.is_python)
        outcome = source if isinstance(source, EditRefused) else edit(source)
        if isinstance(outcome, EditRefused):
            return refused(outcome)
        assert isinstance(source, SourceText)
        text, told = outcome
        if text == source.text:
            return refused(EditRefused("other", "the edit would change nothing"))
        if place.is_python and (problem := syntax_problem(text)) is not None:
            return refused(problem)
        journal.write(key, place.file, content, source.encoded(text))
    except FileEditError as error:
        return refused(EditRefused("not_found" if "No such file" in error.message else "other", error.message))
    except UnicodeEncodeError as error:
        return refused(EditRefused("other", f"the text cannot be written in the file's encoding: {error.reason}"))
    return _done(place, key, told)


def was_edited(place: FixWorkspace, asked: Any) -> ToolResult | None:
    """Return the result of an edit that an earlier attempt made; None if it was not made."""
    known = place.journal.done(asked.key)
    if known is None or digest_of(place.journal.read(place.file)) != known.after:
        return None
    return _done(place, asked.key, "done before this process died")


def refused(why: EditRefused) -> ToolResult:
    """Return the result of an edit that was not made. It is the request's fault and not the tool's."""
    return ToolResult("error", {"category": why.category}, error=why.reason, at_fault="request")


def _done(place: FixWorkspace, key: str, told: str) -> ToolResult:
    record = place.journal.done(key)
    assert record is not None
    return ToolResult("ok", {"output": f"modified {place.file}: {told}", "write": msgspec.to_builtins(record)})
