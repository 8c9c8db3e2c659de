"""Locates one statement for a simplification and provides what data flow knows of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.complexity import Try
from actors.capabilities.violation_fix.refactoring.flow.data_flow import DataFlow
from actors.capabilities.violation_fix.refactoring.flow.name_events import Kind
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    Scope,
    has_lazy_annotations,
    names_in_module,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.outcomes import RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.source_text import (
    Edit,
    SourceText,
    apply_edits,
    first_line,
    last_line,
)

_TAB = 8


class Surroundings:
    """Holds one function of a file; what all of its statements share is worked out once."""

    def __init__(self, source: SourceText, place: FunctionPlace, line_length: int) -> None:
        self.source = source
        self.place = place
        self.line_length = line_length

    @cached_property
    def flow(self) -> DataFlow:
        lazy = has_lazy_annotations(self.source.tree)
        return DataFlow(self.place.function, annotations_are_evaluated=not lazy)

    @cached_property
    def module_names(self) -> frozenset[str]:
        return names_in_module(self.source.tree)

    @cached_property
    def bound_anywhere(self) -> frozenset[str]:
        """Names that any scope of the file binds: a builtin among them may be another function."""
        nodes = (node for node in ast.walk(self.source.tree) if isinstance(node, ast.Name))
        names = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        names |= {node.name for node in ast.walk(self.source.tree) if isinstance(node, Scope)}
        names |= {node.arg for node in ast.walk(self.source.tree) if isinstance(node, ast.arg)}
        imports = (node for node in ast.walk(self.source.tree) if isinstance(node, ast.Import | ast.ImportFrom))
        return frozenset(names | {alias.asname or alias.name for node in imports for alias in node.names})

    @cached_property
    def captured(self) -> frozenset[str]:
        """Names that functions nested in the function may read."""
        events = (event for node in self.flow.graph.nodes for event in node.events)
        return frozenset(event.name for event in events if event.kind is Kind.CAPTURE)


@dataclass(frozen=True)
class Spot:
    """Points at a statement in its list; `parents` are the statements around it, outermost first."""

    around: Surroundings
    body: Sequence[ast.stmt]
    position: int
    parents: tuple[ast.stmt, ...]

    @property
    def source(self) -> SourceText:
        return self.around.source

    @property
    def node(self) -> ast.stmt:
        return self.body[self.position]

    @property
    def before(self) -> ast.stmt | None:
        return self.body[self.position - 1] if self.position else None

    @property
    def after(self) -> ast.stmt | None:
        return self.body[self.position + 1] if self.position + 1 < len(self.body) else None

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def indent(self) -> str:
        return self.source.indent(self.line)

    @property
    def is_guarded(self) -> bool:
        """True inside a `try` or `with`, where what comes after an exception may see what was bound until then."""
        return any(isinstance(parent, Try | ast.With | ast.AsyncWith) for parent in self.parents)

    @property
    def is_one_of_many(self) -> bool:
        """True in a branch of a chain another of which is built alike: a reader wants them to stay alike."""
        parent = self.parents[-1] if self.parents else None
        if not isinstance(parent, ast.If):
            return False
        shape = [type(statement) for statement in self.body]
        chain = [branch for branch in (*self.parents, *_branches_below(parent)) if isinstance(branch, ast.If)]
        bodies = [body for branch in chain for body in (branch.body, branch.orelse) if body and body is not self.body]
        alike = [body for body in bodies if [type(statement) for statement in body] == shape]
        return any(not self.source.is_elif(body[0]) for body in alike)

    def refuse(self, code: str, message: str) -> RefusedRefactoring:
        return RefusedRefactoring(code, message, (self.line,))

    def refuse_comments(self, first: int, last: int) -> None:
        for number in range(first, last + 1):
            # A hash in a string is taken for a comment: one refusal too many does no harm.
            if "#" in self.source.line(number):
                raise RefusedRefactoring("comment_lost", "a comment would be lost", (number,))

    def refuse_shadowed(self, *builtins: str) -> None:
        shadowed = self.around.bound_anywhere & set(builtins)
        if shadowed:
            raise self.refuse("name_taken", f"the file binds {', '.join(sorted(shadowed))}")

    def refuse_live_after(self, names: frozenset[str], statement: ast.stmt) -> None:
        """Refuse where a name that the statement binds may be read after it: it will be bound no more."""
        flow = self.around.flow
        bits = flow.bits(names)
        if (
            len(flow.spelled(bits)) < len(names)
            or self.around.captured & names
            or flow.live_at[flow.graph.exit_of[statement]] & bits
        ):
            raise self.refuse("still_read", f"{', '.join(sorted(names))} may be read afterwards")
        inside = {id(part) for part in ast.walk(statement)}
        outside = [part for part in ast.walk(self.around.place.function) if id(part) not in inside]
        others = [part for part in outside if isinstance(part, ast.Name) and part.id in names]
        still_bound = {part.id for part in others if isinstance(part.ctx, ast.Store)}
        orphans = {part.id for part in others} - still_bound
        if orphans:
            raise self.refuse("still_read", f"{', '.join(sorted(orphans))} would be another name elsewhere")

    def refuse_maybe_unbound(self, names: frozenset[str], statement: ast.stmt) -> None:
        """Refuse where a local name may be unbound before a statement: from an inner scope the error is another."""
        flow = self.around.flow
        missing = flow.bits(names) & ~flow.surely_bound_at[flow.graph.entry_of[statement]]
        if missing:
            raise self.refuse("maybe_unbound", f"{', '.join(sorted(flow.spelled(missing)))} may be unbound")

    def text(self, node: ast.expr) -> str:
        """Return an expression as it is spelled, if on one line."""
        if node.lineno != last_line(node):
            raise self.refuse("long_condition", "an expression spans lines")
        return self.source.segment(node)

    def fits(self, line: str) -> bool:
        return len(line.expandtabs(_TAB)) <= self.around.line_length

    def stands_alone(self, statement: ast.stmt) -> bool:
        """Check that a statement above can go with its line: nothing shares that, and no gap or comment is left."""
        first, last = first_line(statement), last_line(statement)
        source = self.source
        begin, end = source.starts[first - 1], source.line_end_offset(last)
        is_whole = source.text[begin:end].strip() == source.segment(statement).strip()
        above, below = (number for number in (first - 1, last + 1))
        is_commented = above > 0 and source.is_comment(above)
        is_between_gaps = (above == 0 or source.is_blank(above)) and source.is_blank(below)
        opens_block = self.body[0] is statement and source.is_blank(below)
        return is_whole and not is_commented and not is_between_gaps and not opens_block

    def replaced(
        self, first: ast.stmt, last: ast.stmt, lines: Sequence[str], *, without: ast.stmt | None = None
    ) -> str:
        """Return the file with whole statements replaced by lines, which come without their line ends.

        `without` is a statement above them that goes as well.
        """
        source = self.source
        begin, end = first_line(first), last_line(last)
        text = "".join(line + source.newline for line in lines)
        if not source.lines(end, end).endswith(("\n", "\r")):
            text = text.removesuffix(source.newline)
        before = source.text[source.starts[begin - 1] : source.start_of(first)]
        after = source.text[source.end_of(last) : source.line_end_offset(end)]
        if before.strip(" \t\f\ufeff") or after.strip():
            raise self.refuse("shared_line", "other code or a comment stands on a line of the statements")
        edits = [Edit(source.starts[begin - 1], source.line_end_offset(end), text)]
        if without is not None:
            gone = source.starts[first_line(without) - 1], source.line_end_offset(last_line(without))
            edits.append(Edit(*gone, ""))
        return apply_edits(source.text, edits)


def _branches_below(branch: ast.If) -> Iterator[ast.If]:
    while len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
        branch = branch.orelse[0]
        yield branch


def spots_in(source: SourceText, place: FunctionPlace, line_length: int) -> Iterator[Spot]:
    """Yield every statement of a function, functions nested in it left out."""
    around = Surroundings(source, place, line_length)
    pending: list[tuple[list[ast.stmt], tuple[ast.stmt, ...]]] = [(place.function.body, ())]
    while pending:
        body, parents = pending.pop(0)
        for position, statement in enumerate(body):
            yield Spot(around, body, position, parents)
            if not isinstance(statement, Scope):
                pending += [(inner, (*parents, statement)) for inner in statement_lists(statement)]


def is_simple_value(node: ast.expr) -> bool:
    """Check that an expression reads well inside another one, without parentheses."""
    loose = (ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred, ast.Await, ast.GeneratorExp)
    if isinstance(node, ast.Tuple | ast.BoolOp):
        return False
    return not any(isinstance(part, loose) for part in ast.walk(node))


def is_empty_display(value: ast.expr) -> bool:
    """Check for `[]`, `{}` and `()`."""
    return isinstance(value, ast.List | ast.Dict | ast.Tuple) and not (
        getattr(value, "elts", None) or getattr(value, "keys", None)
    )


def suspends_or_binds(*nodes: ast.expr) -> bool:
    """Check for what means something else in a comprehension than in a loop."""
    parts = [part for node in nodes for part in ast.walk(node)]
    # `next` raises StopIteration, which ends a generator with another exception.
    named = {"super", "next", "__class__", "locals", "vars", "eval", "exec"}
    return any(
        isinstance(part, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await | ast.Lambda)
        or (isinstance(part, ast.Name) and part.id in named)
        for part in parts
    )
