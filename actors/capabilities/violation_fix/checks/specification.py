"""Turns violations into the specifications that agents work on."""

from __future__ import annotations

from actors.capabilities.violation_fix.checks.violation import Violation
from runtime.context.fields import MAX_NAME_CHARS, MAX_TEXT_CHARS
from runtime.context.models import ViolationSpec


def specification_of(violation: Violation, test_path: str | None = None) -> ViolationSpec:
    """Return the specification of a violation, cut to what a context may hold; ValueError for a path that is longer."""
    return ViolationSpec(
        violation_id=violation.violation_id,
        check_id=violation.check_id[:MAX_NAME_CHARS],
        file_path=violation.path,
        line_number=violation.line,
        severity=violation.severity,
        message=violation.message[:MAX_TEXT_CHARS],
        fix_hint=violation.hint[:MAX_TEXT_CHARS] or None,
        test_path=test_path,
    )
