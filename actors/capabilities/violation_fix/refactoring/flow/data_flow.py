"""Solves definite assignment and liveness of local names over a control flow graph."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.complexity import Function
from actors.capabilities.violation_fix.refactoring.flow.control_flow import FlowGraph, Node, build_graph
from actors.capabilities.violation_fix.refactoring.flow.name_events import Kind
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import local_names, parameters_of

_READS = frozenset({Kind.READ, Kind.CAPTURE, Kind.DELETE})
_BINDS = frozenset({Kind.BIND, Kind.MAYBE_BIND, Kind.DELETE})


@dataclass(frozen=True, slots=True)
class _Effects:
    """Sums up a node as sets of names, kept as bits of integers."""

    read_first: int
    read: int
    bound: int
    surely_bound: int
    surely_unbound: int
    ever_deleted: int


class DataFlow:
    """Solves for each place in one function the names surely bound and those that may still be read."""

    def __init__(self, function: Function, *, annotations_are_evaluated: bool = True) -> None:
        self.function = function
        self.names = sorted(local_names(function))
        self._bit = {name: 1 << number for number, name in enumerate(self.names)}
        self.graph: FlowGraph = build_graph(function, annotations_are_evaluated=annotations_are_evaluated)
        self._effects = {node: self._effects_of(node) for node in self.graph.nodes}

    def bits(self, names: Iterable[str]) -> int:
        total = 0
        for name in names:
            total |= self._bit.get(name, 0)
        return total

    def spelled(self, bits: int) -> frozenset[str]:
        return frozenset(name for name in self.names if self._bit[name] & bits)

    def _effects_of(self, node: Node) -> _Effects:
        read = first = bound = surely = unbound = deleted = 0
        for event in node.events:
            bit = self._bit.get(event.name, 0)
            if event.kind in _READS:
                read |= bit
                first |= bit & ~surely
            if event.kind in _BINDS:
                bound |= bit
            if event.kind is Kind.BIND:
                surely, unbound = surely | bit, unbound & ~bit
            elif event.kind is Kind.DELETE:
                surely, unbound, deleted = surely & ~bit, unbound | bit, deleted | bit
        return _Effects(first, read, bound, surely, unbound, deleted)

    def bound_by(self, node: Node) -> int:
        return self._effects[node].bound

    def read_by(self, node: Node) -> int:
        return self._effects[node].read

    @cached_property
    def predecessors(self) -> dict[Node, list[Node]]:
        return self.graph.predecessors()

    @cached_property
    def surely_bound_at(self) -> dict[Node, int]:
        """Names bound on every path to a node; every name where no path leads to it."""
        everything = (1 << len(self.names)) - 1
        before = dict.fromkeys(self.graph.nodes, everything)
        before[self.graph.start] = self.bits(argument.arg for argument in parameters_of(self.function.args))
        pending = list(reversed(self.graph.nodes))
        while pending:
            node = pending.pop()
            effects = self._effects[node]
            after = (before[node] & ~effects.surely_unbound) | effects.surely_bound
            on_error = before[node] & ~effects.ever_deleted
            for successors, state in ((node.next, after), (node.on_error, on_error)):
                for successor in successors:
                    if before[successor] & ~state and successor is not self.graph.start:
                        before[successor] &= state
                        pending.append(successor)
        return before

    def surely_bound_on(self, node: Node, after: Node) -> int:
        """Return the names surely bound when control goes from one node to another.

        If a context manager eats an exception, of which nothing is known, nothing is claimed to be unbound.
        """
        effects = self._effects[node]
        if after in node.next:
            return (self.surely_bound_at[node] & ~effects.surely_unbound) | effects.surely_bound
        return self.surely_bound_at[node] & ~effects.ever_deleted if after in node.on_error else -1

    @cached_property
    def maybe_bound_at(self) -> dict[Node, int]:
        """Names bound on some path to a node."""
        everywhere = frozenset(self.graph.nodes)
        parameters = self.bits(argument.arg for argument in parameters_of(self.function.args))
        return {node: bound | parameters for node, bound in self.bound_before(everywhere, self.graph.start).items()}

    @cached_property
    def live_at(self) -> dict[Node, int]:
        """Names whose value at a node may be read later."""
        return self._liveness(self.graph.nodes, {}, swallowing=True)

    def live_inside(
        self, inside: frozenset[Node], wanted: Mapping[Node, int], *, swallowing: bool = True
    ) -> dict[Node, int]:
        """Return liveness within some nodes, where `wanted` are the names live at nodes outside."""
        return self._liveness(inside, wanted, swallowing=swallowing)

    def _liveness(
        self,
        nodes: Iterable[Node],
        wanted: Mapping[Node, int],
        *,
        swallowing: bool,
    ) -> dict[Node, int]:
        ordered = sorted(nodes, key=lambda node: node.index)
        live = dict.fromkeys(ordered, 0)
        pending = list(ordered)
        while pending:
            node = pending.pop()
            effects = self._effects[node]
            after = on_error = 0
            for successor in node.next:
                after |= live[successor] if successor in live else wanted.get(successor, 0)
            for successor in (*node.on_error, *(node.on_swallow if swallowing else ())):
                on_error |= live[successor] if successor in live else wanted.get(successor, 0)
            now = effects.read_first | (after & ~effects.surely_bound) | on_error
            if now != live[node]:
                live[node] = now
                pending.extend(before for before in self.predecessors[node] if before in live)
        return live

    def reachable_from(self, starts: Iterable[Node], inside: frozenset[Node] | None = None) -> frozenset[Node]:
        found: set[Node] = set()
        pending = [node for node in starts if inside is None or node in inside]
        while pending:
            node = pending.pop()
            if node in found:
                continue
            found.add(node)
            pending.extend(successor for successor in node.successors if inside is None or successor in inside)
        return frozenset(found)

    def bound_before(self, inside: frozenset[Node], entry: Node) -> dict[Node, int]:
        """Return the names that nodes of a block may have bound before each of them runs."""
        before = dict.fromkeys(inside, 0)
        pending = [entry]
        seen: set[Node] = set()
        while pending:
            node = pending.pop()
            seen.add(node)
            after = before[node] | self._effects[node].bound
            for successor in node.successors:
                if successor in inside and (after & ~before[successor] or successor not in seen):
                    before[successor] |= after
                    pending.append(successor)
        return before


def nodes_of_block(graph: FlowGraph, members: frozenset[ast.stmt], last: ast.stmt) -> frozenset[Node]:
    """Return the nodes that belong to statements of one block; the place after the last of them does not."""
    after = graph.exit_of[last]
    return frozenset(node for member in members for node in graph.nodes_of.get(member, ()) if node is not after)
