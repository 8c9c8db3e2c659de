"""Keeps the bounded traversal state of a session (L3); the oldest entries are evicted first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from actors.capabilities.code_analysis.session.entity_graph import EntityGraph
from actors.capabilities.code_analysis.session.entity_graph import bounded as bounded_graph
from runtime.codebase.files.path_kinds import kind_of_path

MAX_FILES = 100
MAX_SYMBOLS = 200
MAX_SNIPPETS = 50
MAX_CALLS = 20
MAX_PENDING = 20
MAX_PATTERNS = 20

T = TypeVar("T")


class Snippet(msgspec.Struct, frozen=True):
    """Holds lines that an answer of the session cited."""

    file: str
    start_line: int
    end_line: int
    quote: str = ""


class TraversalState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records what the questions of one session have touched so far; the newest entries are last."""

    session_id: str | None = None
    query_intent: str = ""
    scope_path: str = "."
    explored_files: tuple[str, ...] = ()
    explored_symbols: tuple[str, ...] = ()
    pending_files: tuple[str, ...] = ()
    pending_symbols: tuple[str, ...] = ()
    relevant_snippets: tuple[Snippet, ...] = ()
    call_chain: tuple[str, ...] = ()
    current_loop: int = 0
    tokens_used: int = 0
    detected_languages: tuple[str, ...] = ()
    repo_patterns: tuple[str, ...] = ()
    graph: EntityGraph = EntityGraph()


class Explored(msgspec.Struct, frozen=True):
    """Records what one run touched, in order."""

    intent: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    pending_files: tuple[str, ...] = ()
    pending_symbols: tuple[str, ...] = ()
    snippets: tuple[Snippet, ...] = ()
    calls: tuple[str, ...] = ()
    passes: int = 0
    tokens: int = 0
    languages: tuple[str, ...] = ()
    scope: str = ""
    patterns: tuple[str, ...] = ()


def read_state(written: object, session_id: str | None) -> TraversalState:
    """Read a session's stored state; return a new one when it is missing or unreadable."""
    try:
        state = msgspec.convert(written, TraversalState) if isinstance(written, Mapping) else TraversalState()
    except msgspec.ValidationError:
        state = TraversalState()
    return for_session(state, session_id)


def for_session(state: TraversalState, session_id: str | None) -> TraversalState:
    """Bound a state and assign it to a session."""
    return msgspec.structs.replace(bounded(state), session_id=session_id)


def grown(state: TraversalState, run: Explored) -> TraversalState:
    """Add what a run touched to the state; pending entries that have been explored are removed."""
    files = _newest((*state.explored_files, *run.files), MAX_FILES)
    symbols = _newest((*state.explored_symbols, *run.symbols), MAX_SYMBOLS)
    return msgspec.structs.replace(
        state,
        query_intent=run.intent or state.query_intent,
        scope_path=run.scope or state.scope_path,
        explored_files=files,
        explored_symbols=symbols,
        pending_files=_newest(_without((*state.pending_files, *run.pending_files), files), MAX_PENDING),
        pending_symbols=_newest(_without((*state.pending_symbols, *run.pending_symbols), symbols), MAX_PENDING),
        relevant_snippets=_newest((*state.relevant_snippets, *run.snippets), MAX_SNIPPETS),
        call_chain=_newest((*state.call_chain, *run.calls), MAX_CALLS),
        current_loop=run.passes,
        tokens_used=state.tokens_used + run.tokens,
        detected_languages=_newest((*state.detected_languages, *run.languages), MAX_PATTERNS),
        repo_patterns=_newest((*state.repo_patterns, *run.patterns), MAX_PATTERNS),
    )


def patterns_of(files: Iterable[str]) -> tuple[str, ...]:
    """Return kind and top folder of the files that are not source, each once: `test: tests/`."""
    named = ((kind_of_path(file), file.partition("/")[0] + "/" if "/" in file else file) for file in files)
    return tuple(dict.fromkeys(f"{kind}: {place}" for kind, place in named if kind != "source"))


def bounded(state: TraversalState) -> TraversalState:
    """Limit each list of the state to its newest distinct entries."""
    return msgspec.structs.replace(
        state,
        explored_files=_newest(state.explored_files, MAX_FILES),
        explored_symbols=_newest(state.explored_symbols, MAX_SYMBOLS),
        pending_files=_newest(state.pending_files, MAX_PENDING),
        pending_symbols=_newest(state.pending_symbols, MAX_PENDING),
        relevant_snippets=_newest(state.relevant_snippets, MAX_SNIPPETS),
        call_chain=_newest(state.call_chain, MAX_CALLS),
        detected_languages=_newest(state.detected_languages, MAX_PATTERNS),
        repo_patterns=_newest(state.repo_patterns, MAX_PATTERNS),
        graph=bounded_graph(state.graph),
    )


def _newest(items: Iterable[T], limit: int) -> tuple[T, ...]:
    """Return each item once, at its last position; at most the last `limit` of them."""
    last = list(dict.fromkeys(reversed(list(items))))
    return tuple(reversed(last[:limit]))


def _without(items: Iterable[str], done: Iterable[str]) -> list[str]:
    known = set(done)
    return [item for item in items if item not in known]
