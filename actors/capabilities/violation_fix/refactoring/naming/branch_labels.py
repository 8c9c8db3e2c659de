"""Names the case that a branch of a function is for, where its condition names one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import statement_lists
from actors.capabilities.violation_fix.refactoring.naming.condition_words import (
    PREDICATES,
    description_of,
    description_of_pattern,
    noun_of,
)


@dataclass(frozen=True, slots=True)
class Label:
    """Holds the words for a case; `chain` is the number of branches that ask after the same thing, the subject."""

    noun: str
    is_case: bool
    chain: int
    subject: str


def label_of_body(
    statements: Sequence[ast.stmt], parents: Sequence[ast.stmt], function_body: Sequence[ast.stmt] = ()
) -> Label | None:
    """Return the label of the branch that a block is the body of, or of the only `if` that it consists of."""
    parent = parents[-1] if parents else None
    body = list(statements)
    if isinstance(parent, ast.Match):
        found = next((description_of_pattern(case.pattern) for case in parent.cases if case.body == body), None)
        return Label(found, True, len(parent.cases), ast.dump(parent.subject)) if found else None
    only = body[0]
    asked = None
    if isinstance(parent, ast.If) and body == parent.body:
        asked = parent
    elif len(body) == 1 and isinstance(only, ast.If) and not only.orelse:
        asked = only
    if asked is None:
        return None
    noun = description_of(asked.test)
    if not noun:
        return None
    subject = subject_of(asked.test)
    around = [parent for parent in parents if parent is not asked]
    length = max(_chain_length(asked, parents, subject), _row_length(asked, around, function_body, subject))
    return Label(noun, subject is not None, length, subject or "")


def _row_length(
    asked: ast.If, around: Sequence[ast.stmt], function_body: Sequence[ast.stmt], subject: str | None
) -> int:
    """Return how many conditions beside one, in the same list of statements, compare the same thing."""
    lists = statement_lists(around[-1]) if around else [list(function_body)]
    row = next((body for body in lists if asked in body), [asked])
    alike = [each for each in row if isinstance(each, ast.If) and subject_of(each.test) == subject]
    return len(alike) if subject is not None else 0


def _chain_length(asked: ast.If, parents: Sequence[ast.stmt], subject: str | None) -> int:
    """Return how many branches of a chain compare the same thing as one of them."""
    head = asked
    for parent in reversed(parents):
        if isinstance(parent, ast.If) and parent.orelse == [head]:
            head = parent
        elif parent is not head:
            break
    branch: ast.stmt | None = head
    same = 0
    while isinstance(branch, ast.If):
        same += subject is not None and subject_of(branch.test) == subject
        branch = branch.orelse[0] if len(branch.orelse) == 1 else None
    return same


def subject_of(test: ast.expr) -> str | None:
    """Return the expression whose value or type a condition compares with a case."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return subject_of(test.values[0])
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is | ast.In):
        right = test.comparators[0]
        is_key = isinstance(test.ops[0], ast.In) and isinstance(test.left, ast.Constant)
        if is_key or (isinstance(right, ast.Constant) and not isinstance(right.value, str | bytes | int)):
            return None
        return ast.dump(test.left)
    if isinstance(test, ast.Call) and noun_of(test.func) == "isinstance" and test.args:
        return ast.dump(test.args[0])
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        return ast.dump(test.func.value)
    return _asked_by_predicate(test) if isinstance(test, ast.Call) else None


def _asked_by_predicate(call: ast.Call) -> str | None:
    """Return what is asked whether it is a file, a class or the like."""
    if noun_of(call.func) not in PREDICATES:
        return None
    if not call.args:
        return ast.dump(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return ast.dump(call.args[0])
