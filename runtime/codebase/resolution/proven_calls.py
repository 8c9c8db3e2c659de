"""Proves which definition a call means, from the type facts of the index.

A call is proven if a chain of scopes, imports, declared types, constructors, assignments, results and bases leads from
its receiver to a definition; `external` if it leads out of the repository; unproven else. Each proof carries its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Literal, NamedTuple, Protocol

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.records import CallsOf, SymbolRecord
from runtime.codebase.language_parts.type_facts import Call
from runtime.codebase.parsing.import_resolution import ImportResolver
from runtime.codebase.resolution.class_members import class_order
from runtime.codebase.resolution.facts_store import FactsStore
from runtime.codebase.resolution.overloads import best_overloads
from runtime.codebase.resolution.type_evaluation import Evaluator
from runtime.codebase.resolution.type_values import Step, Value
from runtime.primitives.sized_cache import SizedCache

MAX_PROVEN_CALLS = 20_000
MAX_OVERLOADS = 20
MAX_KEPT_CALLERS = 20_000

CallState = Literal["proven", "external", "unknown"]


class Target(NamedTuple):
    """Describes a definition that a call means: its file, the line of its name, and its qualified name."""

    file: str
    line: int
    qualified_name: str
    proof: tuple[Step, ...]
    symbol_id: int | None = None


class CallMeaning(NamedTuple):
    """Tells what a call means; `targets` are empty unless it is proven. Overloads are several targets."""

    state: CallState
    targets: tuple[Target, ...] = ()


_UNKNOWN = CallMeaning("unknown")
_EXTERNAL = CallMeaning("external")


class CallProofs:
    """Proves the calls of one generation of an index. Safe to use from several threads.

    `callers`: what `proven_links` has found of definitions; the unit of sizes is a row.
    """

    def __init__(self, index: IndexReader, make_resolver: Callable[[], ImportResolver]) -> None:
        self._store = FactsStore(index, make_resolver)
        self._evaluator = Evaluator(self._store)
        self._guard = RLock()
        self.callers: SizedCache[SymbolRecord, CallsOf] = SizedCache(MAX_KEPT_CALLERS)
        self._meanings: dict[tuple[str, int, int], CallMeaning] = {}

    @contextmanager
    def reading(self) -> Iterator[FactsStore]:
        """Lend the facts of the files to one thread at a time."""
        with self._guard:
            yield self._store

    def has_facts(self, file: str) -> bool:
        """Return True if the calls of a file can be proven: its language has type facts, and the file was parsed."""
        with self._guard:
            return self._store.facts(file) is not None

    def calls(self, file: str, first: int = 1, last: int = 1 << 30, name: str | None = None) -> list[Call]:
        """Return the calls in lines `first` to `last` (inclusive) of a file, of a name if one is given."""
        with self._guard:
            facts = self._store.facts(file)
        if facts is None:
            return []
        return [call for call in facts.calls if first <= call.line <= last and name in (None, call.name)]

    def meaning(self, file: str, call: Call) -> CallMeaning:
        """Return what a call means."""
        key = (file, call.line, call.column)
        with self._guard:
            known = self._meanings.get(key)
            if known is None:
                if len(self._meanings) > MAX_PROVEN_CALLS:
                    self._meanings.clear()
                self._evaluator.begin()
                known = self._meanings[key] = self._find(file, call)
            return known

    def _find(self, file: str, call: Call) -> CallMeaning:
        callee = self._evaluator.value(file, call.scope, call.callee)
        rules = self._store.rules(file)
        if callee is None or rules is None:
            return _UNKNOWN
        if callee.is_external:
            return _EXTERNAL
        if callee.kind in ("instance", "super") and rules.call_method:
            method = self._evaluator.member(callee, rules.call_method)
            callee = method if method is not None and method.kind == "function" else callee
        if callee.kind == "class" and rules.imports == "folder":
            return _EXTERNAL  # A conversion calls nothing.
        if callee.kind == "class":
            return self._constructed(file, callee, call, rules.constructor)
        if callee.kind != "function" or callee.name or not self._is_named(callee):
            return _UNKNOWN
        targets = tuple(sorted(self._targets(file, callee, call), key=lambda one: (one.file, one.line))[:MAX_OVERLOADS])
        return CallMeaning("proven", targets) if targets else _UNKNOWN

    def _is_named(self, callee: Value) -> bool:
        facts = self._store.facts(callee.file)
        return facts is not None and bool(facts.scopes[callee.scope].name.strip("<>"))

    def _constructed(self, asked_in: str, made: Value, call: Call, constructor: str) -> CallMeaning:
        targets = [self._target(made.file, made.scope, made)]
        own = self._evaluator.member(made._replace(kind="instance"), constructor) if constructor else None
        if own is not None and own.kind == "function" and not own.name:
            fitting = self._evaluator.fitting([(own.file, own.scope), *own.others], call.arguments)
            best = best_overloads(self._evaluator, asked_in, call, fitting)
            targets += [self._target(file, scope, made) for file, scope in best]
        return CallMeaning("proven", tuple(target for target in targets if target is not None))

    def _targets(self, asked_in: str, callee: Value, call: Call) -> Iterator[Target]:
        places = [(callee.file, callee.scope), *callee.others]
        fitting = self._evaluator.fitting(places, call.arguments)
        for file, scope in best_overloads(self._evaluator, asked_in, call, fitting):
            target = self._target(file, scope, callee)
            if target is not None:
                yield target

    def _target(self, file: str, scope: int, value: Value) -> Target | None:
        facts = self._store.facts(file)
        if facts is None:
            return None
        held = facts.scopes[scope]
        symbol = self._store.symbol_of(file, held.name, held.line)
        if symbol is not None:
            return Target(file, held.line, symbol.qualified_name, value.steps, symbol.id)
        names = [held.name]
        at = held.parent
        while at > 0:
            if facts.scopes[at].kind in ("class", "function", "extension") and facts.scopes[at].name:
                names.append(facts.scopes[at].name)
            at = facts.scopes[at].parent
        return Target(file, held.line, ".".join(reversed(names)), value.steps)

    def subclasses_define(self, target: Target, name: str) -> list[SymbolRecord]:
        """Return the definitions of a name in classes whose known bases include the class of a target."""
        with self._guard:
            self._evaluator.begin()
            found = []
            for symbol in self._store.index.symbols_of_name(name, 200):
                if symbol.name != name or symbol.id == target.symbol_id or not symbol.owner:
                    continue
                facts = self._store.facts(symbol.file)
                for place in facts.places(name, symbol.name_line) if facts is not None else ():
                    outer = facts.scopes[place].parent if facts is not None else -1
                    order = class_order(self._evaluator, symbol.file, outer) if outer > 0 else ()
                    if any(one is not None and self._defines(one, target) for one in order[1:]):
                        found.append(symbol)
            return found

    def _defines(self, one: Value, target: Target) -> bool:
        facts = self._store.facts(one.file) if one.kind == "class" else None
        if facts is None or one.file != target.file:
            return False
        held = facts.scopes[one.scope]
        return held.line <= target.line <= held.end_line


class ReadCode(Protocol):
    """Gives access to the proofs and the texts of a repository, as a codebase does."""

    @property
    def proofs(self) -> CallProofs:
        """Return what calls are proven to mean."""

    def try_source(self, path: str) -> SourceText | None:
        """Return the text of a file; None if it cannot be read."""


def proven_target(codebase: ReadCode, file: str, line: int, column: int) -> tuple[Target, ...] | None:
    """Return the definitions that a call of a name means; None if it is not proven to mean one of the repository.

    `file` is relative to the root, `line` is counted from 1, `column` of the name from 0. Overloads that its arguments
    do not tell apart are all returned; a call of a class returns the class, then its constructor.
    """
    proofs = codebase.proofs
    calls = proofs.calls(file, line, line)
    source = codebase.try_source(file)
    text = source.lines[line - 1] if source is not None and line <= len(source.lines) else ""
    in_bytes = len(text[:column].encode("utf-8", "replace"))
    call = next((one for one in calls if one.column in (in_bytes, column)), None)
    if call is None:
        return None
    return proofs.meaning(file, call).targets or None
