"""Lists what can be simplified without a new name, and carries it out by line and kind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from actors.capabilities.violation_fix.refactoring import conditionals
from actors.capabilities.violation_fix.refactoring.conditionals import Conditional
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace, places_of
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.simplifications.choices import (
    assign_choice,
    assign_default,
    assign_extreme,
    assign_missing,
    assign_other,
    call_choice,
    return_choice,
)
from actors.capabilities.violation_fix.refactoring.simplifications.collecting import collect, extend_list
from actors.capabilities.violation_fix.refactoring.simplifications.dictionaries import gather_item, set_default
from actors.capabilities.violation_fix.refactoring.simplifications.first_hits import (
    assign_first,
    count_hits,
    return_first,
)
from actors.capabilities.violation_fix.refactoring.simplifications.generators import yield_from
from actors.capabilities.violation_fix.refactoring.simplifications.handlers import leave_else, merge_handlers
from actors.capabilities.violation_fix.refactoring.simplifications.lookups import get_attribute, get_item
from actors.capabilities.violation_fix.refactoring.simplifications.loops import (
    flag_any,
    return_any,
    test_any,
)
from actors.capabilities.violation_fix.refactoring.simplifications.nested_functions import move_out
from actors.capabilities.violation_fix.refactoring.simplifications.reading import loop_on_read
from actors.capabilities.violation_fix.refactoring.simplifications.repetition import loop_over
from actors.capabilities.violation_fix.refactoring.simplifications.shared_tests import join_same, return_either
from actors.capabilities.violation_fix.refactoring.simplifications.spot import Spot, spots_in
from actors.capabilities.violation_fix.refactoring.simplifications.suppressing import suppress_exception
from actors.capabilities.violation_fix.refactoring.source_text import SourceText

Simplify = Callable[[Spot], str | None]


def _of_conditional(simplify: conditionals.Simplify) -> Simplify:
    def of_spot(spot: Spot) -> str | None:
        if not isinstance(spot.node, ast.If):
            return None
        around = spot.parents[-1] if spot.parents else spot.around.place.function
        after = spot.body[spot.position + 1 :]
        return simplify(Conditional(spot.source, spot.node, after, around, spot.around.line_length))

    return of_spot


_CONDITIONALS = {name: _of_conditional(simplify) for name, simplify in conditionals.SIMPLIFICATIONS.items()}
# In the order in which they are tried.
SIMPLIFICATIONS: Mapping[str, Simplify] = {
    **_CONDITIONALS,
    "return_any": return_any,
    "flag_any": flag_any,
    "test_any": test_any,
    "collect": collect,
    "extend_list": extend_list,
    "return_first": return_first,
    "assign_first": assign_first,
    "count_hits": count_hits,
    "set_default": set_default,
    "gather_item": gather_item,
    "get_attribute": get_attribute,
    "get_item": get_item,
    "loop_on_read": loop_on_read,
    "merge_handlers": merge_handlers,
    "leave_else": leave_else,
    "suppress_exception": suppress_exception,
    "return_either": return_either,
    "join_same": join_same,
    "return_choice": return_choice,
    "assign_choice": assign_choice,
    "assign_default": assign_default,
    "assign_extreme": assign_extreme,
    "assign_other": assign_other,
    "assign_missing": assign_missing,
    "call_choice": call_choice,
    "loop_over": loop_over,
    "move_out": move_out,
    "yield_from": yield_from,
}
# Those that lower the complexity, with the chance that a maintainer takes one.
REDUCING: Mapping[str, float] = {
    "join_nested": 0.86,
    "merge_branches": 0.86,
    "merge_guards": 0.86,
    "return_condition": 0.9,
    "return_any": 0.9,
    "flag_any": 0.9,
    "test_any": 0.84,
    "collect": 0.88,
    "extend_list": 0.8,
    "return_first": 0.84,
    "assign_first": 0.84,
    "count_hits": 0.86,
    "set_default": 0.88,
    "gather_item": 0.88,
    "get_attribute": 0.86,
    "get_item": 0.86,
    "loop_on_read": 0.8,
    "merge_handlers": 0.9,
    "leave_else": 0.72,
    "suppress_exception": 0.8,
    "return_either": 0.82,
    "join_same": 0.8,
    "return_choice": 0.7,
    "assign_choice": 0.82,
    "assign_default": 0.74,
    "assign_extreme": 0.88,
    "assign_other": 0.78,
    "assign_missing": 0.62,
    "call_choice": 0.76,
    "loop_over": 0.84,
    "move_out": 0.82,
    "yield_from": 0.86,
}

# Those that would make a branch look unlike others that are built as it is.
CHOOSING = frozenset({"return_choice", "assign_choice", "call_choice"})


def simplifications_in(source: SourceText, place: FunctionPlace, line_length: int) -> Iterator[tuple[Spot, str]]:
    """Yield each statement of a function with each kind of simplification that lowers the complexity."""
    for spot in spots_in(source, place, line_length):
        for kind in REDUCING:
            yield spot, kind


def simplify_statement(
    source: str, line: int, kind: str | None = None, *, line_length: int = 88
) -> Refactored | Refused:
    """Simplify the statement that begins on a line; `kind` is one of SIMPLIFICATIONS, else the first that fits.

    A chain of branches never becomes a dictionary: whether the value can be hashed cannot be seen.
    """
    text = SourceText(source)
    try:
        tree = text.tree
    except (SyntaxError, ValueError) as error:
        return Refused("syntax_error", f"the file does not parse: {error}", (getattr(error, "lineno", None) or 1,))
    if kind is not None and kind not in SIMPLIFICATIONS:
        return Refused("unknown_kind", f"{kind} is none of {', '.join(SIMPLIFICATIONS)}", (line,))
    spots = (spot for place in places_of(tree) for spot in spots_in(text, place, line_length))
    found = next((spot for spot in spots if spot.line == line), None)
    if found is None:
        return Refused("no_conditional", "no statement of a function begins on the line", (line,))
    refusal = Refused("nothing_to_simplify", "none of the known simplifications fits", (line,))
    for name in [kind] if kind else SIMPLIFICATIONS:
        try:
            new_source = SIMPLIFICATIONS[name](found)
        except RefusedRefactoring as refused:
            refusal = refused.refusal
            continue
        if new_source is not None and not _parses(new_source):
            refusal = Refused("unparsable", f"{name.replace('_', ' ')} would leave a file that does not parse", (line,))
        elif new_source is not None:
            return Refactored(new_source, f"Simplify the statement on line {line} ({name.replace('_', ' ')})")
    return refusal


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True
