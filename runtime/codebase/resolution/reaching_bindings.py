"""Chooses the bindings of a name that can hold at a line.

Those are the ones that no later binding on every path replaces."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.codebase.language_parts.type_facts import Binding


def reaching(bindings: Sequence[Binding], line: int, loops: Sequence[tuple[int, int]] = ()) -> list[Binding]:
    """Return the bindings that can hold at a line; all of them without a line (0), as in a nested function.

    The latest binding whose block contains the line replaces those before it. Bindings in blocks between it and the
    line may replace it, and so may later ones in deeper blocks, if a loop leads from them to the line.
    """
    if line <= 0 or len(bindings) < 2:
        return list(bindings)
    certain = [binding for binding in bindings if binding.after < line <= binding.until]
    if not certain:
        return list(bindings)
    last = max(certain, key=lambda binding: binding.after)
    between = [one for one in bindings if last.after < one.after < line and one.until < line]
    around = [loop for loop in loops if loop[0] <= line <= loop[1]]
    repeated = [
        one
        for one in bindings
        if one.after >= line and one.until < last.until and any(start <= one.line <= end for start, end in around)
    ]
    return [last, *between, *repeated]


def declared_first(bindings: Sequence[Binding]) -> list[Binding]:
    """Return the bindings that declare a type, if there are any; else all, each value once."""
    declared = [binding for binding in bindings if binding.kind == "type"]
    unique = {(binding.kind, binding.ref): binding for binding in declared or bindings}
    return list(unique.values())
