"""Checks the remembered relations of a symbol against the files as they are now."""

from __future__ import annotations

import re

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.knowledge.relation import Relation, RelationKind, bare_name

# These are shown by lines that name their target; tests of a file and files that change together need not.
_NAMED_IN_LINES: frozenset[RelationKind] = frozenset({"calls", "uses"})


def relations_that_hold(codebase: Codebase, symbol: SymbolRecord) -> list[Relation]:
    """Return the valid remembered relations to a symbol or its file (calls, uses, imports, tests …), in order.

    A relation holds while the file that shows it is unchanged and has those lines; relations to a namesake in another
    file do not count.
    """
    return [
        relation
        for relation in codebase.remembered or ()
        if relation.kind != "defined_in" and _is_of(relation, symbol) and holds(codebase, relation)
    ]


def holds(codebase: Codebase, relation: Relation) -> bool:
    """Return True if the file that shows a relation is unchanged, and its lines name the target where they must."""
    source = codebase.try_source(relation.source_file)
    if source is None or source.sha256 != relation.content_sha256:
        return False
    if not 1 <= relation.start_line <= relation.end_line <= len(source.lines):
        return False
    if relation.kind not in _NAMED_IN_LINES:
        return True
    lines = "\n".join(source.lines[relation.start_line - 1 : relation.end_line])
    return re.search(rf"(?<!\w){re.escape(bare_name(relation.target))}(?!\w)", lines) is not None


def _is_of(relation: Relation, symbol: SymbolRecord) -> bool:
    if relation.target_file != symbol.file:
        return False
    return relation.target in (symbol.qualified_name, symbol.file)
