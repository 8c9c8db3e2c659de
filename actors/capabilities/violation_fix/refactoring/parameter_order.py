"""Puts the parameter that a new function is about first."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import names_read, own_nodes
from actors.capabilities.violation_fix.refactoring.naming.block_effects import (
    BlockEffects,
    EffectKind,
    changed_first,
)

# Calls that change what they are made on.
_WRITING = frozenset({"write", "writelines", "writerow", "writestr", "put", "send", "sendall", "emit"})


def subject_first(names: Sequence[str], outputs: Sequence[str], statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return names in their order, the only one first that is changed, or made into something else, item by item."""
    ordered = tuple(names) if outputs else changed_first(names, statements)
    if ordered != tuple(names) or len(names) < 2:
        return ordered
    effects = (effect for effect in BlockEffects(statements, names).all if effect.kind is not EffectKind.CALL)
    if {effect.target.partition(".")[0] for effect in effects} & set(names):
        return ordered
    candidates = _rebound(statements) & set(outputs) if outputs else set(_written_to(statements))
    subjects = candidates & set(names) or ({_gone_through(statements)} & set(names) if outputs else set())
    return tuple(sorted(names, key=lambda name: name not in subjects)) if len(subjects) == 1 else tuple(names)


def _rebound(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names that are made into something else; what is added up is asked for last, after what is added."""
    nodes = [node for statement in statements for node in own_nodes(statement)]
    assigned = ((target, node.value) for node in nodes if isinstance(node, ast.Assign) for target in node.targets)
    added = {node.target.id for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    return {
        target.id for target, value in assigned if isinstance(target, ast.Name) and target.id in names_read(value)
    } - added


def _written_to(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names of what statements write to."""
    for node in (part for statement in statements for part in own_nodes(statement)):
        called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in _WRITING and isinstance(called.value, ast.Name):
            yield called.value.id


def _gone_through(statements: Sequence[ast.stmt]) -> str:
    """Return the name of what the only loop at the end of some simple statements goes through; empty for none."""
    *before, last = statements
    if not isinstance(last, ast.For) or not all(isinstance(each, ast.Assign | ast.AnnAssign) for each in before):
        return ""
    iterated = last.iter
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and not iterated.args:
        iterated = iterated.func.value
    elif isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.args:
        iterated = iterated.args[0] if iterated.func.id in ("enumerate", "sorted", "reversed") else iterated
    return iterated.id if isinstance(iterated, ast.Name) else ""
