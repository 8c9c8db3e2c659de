"""Decides whether a block can become a function of its own, and with what inputs and outputs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.capabilities.violation_fix.refactoring.block_exits import Form, binds_no_none, is_never_none
from actors.capabilities.violation_fix.refactoring.complexity import Loop
from actors.capabilities.violation_fix.refactoring.flow.control_flow import Node
from actors.capabilities.violation_fix.refactoring.flow.data_flow import DataFlow, nodes_of_block
from actors.capabilities.violation_fix.refactoring.flow.free_inputs import OuterNames
from actors.capabilities.violation_fix.refactoring.flow.name_events import Kind
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import (
    FunctionPlace,
    Scope,
    declared_names,
    names_read,
    own_nodes,
    statement_lists,
)
from actors.capabilities.violation_fix.refactoring.flow.null_flow import is_surely_something, leaves
from actors.capabilities.violation_fix.refactoring.hazards import (
    Crossings,
    Jump,
    crossings_of,
    is_bare,
    is_constant,
    kept_alive,
    refuse_dynamic_function,
    spelling_of,
)
from actors.capabilities.violation_fix.refactoring.outcomes import Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.parameter_order import subject_first
from actors.capabilities.violation_fix.refactoring.placement import Host, find_host, visible_to
from actors.capabilities.violation_fix.refactoring.statement_facts import StatementFacts


@dataclass(frozen=True)
class Extraction:
    """Describes how a block becomes a function."""

    statements: tuple[ast.stmt, ...]
    form: Form
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    crossings: Crossings
    falls_through: bool
    jump: Jump | None
    host: Host | None

    @property
    def first(self) -> ast.stmt:
        return self.statements[0]


class FunctionAnalysis:
    """Analyses blocks of one function; what holds for the whole function is worked out once."""

    def __init__(self, place: FunctionPlace, *, annotations_are_evaluated: bool = True) -> None:
        self.place = place
        self.flow = DataFlow(place.function, annotations_are_evaluated=annotations_are_evaluated)
        self.host = find_host(place)
        self.outer_names = OuterNames(place)
        self._facts: dict[ast.stmt, StatementFacts] = {}
        self.parents: dict[ast.stmt, tuple[ast.stmt, ...]] = {}
        self._record_parents(place.function.body, ())

    def _record_parents(self, statements: Sequence[ast.stmt], around: tuple[ast.stmt, ...]) -> None:
        for statement in statements:
            self.parents[statement] = around
            if not isinstance(statement, Scope):
                for body in statement_lists(statement):
                    self._record_parents(body, (*around, statement))

    @cached_property
    def refusal(self) -> Refused | None:
        """The reason why nothing of the function can be moved, if there is one."""
        try:
            refuse_dynamic_function(self.place.function)
        except RefusedRefactoring as refused:
            return refused.refusal
        return None

    @cached_property
    def declared(self) -> frozenset[str]:
        return declared_names(self.place.function)

    @cached_property
    def reachable(self) -> frozenset[Node]:
        return self.flow.reachable_from([self.flow.graph.start])

    @cached_property
    def has_captures(self) -> bool:
        return any(event.kind is Kind.CAPTURE for node in self.flow.graph.nodes for event in node.events)

    @cached_property
    def written_by_closures(self) -> frozenset[str]:
        nested = (node for node in ast.walk(self.place.function) if isinstance(node, ast.Nonlocal))
        return frozenset(name for node in nested for name in node.names)

    @cached_property
    def names_ever_read(self) -> frozenset[str]:
        return frozenset[str]().union(*(names_read(statement) for statement in self.place.function.body))

    @cached_property
    def order_of_names(self) -> dict[str, int]:
        """Names as the function's parameters, then by where they are first spelled."""
        order: dict[str, int] = {}
        for argument in self.place.parameters:
            order.setdefault(argument.arg, len(order))
        spelled = (node for node in ast.walk(self.place.function) if isinstance(node, ast.Name))
        for node in sorted(spelled, key=lambda node: (node.lineno, node.col_offset)):
            order.setdefault(node.id, len(order))
        return order

    def facts_of(self, statement: ast.stmt) -> StatementFacts:
        if statement not in self._facts:
            self._facts[statement] = StatementFacts.of(statement)
        return self._facts[statement]

    def analyse(self, statements: Sequence[ast.stmt]) -> Extraction | Refused:
        """Return how consecutive statements of one block can be moved out, or why they cannot."""
        if self.refusal is not None:
            return self.refusal
        try:
            for statement in statements:
                if (refusal := self.facts_of(statement).refusal) is not None:
                    return refusal
            return _BlockAnalysis(self, statements).extraction()
        except RefusedRefactoring as refused:
            return refused.refusal


class _BlockAnalysis:
    def __init__(self, function: FunctionAnalysis, statements: Sequence[ast.stmt]) -> None:
        self.function = function
        self.flow = function.flow
        self.statements = list(statements)
        self.first, self.last = self.statements[0], self.statements[-1]
        self.lines = tuple(sorted({self.first.lineno, self.last.end_lineno or self.last.lineno}))
        self.facts = [function.facts_of(statement) for statement in statements]
        members = frozenset[ast.stmt]().union(*(facts.parts for facts in self.facts))
        self.inside = nodes_of_block(self.flow.graph, members, self.last)
        self.entry = self.flow.graph.entry_of[self.first]
        self.exit = self.flow.graph.exit_of[self.last]
        self.crossings = crossings_of(self.statements)
        self.bound_before = self.flow.bound_before(self.inside, self.entry)

    def refuse(self, code: str, message: str, lines: tuple[int, ...] = ()) -> RefusedRefactoring:
        return RefusedRefactoring(code, message, lines or self.lines)

    @cached_property
    def reached(self) -> frozenset[Node]:
        return self.flow.reachable_from([self.entry], self.inside)

    @cached_property
    def falls_through(self) -> bool:
        return any(self.exit in node.successors for node in self.reached)

    @cached_property
    def bound(self) -> int:
        total = 0
        for node in self.inside:
            total |= self.flow.bound_by(node)
        return total

    def extraction(self) -> Extraction:
        if self.entry not in self.function.reachable:
            raise self.refuse("unreachable", "no path leads to the block")
        self._refuse_suspension()
        form, jump = self._form()
        outputs = self._outputs(form, jump)
        if form is Form.IF_JUMP and outputs:
            form = Form.IF_NONE
        self._refuse_lost_bindings()
        inputs = self._inputs(outputs, jump if form is Form.IF_NONE else None)
        if form is Form.IF_NONE and len(outputs) == 1 and outputs & inputs and not self._are_something(outputs, jump):
            raise self.refuse("outputs_with_jump", f"{_list(outputs)} may be of before the block, and may be None")
        self._refuse_orphans(outputs)
        self._refuse_closures()
        read = frozenset[str]().union(*(facts.read for facts in self.facts))
        free = self.function.outer_names.among(read - self.function.declared)
        host = self._host(inputs | free)
        if host is not None:
            inputs, free = inputs - {host.first_parameter}, free - {host.first_parameter}
            free -= visible_to(host, self.function.place)
        if form is not Form.RETURN:
            self._refuse_keeping_alive(outputs)
        parameters, results = self._ordered(inputs | free), self._ordered(outputs)
        return Extraction(
            statements=tuple(self.statements),
            form=form,
            parameters=subject_first(parameters, results, self.statements),
            outputs=results,
            crossings=self.crossings,
            falls_through=self.falls_through,
            jump=jump,
            host=host,
        )

    def _refuse_suspension(self) -> None:
        if self.crossings.yields and isinstance(self.function.place.function, ast.AsyncFunctionDef):
            raise self.refuse("async_generator", "an asynchronous generator cannot delegate what it yields")
        for statement in self.statements:
            if type(statement).__name__ == "TypeAlias":
                raise self.refuse("type_alias", "the block defines a type alias")

    def _form(self) -> tuple[Form, Jump | None]:
        crossings = self.crossings
        settle = self.flow.graph.settle
        after = settle(self.exit)
        ends_function = after is self.flow.graph.end
        head = self._loop_head()
        jumps: list[Jump] = list(crossings.breaks)
        if crossings.continues and (head is None or after is not settle(head)):
            jumps += crossings.continues
        if not (ends_function and all(is_bare(node) for node in crossings.returns)):
            jumps += crossings.returns
        if not jumps:
            return Form.PLAIN, None
        only_returns = all(isinstance(node, ast.Return) for node in jumps)
        goes_on = self.falls_through or len(jumps) < len(crossings.lines)
        if only_returns and (not goes_on or ends_function):
            if all(is_bare(node) for node in crossings.returns):
                return Form.THEN_JUMP, jumps[0]
            return Form.RETURN, None
        kinds = {spelling_of(jump) for jump in jumps}
        if len(kinds) == 1 and is_constant(jumps[0]):
            form = Form.IF_JUMP if goes_on else Form.THEN_JUMP
            return form, jumps[0]
        if only_returns and all(is_never_none(node.value, self.function.place.locals) for node in crossings.returns):
            return Form.IF_RESULT, None
        kinds_text = ", ".join(sorted({type(jump).__name__.lower() for jump in jumps}))
        raise self.refuse("crosses_control_flow", f"the block leaves by {kinds_text} and otherwise", crossings.lines)

    def _loop_head(self) -> Node | None:
        loops = [parent for parent in self.function.parents[self.first] if isinstance(parent, Loop)]
        return self.flow.graph.loop_heads[loops[-1]] if loops else None

    def _exits(self) -> list[tuple[Node, Node]]:
        """Return the edges on which control leaves the block otherwise than by an exception."""
        return [
            (node, after)
            for node in self.reached
            for after in node.successors
            if after not in self.inside and (after in node.next or after is self.exit)
        ]

    def _outputs(self, form: Form, jump: Jump | None) -> frozenset[str]:
        exits = self._exits_but(jump) if form is Form.IF_JUMP else self._exits()
        wanted = self._wanted_at(exits)
        wanted_anywhere = self._wanted_at(self._exits())
        if not wanted_anywhere:
            return frozenset()
        names = self.flow.spelled(wanted_anywhere)
        # A tuple of two or more is never None, so that None can stand for the jump.
        is_told = len(names) > 1 or binds_no_none(self.statements, names, self.function.place)
        is_told = form is Form.IF_JUMP and (is_told or self._are_something(names, jump))
        tells_jump = is_told and not self._wanted_at(set(self._exits()) - set(exits))
        if form not in (Form.PLAIN, Form.THEN_JUMP) and not tells_jump:
            raise self.refuse("outputs_with_jump", f"the block binds {_list(names)} and may also leave by a jump")
        for node, after in exits:
            missing = wanted & ~self.flow.surely_bound_on(node, after)
            if missing:
                unbound = _list(self.flow.spelled(missing))
                raise self.refuse("maybe_unbound", f"{unbound} may be unbound after the block")
        for part in (part for statement in self.statements for part in own_nodes(statement)):
            if isinstance(part, Scope) and part.name in names:
                message = f"the block defines {part.name}, which is used after it"
                raise self.refuse("defines_function", message, (part.lineno,))
        return names

    def _exits_but(self, jump: Jump | None) -> list[tuple[Node, Node]]:
        return [(node, after) for node, after in self._exits() if not leaves(node, jump)]

    def _are_something(self, names: frozenset[str], jump: Jump | None) -> bool:
        """Return whether names are never None where the block goes on rather than jumps."""
        where = self.inside, self.entry, self._exits_but(jump), self.function.place.locals
        return all(is_surely_something(name, *where) for name in names)

    def _wanted_at(self, exits: Iterable[tuple[Node, Node]]) -> int:
        """Return the names that the block may bind and that may be read after some of its exits."""
        wanted = 0
        for node, after in exits:
            wanted |= (self.bound_before[node] | self.flow.bound_by(node)) & self.flow.live_at[after]
        return wanted

    def _inputs(self, outputs: frozenset[str], jump: Jump | None) -> frozenset[str]:
        wanted = {after: self.flow.bits(outputs) for _, after in self._exits_but(jump)}
        live = self.flow.live_inside(self.inside, wanted, swallowing=False)[self.entry]
        # What is read only if a context manager eats an exception may be unbound, if it always is.
        rarely = self.flow.live_inside(self.inside, wanted)[self.entry]
        live |= rarely & self.flow.maybe_bound_at[self.entry]
        # What nothing before the block binds is bound in the new function just as late, or not at all. The last
        # binding of an output may become a `return`: then the name would be looked up outside the new function.
        live &= self.flow.maybe_bound_at[self.entry] | ~self.bound | self.flow.bits(outputs)
        missing = live & ~self.flow.surely_bound_at[self.entry]
        if missing:
            raise self.refuse("maybe_unbound", f"{_list(self.flow.spelled(missing))} may be unbound before the block")
        inputs = self.flow.spelled(live)
        deleted = {event.name for node in self.inside for event in node.events if event.kind is Kind.DELETE}
        if deleted & inputs:
            raise self.refuse("deletes_name", f"the block deletes {_list(deleted & inputs)} of the function")
        return inputs

    def _refuse_lost_bindings(self) -> None:
        """Refuse what a handler could see of a block that raised half-way: a call that raises binds nothing."""
        for node in self.reached:
            before = self.bound_before[node] | self._bound_before_raising(node)
            for after in (*node.on_error, *node.on_swallow):
                is_lost = after not in self.inside and after is not self.exit
                lost = before & self.flow.live_at[after] if is_lost else 0
                if lost:
                    names = _list(self.flow.spelled(lost))
                    raise self.refuse("exception_visible", f"{names} may be read after the block raises")
        written = self.flow.spelled(self.bound) & self.function.declared
        names_bound = frozenset[str]().union(*(facts.bound for facts in self.facts))
        written |= names_bound & self.function.declared
        if written:
            raise self.refuse("declared_names", f"the block binds {_list(written)}, declared global or nonlocal")

    def _bound_before_raising(self, node: Node) -> int:
        """Return what a node may have bound when it raises: nothing, where it is one assignment to one name."""
        statement = node.statement
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            simple = isinstance(statement.targets[0], ast.Name)
        else:
            simple = isinstance(statement, ast.AugAssign | ast.AnnAssign) and isinstance(statement.target, ast.Name)
        single = sum(event.kind is not Kind.READ and event.kind is not Kind.CAPTURE for event in node.events) == 1
        return 0 if simple and single else self.flow.bound_by(node)

    def _refuse_orphans(self, outputs: frozenset[str]) -> None:
        """Refuse to take the only bindings of a name that is still read: it would come to mean a global one."""
        bound = self.flow.bits(argument.arg for argument in self.function.place.parameters)
        read = 0
        for node in self.flow.graph.nodes:
            if node not in self.inside:
                bound |= self.flow.bound_by(node)
                read |= self.flow.read_by(node)
        orphans = self.bound & ~self.flow.bits(outputs) & ~bound & read
        if orphans:
            raise self.refuse("maybe_unbound", f"{_list(self.flow.spelled(orphans))} would no longer be bound")

    def _refuse_closures(self) -> None:
        relevant = {event.name for node in self.inside for event in node.events}
        shared = relevant & self.function.written_by_closures
        if shared:
            raise self.refuse("closure", f"a nested function assigns {_list(shared)}")
        if not self.function.has_captures:
            return
        later = self.flow.reachable_from([after for _, after in self._exits()])
        bound_later = 0
        for node in later:
            bound_later |= self.flow.bound_by(node)
        for node in self.flow.graph.nodes:
            names = {event.name for event in node.events if event.kind is Kind.CAPTURE}
            if not names:
                continue
            if node in self.inside:
                clash = self.flow.bits(names) & bound_later
            else:
                clash = self.flow.bits(names) & self.bound if self._reaches_block(node) else 0
            if clash:
                raise self.refuse("closure", f"a nested function sees {_list(self.flow.spelled(clash))} change")

    def _reaches_block(self, node: Node) -> bool:
        return self.entry in self.flow.reachable_from([node])

    def _host(self, inputs: frozenset[str]) -> Host | None:
        host = self.function.host
        method_needed = any(facts.needs_class for facts in self.facts) and any(
            isinstance(parent, ast.ClassDef) for parent in self.function.place.parents
        )
        if host is None:
            if method_needed:
                raise self.refuse("needs_class", "the block uses super(), __class__ or a private name of its class")
            first = self.function.place.bound_parameter
            if first is not None and first in inputs:
                raise self.refuse("needs_class", f"no method can be called on {first} here")
            return None
        if method_needed and host.method is not self.function.place.function:
            raise self.refuse("needs_class", "a nested function uses super(), __class__ or a private name of its class")
        return host if method_needed or host.first_parameter in inputs else None

    def _refuse_keeping_alive(self, outputs: frozenset[str]) -> None:
        names = self.flow.spelled(self.bound) - outputs
        name = kept_alive(self.statements, names, self.function.names_ever_read)
        if name is not None:
            raise self.refuse("keeps_alive", f"{name} may keep its object alive until the function ends")

    def _ordered(self, names: frozenset[str]) -> tuple[str, ...]:
        order = self.function.order_of_names
        return tuple(sorted(names, key=lambda name: (order.get(name, len(order)), name)))


def _list(names: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(names))
