"""Walks a syntax tree and collects type facts.

A language's walker declares what each of its nodes means.

A subclass maps node types to methods in `handlers`. A handler returns the position of the node's expression, or
`NOTHING`; nodes without a handler are walked for the calls in them. The walk goes at most `MAX_DEPTH` nodes deep, and
what lies deeper leaves no facts: it cannot be proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

from runtime.codebase.language_parts.type_facts import (
    NOTHING,
    TO_THE_END,
    Binding,
    BindingKind,
    Call,
    Expression,
    FactImport,
    FileFacts,
    Scope,
    ScopeKind,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 180
MAX_CALLS = 100_000
MAX_NAME_CHARS = 200

Handler = Callable[[Any, "Node", int], int]


class FactsWalker:
    """Collects the facts of one file; `facts` holds them after `walk`."""

    handlers: ClassVar[dict[str, Handler]] = {}
    blocks: ClassVar[frozenset[str]] = frozenset()
    loops: ClassVar[frozenset[str]] = frozenset(
        {"for_statement", "while_statement", "do_statement", "for_in_statement"}
    )

    def __init__(self) -> None:
        self.facts = FileFacts(
            scopes=[Scope("module", "", NOTHING, 1, TO_THE_END)],
            expressions=[],
            imports=[],
            stars=[],
            calls=[],
        )
        self.until = TO_THE_END
        self._depth = 0
        self._known: dict[Expression, int] = {}

    def walk(self, root: Node) -> FileFacts:
        """Walk a tree and return its facts."""
        self.children(root, 0)
        self.finish()
        return self.facts

    def finish(self) -> None:
        """Complete the facts after the walk."""

    def visit(self, node: Node | None, scope: int) -> int:
        """Walk a node and return the position of its expression."""
        if node is None:
            return NOTHING
        if self._depth >= MAX_DEPTH:
            self.facts.is_cut = True
            return NOTHING
        self._depth += 1
        kind = node.type
        if kind in self.loops:
            holder = self.facts.scopes[self.scope_above(scope, "function")]
            holder.loops.append((line_of(node), node.end_point[0] + 1))
        handler = self.handlers.get(kind)
        found = NOTHING
        if handler is not None:
            found = handler(self, node, scope)
        elif kind in self.blocks:
            found = self.block(node, scope)
        else:
            self.children(node, scope)
        self._depth -= 1
        return found

    def children(self, node: Node, scope: int) -> None:
        """Walk the named children of a node."""
        for child in node.named_children:
            # A leaf calls nothing and binds nothing.
            if child.child_count:
                self.visit(child, scope)

    def block(self, node: Node, scope: int) -> int:
        """Walk a block; what it binds in the scope around it holds to its end."""
        outer, self.until = self.until, node.end_point[0] + 1
        self.children(node, scope)
        self.until = outer
        return NOTHING

    def express(self, *form: str | int) -> int:
        """Return the position of an expression, adding it if it is new."""
        known = self._known.get(form)
        if known is None:
            known = self._known[form] = len(self.facts.expressions)
            self.facts.expressions.append(form)
        return known

    def name(self, node: Node) -> int:
        """Return the expression of a name at its place."""
        return self.express("name", text_of(node), line_of(node))

    def attribute(self, owner: int, name: str) -> int:
        """Return the expression of a member; unknown if its object is."""
        return NOTHING if owner == NOTHING else self.express("attribute", owner, name)

    def wrapped(self, form: str, inner: int, *rest: int) -> int:
        """Return an expression of another one; unknown if that is."""
        return NOTHING if inner == NOTHING else self.express(form, inner, *rest)

    def union(self, options: Iterable[int]) -> int:
        """Return an expression that has one of several values."""
        known = list(dict.fromkeys(options))
        if not known or NOTHING in known:
            return NOTHING
        return known[0] if len(known) == 1 else self.express("union", *known)

    def add_scope(self, kind: ScopeKind, name: str, parent: int, node: Node, name_node: Node | None = None) -> int:
        """Add a scope that a node opens, and return its position."""
        place = len(self.facts.scopes)
        line = line_of(name_node if name_node is not None else node)
        self.facts.scopes.append(Scope(kind, name[:MAX_NAME_CHARS], parent, line, node.end_point[0] + 1))
        return place

    def bind(
        self, scope: int, name: str, kind: BindingKind, node: Node, ref: int = NOTHING, *, field: bool = False
    ) -> None:
        """Bind a name in a scope, or among its fields, from the end of a statement to the end of its block."""
        if not name:
            return
        if ref == NOTHING and kind not in ("self", "class"):
            kind = "unknown"
        holder = self.facts.scopes[scope]
        table = holder.fields if field else holder.bindings
        made = Binding(kind, line_of(node), ref, node.end_point[0] + 1, self.until)
        table.setdefault(name[:MAX_NAME_CHARS], []).append(made)

    def bind_import(self, scope: int, bound: str, module: str, name: str, node: Node) -> None:
        """Bind an imported name."""
        self.bind(scope, bound, "import", node, self.add_import(module, name, node))

    def add_import(self, module: str, name: str, node: Node) -> int:
        """Add an import and return its position."""
        self.facts.imports.append(FactImport(module[:MAX_NAME_CHARS], name[:MAX_NAME_CHARS], line_of(node)))
        return len(self.facts.imports) - 1

    def call(self, name: Node, scope: int, callee: int, arguments: int = NOTHING, given: Sequence[int] = ()) -> int:
        """Record a call of a name and return the expression of its result."""
        if len(self.facts.calls) >= MAX_CALLS:
            self.facts.is_cut = True
            return NOTHING
        line = line_of(name)
        self.facts.calls.append(
            Call(text_of(name)[:MAX_NAME_CHARS], line, name.start_point[1], scope, callee, arguments, [*given])
        )
        return self.wrapped("call", callee, line, arguments)

    def scope_above(self, scope: int, *kinds: str) -> int:
        """Return the innermost scope of some kinds, from a scope outwards; the module if there is none."""
        while scope > 0 and self.facts.scopes[scope].kind not in kinds:
            scope = self.facts.scopes[scope].parent
        return max(scope, 0)


_source_read: ContextVar[bytes | None] = ContextVar("source_read", default=None)


@contextmanager
def texts_from(source: bytes) -> Iterator[None]:
    """Have `text_of` read the texts of nodes from the source that they were parsed from, which is faster."""
    token = _source_read.set(source)
    try:
        yield
    finally:
        _source_read.reset(token)


def text_of(node: Node | None) -> str:
    """Return the source of a node; empty for None."""
    if node is None:
        return ""
    source = _source_read.get()
    text = node.text if source is None else source[node.start_byte : node.end_byte]
    return text.decode("utf-8", "replace") if text is not None else ""


def line_of(node: Node) -> int:
    """Return the line of a node, counted from 1."""
    return int(node.start_point[0]) + 1
