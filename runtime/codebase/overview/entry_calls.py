"""Finds the calls by which a program that is started goes into its parts.

From the function where it is entered, calls that are proven to mean a function of another part are listed, one for each
part; a function that hands on to another one is followed, and each step is a call with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from runtime.codebase.files.words import split_identifier
from runtime.codebase.index.records import Callee, SymbolRecord
from runtime.codebase.language_registry import language_at

LEAST_PARTS = 2
ENOUGH_PARTS, ENOUGH_TO_CHOOSE = 3, 4
MAX_CALLERS_READ = 6
MAX_HELPERS_READ = 4
MAX_STEPS = 3
MAX_CALLED = 8
RUNS = 2
# What is done at the end, and calls that only report, tell less than what a part is entered by.
_ENDING = frozenset(
    {
        "close",
        "free",
        "delete",
        "destroy",
        "done",
        "teardown",
        "tear",
        "cleanup",
        "clean",
        "shutdown",
        "stop",
        "release",
    }
    | {
        "reset",
        "restore",
        "exit",
        "print",
        "log",
        "usage",
        "version",
        "err",
        "error",
        "warn",
        "warning",
        "fatal",
        "die",
        "debug",
    }
)
_RUNNING = frozenset({"run", "main", "start", "serve", "listen", "execute", "launch", "loop", "process", "handle"})
_BEGINNING = frozenset(
    {"new", "create", "init", "initialize", "load", "open", "read", "parse", "build", "make", "setup", "connect", "get"}
)

Callees = Callable[[SymbolRecord], Iterable[Callee]]


@dataclass(frozen=True, slots=True)
class Called:
    """Represents a call at a `line` of a `file` of `name`, which the part `part` defines."""

    file: str
    line: int
    name: str
    part: str


@dataclass(frozen=True, slots=True)
class EntryCalls:
    """Holds the calls of one function (`caller` in `file`) into parts; `steps`: the calls that lead from `entry` to it.

    Of a short program without functions, both are its file. `of_helper`: the calls into further parts of `helper`, a
    function of the same part that the caller calls.
    """

    entry: str
    caller: str
    file: str
    steps: tuple[Called, ...]
    calls: tuple[Called, ...]
    helper: str = ""
    of_helper: tuple[Called, ...] = ()


def entry_calls(
    entry: SymbolRecord, callees: Callees, parts: Mapping[str, str], ranks: Mapping[str, int]
) -> EntryCalls | None:
    """Return the calls into other parts of the first function on the way from an entry that makes several.

    `parts`: the part of each file; `ranks`: the place of each part, of which too many calls are told the first ones.
    """
    best: EntryCalls | None = None
    seen = {entry.id}
    made: dict[str, list[Callee]] = {}
    ways: list[tuple[SymbolRecord, tuple[Called, ...]]] = [(entry, ())]
    for _ in range(MAX_CALLERS_READ):
        if not ways:
            break
        caller, steps = ways.pop(0)
        found = [callee for callee in callees(caller) if callee.definition is not None]
        made.setdefault(_shown(caller), found)
        calls = tuple(_by_part(caller, found, parts, ranks))
        if len(calls) > (len(best.calls) if best else LEAST_PARTS - 1):
            best = EntryCalls(_shown(entry), _shown(caller), caller.file, steps, calls)
        if len(calls) >= ENOUGH_PARTS:
            break
        if len(steps) < MAX_STEPS:
            further = [(callee.definition, callee.line) for callee in found if callee.definition is not None]
            for symbol, line in further:
                if symbol.id not in seen and symbol.kind in {"function", "method"} and not _is_ending(symbol.name):
                    seen.add(symbol.id)
                    step = Called(caller.file, line, _shown(symbol), parts.get(symbol.file, ""))
                    ways.append((symbol, (*steps, step)))
    if best is None or len(best.calls) >= ENOUGH_PARTS:
        return best
    return _with_helper(best, made.get(best.caller, ()), callees, parts, ranks)


def _with_helper(
    found: EntryCalls,
    called: Iterable[Callee],
    callees: Callees,
    parts: Mapping[str, str],
    ranks: Mapping[str, int],
) -> EntryCalls:
    """Add the calls of one function of the same part that go into parts that the caller does not call itself."""
    own = parts.get(found.file, "")
    known = {one.part for one in found.calls}
    helpers = [one.definition for one in called if one.definition is not None]
    helpers = [one for one in helpers if parts.get(one.file, "") == own and one.kind in {"function", "method"}]
    best: tuple[str, tuple[Called, ...]] = ("", ())
    for helper in helpers[:MAX_HELPERS_READ]:
        defined = [callee for callee in callees(helper) if callee.definition is not None]
        calls = tuple(one for one in _by_part(helper, defined, parts, ranks) if one.part not in known)
        if len(calls) > len(best[1]):
            best = (_shown(helper), calls)
    return replace(found, helper=best[0], of_helper=best[1])


def _shown(symbol: SymbolRecord) -> str:
    """Return how a function is called: in C by its name alone."""
    return symbol.name if language_at(symbol.file).name == "c" else symbol.qualified_name


def _is_ending(name: str) -> bool:
    return not _ENDING.isdisjoint(split_identifier(name))


def _begins(name: str) -> int:
    """Return `RUNS` for a name that says that something runs, 1 for one that something begins, else 0."""
    words = split_identifier(name)
    return RUNS if not _RUNNING.isdisjoint(words) else int(not _BEGINNING.isdisjoint(words))


def _by_part(
    caller: SymbolRecord, found: Iterable[Callee], parts: Mapping[str, str], ranks: Mapping[str, int]
) -> Iterator[Called]:
    """Yield one call for each other part, by line: one that begins something rather than one that ends it."""
    own = parts.get(caller.file, "")
    by_part: dict[str, Callee] = {}
    for callee in found:
        part = parts.get(callee.definition.file, "") if callee.definition is not None else ""
        if part and part != own and not _is_ending(callee.name):
            known = by_part.get(part)
            if known is None or _begins(callee.name) > _begins(known.name):
                by_part[part] = callee
    begun = [part for part, callee in by_part.items() if _begins(callee.name)]
    by_part = {part: by_part[part] for part in begun} if len(begun) >= ENOUGH_TO_CHOOSE else by_part
    last = len(ranks)
    runs = {part for part, callee in by_part.items() if _begins(callee.name) == RUNS}
    kept = sorted(by_part, key=lambda part: (part not in runs, ranks.get(part, last), part))[:MAX_CALLED]
    for part in sorted(kept, key=lambda part: by_part[part].line):
        callee = by_part[part]
        name = _shown(callee.definition) if callee.definition is not None else callee.name
        yield Called(caller.file, callee.line, name, part)
