"""Finds statements of a file that do the same as a block, so that they can call its function too."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction, FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.blocks import Block, block_of
from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    has_lazy_annotations,
    local_names,
    own_statement_lists,
    places_of,
)
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import SourceText, first_line, last_line

# Smaller blocks are alike by chance; those that differ in a constant even more so.
_LEAST_NODES = 12
_LEAST_NODES_OF_LIKE = 24


@dataclass(frozen=True)
class Copy:
    """Holds statements that can call a new function made of others, with what they would hand to it."""

    block: Block
    extraction: Extraction
    # The names of the block that are called otherwise here.
    renamed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Copies:
    """Holds the statements that can call a new function too, and whether others that are like it would stay."""

    found: tuple[Copy, ...] = ()
    leaves_others: bool = False

    @property
    def functions(self) -> list[str]:
        """The functions that they stand in, by their qualified names."""
        return sorted({copy.block.place.qualified_name for copy in self.found})


NO_COPIES = Copies()
_Window = tuple[FunctionPlace, Sequence[ast.stmt]]


class CopySearch:
    """Looks for copies in one file; what is worked out for a function is kept."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._lazy = has_lazy_annotations(source.tree)
        self._analyses: dict[Function, FunctionAnalysis] = {}

    @cached_property
    def _by_shape(self) -> dict[str, list[tuple[FunctionPlace, list[ast.stmt], int]]]:
        """All statements of functions by their shape, with the list that each stands in."""
        found: dict[str, list[tuple[FunctionPlace, list[ast.stmt], int]]] = {}
        for place in places_of(self._source.tree):
            for body in own_statement_lists(place.function):
                for position, statement in enumerate(body):
                    found.setdefault(_shape(statement), []).append((place, body, position))
        return found

    def of(self, block: Block, extraction: Extraction) -> Copies:
        """Return the copies of a block."""
        nodes = sum(1 for statement in block.statements for _ in ast.walk(statement))
        if nodes < _LEAST_NODES:
            return NO_COPIES
        found: list[Copy] = []
        leaves_others = False
        taken = [(block.first_line, block.last_line)]
        for place, statements in self._windows(block):
            first, last = first_line(statements[0]), last_line(statements[-1])
            if any(first <= end and begin <= last for begin, end in taken):
                continue
            names = _renamed(block, place, statements, constants=True)
            copy = self._copy(block, extraction, place, statements, names) if names is not None else None
            if copy is not None:
                found.append(copy)
                taken.append((copy.block.first_line, copy.block.last_line))
            elif names is not None or nodes >= _LEAST_NODES_OF_LIKE:
                is_like = names is not None or _renamed(block, place, statements, constants=False) is not None
                leaves_others = leaves_others or is_like
        return Copies(tuple(found), leaves_others)

    def _windows(self, block: Block) -> Iterator[_Window]:
        """Yield as many statements in a row, of the same shape, from everywhere else in the file."""
        shapes = [_shape(statement) for statement in block.statements]
        for place, body, position in self._by_shape.get(shapes[0], ()):
            window = body[position : position + len(shapes)]
            if window[0] is not block.statements[0] and [_shape(statement) for statement in window] == shapes:
                yield place, window

    def _copy(
        self,
        block: Block,
        extraction: Extraction,
        place: FunctionPlace,
        statements: Sequence[ast.stmt],
        names: dict[str, str],
    ) -> Copy | None:
        """Return a copy, if its inputs, results and jumps are those of the block."""
        if place.function not in self._analyses:
            self._analyses[place.function] = FunctionAnalysis(place, annotations_are_evaluated=not self._lazy)
        other = self._analyses[place.function].analyse(statements)
        if isinstance(other, Refused) or not _is_called_alike(extraction, other):
            return None
        parameters, outputs = (
            tuple(names.get(name, name) for name in each) for each in (extraction.parameters, extraction.outputs)
        )
        if set(parameters) != set(other.parameters) or set(outputs) != set(other.outputs):
            return None
        try:
            own = block_of(self._source, place, statements)
        except RefusedRefactoring:
            return None
        comments = set(_comments(self._source, block.first_line, block.last_line))
        if not set(_comments(self._source, first_line(statements[0]), own.last_line)) <= comments:
            return None
        if not set(_comments(self._source, own.first_line, own.last_line)) <= comments:
            own = replace(own, first_line=first_line(statements[0]))
        renamed = frozenset(one for one, own_name in names.items() if one != own_name)
        return Copy(own, replace(other, parameters=parameters, outputs=outputs), renamed)


def _is_called_alike(one: Extraction, other: Extraction) -> bool:
    """Return whether the calls that replace two blocks have one form, and one function can be called by both."""
    hosts = one.host, other.host
    if (hosts[0] is None) is not (hosts[1] is None):
        return False
    if hosts[0] is not None and hosts[1] is not None:
        are_same = hosts[0].class_ is hosts[1].class_ and hosts[0].is_class_method is hosts[1].is_class_method
        if not are_same or hosts[0].first_parameter != hosts[1].first_parameter:
            return False
    waits = [(each.crossings.awaits, each.crossings.yields) for each in (one, other)]
    jumps = [ast.dump(each.jump) if each.jump is not None else "" for each in (one, other)]
    return one.form is other.form and waits[0] == waits[1] and jumps[0] == jumps[1]


def _comments(source: SourceText, first: int, last: int) -> Iterator[str]:
    lines = (number for number in range(first, last + 1) if number not in source.lines_inside_strings)
    return (source.line(number).partition("#")[2].strip() for number in lines if "#" in source.line(number))


def _shape(statement: ast.stmt) -> str:
    """Return what tells statements apart at a glance: that of a copy is the same."""
    parts = [type(part).__name__[:5] for part in ast.walk(statement)]
    return f"{len(parts)} {' '.join(parts[:12])}"


def _renamed(
    block: Block, place: FunctionPlace, statements: Sequence[ast.stmt], *, constants: bool
) -> dict[str, str] | None:
    """Return what the local names of a block are called in other statements; None where these do something else.

    Without `constants`, they may differ in these.
    """
    locals_ = _visible_locals(block.place), _visible_locals(place)
    names: dict[str, str] = {}
    pairs: list[tuple[object, object]] = list(zip(block.statements, statements, strict=True))
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, ast.Name) and isinstance(other, ast.Name):
            if not _is_same_name(one.id, other.id, locals_, names) or type(one.ctx) is not type(other.ctx):
                return None
        elif isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
            is_same = type(one.value) is type(other.value) and one.value == other.value
            if constants and not is_same:
                return None
        elif isinstance(one, ast.AST):
            if type(one) is not type(other):
                return None
            pairs += [(getattr(one, field, None), getattr(other, field, None)) for field in one._fields]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return None
            pairs += zip(one, other, strict=True)
        elif one != other:
            return None
    return names if len(set(names.values())) == len(names) else None


def _is_same_name(one: str, other: str, locals_: tuple[frozenset[str], frozenset[str]], names: dict[str, str]) -> bool:
    is_local = one in locals_[0]
    if is_local is not (other in locals_[1]):
        return False
    return names.setdefault(one, other) == other if is_local else one == other


def _visible_locals(place: FunctionPlace) -> frozenset[str]:
    return place.locals.union(*(local_names(function) for function in place.enclosing_functions))
