"""Declares the tool `trace_entry_point`: the definitions that an entry point reaches along its calls.

An entry point is a symbol, a file (its `main`, or else its top-level functions and classes), or, if none is named, the
likeliest one of the repository. Calls are followed breadth first and each definition is visited once.
"""

from __future__ import annotations

import functools
import re
from collections import deque
from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.records import Callee, SymbolRecord
from runtime.codebase.parsing.syntax import CALLABLE_KINDS
from runtime.codebase.tool_parts.citing import add_citation, cite, cite_symbol
from runtime.codebase.tool_parts.fallbacks import similar_paths
from runtime.codebase.tool_registry import CodeTool, Text, by_fields
from runtime.errors import RepositoryError
from runtime.tools.result import ToolStatus

MAX_DEPTH = 10
MAX_STEPS = 60
# Calls of one definition that are read: all of any that is not generated.
MAX_CALLS = 1_000
# Names told in each of `outside` and `unproven`.
MAX_NAMES = 200
# Definitions of a file that are entered where it has no `main`.
MAX_STARTS = 25
MAX_ENTRY_POINTS = 30

# Decorators and attributes that mark entry points: CLI commands, routes, tasks and event handlers.
_MARKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("route", re.compile(r"@\w*(?:app|router|api|blueprint|bp)\w*\.(?:route|get|post|put|delete|patch|websocket)\b")),
    ("route", re.compile(r"@(?:Get|Post|Put|Delete|Patch|Request)Mapping\b|\[Http(?:Get|Post|Put|Delete|Patch)\b")),
    ("command", re.compile(r"@\w+(?:\.\w+)*\.(?:command|group|callback)\b|@click\.|@app\.default\b")),
    ("task", re.compile(r"@(?:\w+\.)?(?:task|shared_task|actor|job|periodic_task)\b")),
    ("handler", re.compile(r"@(?:\w+\.)?(?:on_event|event|listener|EventListener|receiver|handler|subscribe)\b")),
)
# A definition, its depth, its caller's name and the call.
_Visit = tuple[SymbolRecord, int, str | None, Callee | None]

_MAIN_NAMES = ("main", "Main", "__main__")


class TraceEntryPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What does `entry` (a symbol or a file) call? Without it: the entry points of the repository."""

    entry: Text | None = None
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=10)] = 3


def trace_entry_point(codebase: Codebase, entry: str | None = None, max_depth: int = 3) -> ToolResult:
    """Trace the calls of an entry point, at most `max_depth` calls deep (1 to 10) and 60 definitions in all.

    `entry`: a symbol or a file; None lists the entry points of the repository and traces the first. `data`: asked,
    entry {symbol, file, start_line, end_line}, entry_points [{symbol, kind, file, line, citation}], steps [{depth,
    symbol, file, start_line, end_line, called_by, line, by_name (always False), proof [{kind, file, line}], citation}]
    breadth first, along proven calls alone; outside [names called that are not defined here], unproven [names called
    whose receiver is not known], at most 200 each. Proven calls are all followed before a limit of names counts. Status
    `partial` if a limit cut the trace, a list of names or the entry points; `not_found` if nothing matches.
    """
    log = AttemptLog(codebase.max_retries)
    trace = _Trace(codebase, max(1, min(max_depth, MAX_DEPTH)))
    try:
        start = _starts(codebase, entry, log, trace)
    except RepositoryError as error:
        return log.result("denied", {"asked": entry}, [], error=error.message)
    if not start:
        missing = (
            f"nothing to enter by is named {entry}" if entry else "the repository has no entry point that is known"
        )
        return log.result("not_found", {"asked": entry}, [], error=missing)
    log.run("calls", lambda: trace.follow(start))
    data = {
        "asked": entry,
        "entry": _place(start[0]),
        "entry_points": trace.entry_points,
        "steps": trace.steps,
        "outside": trace.names(trace.outside),
        "unproven": trace.names(trace.unproven),
    }
    status: ToolStatus = "partial" if trace.cut else "ok"
    return log.result(status, data, trace.citations, truncated=trace.cut)


def _starts(codebase: Codebase, entry: str | None, log: AttemptLog, trace: _Trace) -> list[SymbolRecord]:
    if not entry:
        points = log.run("entry_points", lambda: entry_points(codebase), "not_found")
        trace.list_entry_points(points)
        return [points[0][1]] if points else []
    found = log.run("symbol_index", lambda: _callables(codebase.symbols_named(entry, limit=20)), "not_found")
    if found:
        return found[:1]
    inside = log.run("path", lambda: _of_file(codebase, entry, trace), "not_found")
    if inside:
        return inside
    partial = log.retry(
        "partial_symbol", lambda: _callables(codebase.symbols_named(entry, fuzzy=True, limit=20)), "not_found"
    )
    return partial[:1]


def _callables(symbols: list[SymbolRecord]) -> list[SymbolRecord]:
    return [symbol for symbol in symbols if symbol.kind in CALLABLE_KINDS or symbol.kind == "class"]


def _of_file(codebase: Codebase, path: str, trace: _Trace) -> list[SymbolRecord]:
    """Return the entry points of a file: its `main`, else its top-level functions and classes, at most 25."""
    file = codebase.relative(path)
    if codebase.file(file) is None:
        near = similar_paths(file, codebase.readable_paths())
        if not near:
            return []
        file = near[0]
    functions = [symbol for symbol in _callables(codebase.symbols_in(file)) if not symbol.owner]
    mains = [symbol for symbol in functions if symbol.name in _MAIN_NAMES]
    trace.cut = not mains and len(functions) > MAX_STARTS
    return mains[:1] or functions[:MAX_STARTS]


def entry_points(codebase: Codebase) -> list[tuple[str, SymbolRecord]]:
    """Return (kind, definition) of mains, commands, routes, tasks and handlers; source files first, then by kind."""
    found = [("main", symbol) for name in _MAIN_NAMES for symbol in codebase.symbols_named(name, limit=50)]
    found = [(kind, symbol) for kind, symbol in found if symbol.kind in CALLABLE_KINDS]
    decorated = codebase.index.references("r.kind = 'decorator'", (), limit=2_000)
    source_of = functools.lru_cache(maxsize=1)(codebase.try_source)  # they come file by file
    for use in decorated:
        kind = _kind_of_mark(source_of(use.file), use.line)
        if kind is not None:
            below = codebase.index.symbols(
                "f.path = ? AND s.start_line <= ? AND s.name_line > ?", (use.file, use.line, use.line), 5
            )
            found += [(kind, symbol) for symbol in below if symbol.kind in CALLABLE_KINDS][-1:]
    unique = {symbol.id: (kind, symbol) for kind, symbol in reversed(found)}
    return sorted(unique.values(), key=_order)


def _order(point: tuple[str, SymbolRecord]) -> tuple[bool, int, int, str, int]:
    kind, symbol = point
    kinds = ("main", "command", "route", "task", "handler")
    is_aside = kind_of_path(symbol.file) != "source"
    return (is_aside, kinds.index(kind), symbol.file.count("/"), symbol.file, symbol.start_line)


def _kind_of_mark(source: SourceText | None, line: int) -> str | None:
    if source is None or line > len(source.lines):
        return None
    text = source.lines[line - 1][:400]
    return next((kind for kind, pattern in _MARKS if pattern.search(text)), None)


def _place(symbol: SymbolRecord) -> dict[str, Any]:
    return {
        "symbol": symbol.qualified_name,
        "file": symbol.file,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
    }


class _Trace:
    def __init__(self, codebase: Codebase, max_depth: int) -> None:
        self._codebase = codebase
        self._max_depth = max_depth
        self.citations: list[Citation] = []
        self.entry_points: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.outside: set[str] = set()
        self.unproven: set[str] = set()
        self.cut = False

    def list_entry_points(self, points: list[tuple[str, SymbolRecord]]) -> None:
        """Add rows for the entry points of the repository, at most 30."""
        self.cut = len(points) > MAX_ENTRY_POINTS
        for kind, symbol in points[:MAX_ENTRY_POINTS]:
            made = cite(
                self._codebase,
                symbol.file,
                symbol.name_line,
                symbol.name_line,
                why=f"{kind} entry point",
                symbol=symbol.qualified_name,
            )
            row = {"symbol": symbol.qualified_name, "kind": kind, "file": symbol.file, "line": symbol.name_line}
            self.entry_points.append(row | {"citation": add_citation(self.citations, made)})

    def follow(self, starts: list[SymbolRecord]) -> list[dict[str, Any]]:
        """Visit what the starts reach; fills `steps`, `outside` and `citations`."""
        waiting: deque[_Visit] = deque((symbol, 0, None, None) for symbol in starts)
        seen = {symbol.id for symbol in starts}
        while waiting:
            symbol, depth, caller, call = waiting.popleft()
            if len(self.steps) == MAX_STEPS:
                self.cut = True
                break
            self._step(symbol, depth, caller, call)
            callees = self._codebase.callees(symbol, limit=MAX_CALLS + 1)
            self.cut = self.cut or len(callees) > MAX_CALLS
            self.outside.update(callee.name for callee in callees if callee.state == "external")
            self.unproven.update(callee.name for callee in callees if callee.state == "unknown")
            fresh = [c for c in callees if c.definition is not None and c.definition.id not in seen]
            if depth == self._max_depth:
                self.cut = self.cut or bool(fresh)
                continue
            for callee in fresh:
                target = callee.definition
                if target is not None and target.id not in seen:
                    seen.add(target.id)
                    waiting.append((target, depth + 1, symbol.qualified_name, callee))
        return self.steps

    def names(self, found: set[str]) -> list[str]:
        """Return names in order, at most 200; more are a cut."""
        self.cut = self.cut or len(found) > MAX_NAMES
        return sorted(found)[:MAX_NAMES]

    def _step(self, symbol: SymbolRecord, depth: int, caller: str | None, call: Callee | None) -> None:
        why = f"is entered at line {symbol.name_line}" if caller is None else f"is called by {caller}"
        made = cite_symbol(self._codebase, symbol, why)
        proof = [{"kind": kind, "file": file, "line": line} for kind, file, line in (call.proof if call else ())]
        said = {"called_by": caller, "line": call and call.line, "proof": proof}
        self.steps.append({"depth": depth, **_place(symbol), **said, "citation": add_citation(self.citations, made)})


TOOL = CodeTool(
    name="trace_entry_point",
    description="What an entry point reaches along its calls.",
    parameters=TraceEntryPoint,
    run=by_fields(trace_entry_point),
    reduced={"max_depth": 1},
    capped_by={"max_depth": "max_traversal_depth"},
    cost=5,
    isolation="in_process",
    place=40,
    example={"entry": "main"},
)
