"""Builds the control flow graph of one function, exceptional edges included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from actors.capabilities.violation_fix.refactoring.complexity import Function, Loop, Try, is_irrefutable
from actors.capabilities.violation_fix.refactoring.flow.name_events import Event, Kind, events_of

# Context managers of these names are made to swallow exceptions.
_SWALLOWING = ("suppress", "ignor", "raises", "catch", "swallow", "exitstack", "silence", "warns", "expect")


# Context managers of these names are known to let exceptions through.
_TRANSPARENT: tuple[str, ...] = (
    *("lock", "open", "mutex", "semaphore", "condition", "closing", "tempfile", "temporary", "tempdir", "temp"),
    *("session", "connect", "cursor", "transaction", "pool", "executor", "timer", "span", "status", "progress"),
    *("redirect", "nullcontext", "patch", "chdir", "cwd", "console", "zipfile", "tarfile", "file", "stream"),
    *("indent", "scope", "context", "environ", "section", "tag", "block"),
)


@dataclass(eq=False, slots=True)
class Node:
    """Holds the events of one evaluation, or is only a place to jump to (`acts` is false)."""

    index: int
    statement: ast.stmt | None
    acts: bool = False
    events: tuple[Event, ...] = ()
    next: list[Node] = field(default_factory=list)
    on_error: list[Node] = field(default_factory=list)
    # Taken if a context manager, of which nothing is known, eats the exception.
    on_swallow: list[Node] = field(default_factory=list)

    @property
    def successors(self) -> tuple[Node, ...]:
        return (*self.next, *self.on_error, *self.on_swallow)


@dataclass(slots=True)
class _Loop:
    after: Node
    head: Node
    depth: int


@dataclass(slots=True)
class _Finally:
    entry: Node
    targets: list[tuple[Node, int]]


@dataclass
class FlowGraph:
    """Holds the nodes of a function; `entry_of` and `exit_of` are the places before and after each statement."""

    nodes: list[Node]
    start: Node
    end: Node
    entry_of: dict[ast.stmt, Node]
    exit_of: dict[ast.stmt, Node]
    loop_heads: dict[ast.stmt, Node]

    def __post_init__(self) -> None:
        self.nodes_of: dict[ast.stmt, list[Node]] = {}
        for node in self.nodes:
            if node.statement is not None:
                self.nodes_of.setdefault(node.statement, []).append(node)

    def predecessors(self) -> dict[Node, list[Node]]:
        found: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for successor in node.successors:
                found[successor].append(node)
        return found

    @staticmethod
    def settle(node: Node) -> Node:
        """Return where control that arrives at a node does something next."""
        seen: set[int] = set()
        while not node.acts and len(node.next) == 1 and node.index not in seen:
            seen.add(node.index)
            node = node.next[0]
        return node


class _Builder:
    def __init__(self, *, annotations_are_evaluated: bool) -> None:
        self.nodes: list[Node] = []
        self.entry_of: dict[ast.stmt, Node] = {}
        self.exit_of: dict[ast.stmt, Node] = {}
        self.loop_heads: dict[ast.stmt, Node] = {}
        self.loops: list[_Loop] = []
        self.finals: list[_Finally] = []
        self.errors: list[list[Node]] = []
        self.swallowers: list[Node] = []
        self._annotations = annotations_are_evaluated
        self.end = self.place(None)

    def place(self, statement: ast.stmt | None) -> Node:
        node = Node(len(self.nodes), statement)
        self.nodes.append(node)
        return node

    def step(self, statement: ast.stmt, before: Node, *parts: ast.AST | None, raises: bool = True) -> Node:
        node = self.place(statement)
        node.acts = True
        node.events = events_of(*parts, annotations_are_evaluated=self._annotations)
        if raises and self.errors:
            node.on_error = list(self.errors[-1])
        if raises:
            node.on_swallow = list(self.swallowers)
        before.next.append(node)
        return node

    def block(self, statements: Sequence[ast.stmt], before: Node) -> Node:
        for statement in statements:
            entry, after = self.place(statement), self.place(statement)
            before.next.append(entry)
            self.entry_of[statement], self.exit_of[statement] = entry, after
            self.statement(statement, entry, after)
            before = after
        return before

    def statement(self, statement: ast.stmt, entry: Node, after: Node) -> None:
        method = getattr(self, f"_build_{type(statement).__name__.lower()}", None)
        if method is not None:
            method(statement, entry, after)
        else:
            node = self.step(statement, entry, statement, raises=not _cannot_raise(statement))
            node.next.append(after)

    def jump(self, node: Node, target: Node, depth: int) -> None:
        """Lead control to a target that lies outside the `finally` clauses deeper than `depth`."""
        if len(self.finals) > depth:
            self.finals[-1].targets.append((target, depth))
            target = self.finals[-1].entry
        node.next.append(target)

    def _build_if(self, statement: ast.If, entry: Node, after: Node) -> None:
        test = self.step(statement, entry, statement.test)
        self.block(statement.body, test).next.append(after)
        self.block(statement.orelse, test).next.append(after)

    def _loop(self, statement: Loop, head: Node, test: Node, body_start: Node, after: Node) -> None:
        self.loop_heads[statement] = head
        self.loops.append(_Loop(after, head, len(self.finals)))
        self.block(statement.body, body_start).next.append(head)
        self.loops.pop()
        always = isinstance(statement, ast.While) and _is_true(statement.test)
        if not always:
            self.block(statement.orelse, test).next.append(after)

    def _build_while(self, statement: ast.While, entry: Node, after: Node) -> None:
        head = self.place(statement)
        entry.next.append(head)
        test = self.step(statement, head, statement.test)
        self._loop(statement, head, test, test, after)

    def _build_for(self, statement: ast.For | ast.AsyncFor, entry: Node, after: Node) -> None:
        iterator = self.step(statement, entry, statement.iter)
        head = self.place(statement)
        iterator.next.append(head)
        # Asking the iterator for the next value may raise as well.
        test = self.step(statement, head)
        target = self.step(statement, test, statement.target)
        self._loop(statement, head, test, target, after)

    _build_asyncfor = _build_for

    def _build_with(self, statement: ast.With | ast.AsyncWith, entry: Node, after: Node) -> None:
        node = entry
        for item in statement.items:
            node = self.step(statement, node, item.context_expr, item.optional_vars)
        swallows = any(_is_named(item.context_expr, _SWALLOWING) for item in statement.items)
        is_unknown = not swallows and not all(_is_named(item.context_expr, _TRANSPARENT) for item in statement.items)
        if swallows:
            self.errors.append([*(self.errors[-1] if self.errors else []), after])
        if is_unknown:
            self.swallowers.append(after)
        # Leaving the block calls the context manager, which may raise; a jump out of it does the same.
        leave = self.step(statement, self.block(statement.body, node))
        leave.acts = False
        leave.next.append(after)
        if is_unknown:
            self.swallowers.pop()
        if swallows:
            self.errors.pop()

    _build_asyncwith = _build_with

    def _build_try(self, statement: Try, entry: Node, after: Node) -> None:
        outer = self.errors[-1] if self.errors else []
        final = self.place(statement) if statement.finalbody else None
        if final is not None:
            self.finals.append(_Finally(final, []))
            self.errors.append([final])
        unhandled = [final] if final is not None else outer
        catch = self.place(statement)
        if statement.handlers:
            self.errors.append([catch])
            catch.next.extend(unhandled)
        done = self.block(statement.body, entry)
        if statement.handlers:
            self.errors.pop()
        ends = [self.block(statement.orelse, done)]
        for handler in statement.handlers:
            ends.append(self._handler(statement, handler, catch))
        if final is None:
            for end in ends:
                end.next.append(after)
            return
        self.errors.pop()
        record = self.finals.pop()
        for end in ends:
            end.next.append(final)
        # What comes next depends on how the clause was entered: an exception goes on.
        last = self.step(statement, self.block(statement.finalbody, final), raises=False)
        last.next.append(after)
        last.on_error.extend(outer)
        for target, depth in record.targets:
            self.jump(last, target, depth)

    _build_trystar = _build_try

    def _handler(self, statement: Try, handler: ast.ExceptHandler, catch: Node) -> Node:
        node = self.step(statement, catch, handler.type)
        if handler.name is None:
            return self.block(handler.body, node)
        node.events = (*node.events, Event(Kind.BIND, handler.name))
        done = self.step(statement, self.block(handler.body, node), raises=False)
        done.events = (Event(Kind.DELETE, handler.name),)
        return done

    def _build_match(self, statement: ast.Match, entry: Node, after: Node) -> None:
        node = self.step(statement, entry, statement.subject)
        for case in statement.cases:
            tried = self.step(statement, node, case.pattern)
            captures = tried.events
            tried.events = tuple(
                Event(Kind.MAYBE_BIND, event.name) if event.kind is Kind.BIND else event for event in captures
            )
            matched = self.place(statement)
            matched.acts = True
            matched.events = tuple(event for event in captures if event.kind is Kind.BIND)
            tried.next.append(matched)
            guarded = self.step(statement, matched, case.guard) if case.guard is not None else matched
            self.block(case.body, guarded).next.append(after)
            node = self.place(statement)
            if not is_irrefutable(case):
                tried.next.append(node)
            if case.guard is not None:
                guarded.next.append(node)
        node.next.append(after)

    def _build_return(self, statement: ast.Return, entry: Node, after: Node) -> None:
        self.jump(self.step(statement, entry, statement.value), self.end, 0)

    def _build_raise(self, statement: ast.Raise, entry: Node, after: Node) -> None:
        self.step(statement, entry, statement.exc, statement.cause)

    def _build_break(self, statement: ast.Break, entry: Node, after: Node) -> None:
        self.jump(entry, self.loops[-1].after, self.loops[-1].depth)

    def _build_continue(self, statement: ast.Continue, entry: Node, after: Node) -> None:
        self.jump(entry, self.loops[-1].head, self.loops[-1].depth)


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _cannot_raise(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant) and all(isinstance(t, ast.Name) for t in statement.targets)
    return isinstance(statement, ast.Pass | ast.Global | ast.Nonlocal)


def _is_named(manager: ast.expr, names: tuple[str, ...]) -> bool:
    words = " ".join(_identifiers(manager)).lower()
    return any(name in words for name in names)


def _identifiers(node: ast.expr) -> Iterator[str]:
    target = node.func if isinstance(node, ast.Call) else node
    for part in ast.walk(target):
        if isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Name):
            yield part.id


def build_graph(function: Function, *, annotations_are_evaluated: bool = True) -> FlowGraph:
    """Build the graph of a function's own body; nested functions are single nodes."""
    builder = _Builder(annotations_are_evaluated=annotations_are_evaluated)
    start = builder.place(None)
    builder.block(function.body, start).next.append(builder.end)
    return FlowGraph(builder.nodes, start, builder.end, builder.entry_of, builder.exit_of, builder.loop_heads)
