"""Holds what is known of one statement, whatever block it is looked at in."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names, names_read
from actors.capabilities.violation_fix.refactoring.hazards import needs_class, refuse_frame_bound_code
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring


@dataclass(frozen=True)
class StatementFacts:
    """Records the names and the hazards of a statement; `parts` are the statements inside it and itself."""

    parts: frozenset[ast.stmt]
    read: frozenset[str]
    bound: frozenset[str]
    needs_class: bool
    refusal: Refused | None

    @classmethod
    def of(cls, statement: ast.stmt) -> StatementFacts:
        refusal = None
        try:
            refuse_frame_bound_code([statement])
        except RefusedRefactoring as refused:
            refusal = refused.refusal
        return cls(
            parts=frozenset(part for part in ast.walk(statement) if isinstance(part, ast.stmt)),
            read=names_read(statement),
            bound=bound_names(statement),
            needs_class=needs_class([statement]),
            refusal=refusal,
        )
