"""Parses within a limit of processor time.

Grammars take time quadratic in some texts: Python's in the comments of an indented block, most in what they cannot
read. A query takes time quadratic in the depth of a tree, so that none starts deeper than a thousand nodes. It cannot
be stopped as parsing can: with a progress callback of its own, tree-sitter 0.26.1 ends the process. Nor can what the
parser does at the end of a text whose brackets stay open, which takes memory quadratic in their number: 16 KB of
`%w(` take 7.7 GB in Java. So many open brackets are not parsed at all, and a text that was too much for a process that
indexes (`refuse`) is parsed nowhere. Texts that no index has tried may do the same without a bracket, as 16 KB of `x=>`
in C: a process that must not end has them tried in another one (`try_first`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime.codebase.parsing.broken_trees import BrokenTreeError
from runtime.primitives.sized_cache import SizedCache

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, QueryCursor, Tree

MAX_PARSE_S = 10.0
# Of 12,904 files in 14 languages none took more than a seventh of what these give it.
LEAST_PARSE_S = 1.0
PARSE_S_PER_BYTE = 1e-5
# The same files have at most 337 open at once; a thousand take up to 0.3 GB.
MAX_OPEN_BRACKETS = 1_000
MAX_QUERY_DEPTH = 1_000
MAX_SLOW_SOURCES = 1_000
# The slowest text of this size takes two seconds.
UNCHECKED_BYTES = 4_000
MAX_TRIED_SOURCES = 10_000
# A shorter text takes a tenth of a gigabyte; 4,000 bytes of `/*` take Python's grammar more than one.
UNTRIED_BYTES = 1_000
_PAIRS = (b"()", b"[]", b"{}")
_ALL_BUT = {pair: bytes(set(range(256)) - set(pair)) for pair in _PAIRS}


Trial = Callable[["Language", bytes], str | None]
"""Returns why a text is not to be parsed in this process; None if it may be."""


class SlowSourceError(BrokenTreeError):
    """Reports a text that takes longer than the limit to parse or to query, or would take too much memory."""


class ParseLimit:
    """Limits the processor time of parsing one text, and remembers those that exceeded it; serves several threads."""

    def __init__(
        self,
        max_s: float = MAX_PARSE_S,
        clock: Callable[[], float] = time.thread_time,
        *,
        least_s: float = LEAST_PARSE_S,
    ) -> None:
        """Configure the limit: `least_s` and 10 us for each byte of a text, at most `max_s`.

        `clock` gives the seconds of processor time of the calling thread.
        """
        self._max_s = max_s
        self._least_s = least_s
        self._clock = clock
        self._refused: SizedCache[bytes, str] = SizedCache(MAX_SLOW_SOURCES)
        self._trial: Trial | None = None
        self._passed: SizedCache[bytes, str] = SizedCache(MAX_TRIED_SOURCES)

    def try_first(self, trial: Trial) -> None:
        """Have each larger text tried once before it is parsed, and refused with the reason that `trial` gives."""
        self._trial = trial

    def limit_s(self, source: bytes) -> float:
        """Return the seconds of processor time that parsing and querying a text may take, inclusive."""
        return min(self._max_s, self._least_s + len(source) * PARSE_S_PER_BYTE)

    def refuse(self, source: bytes, why: str) -> None:
        """Have `parse` and `parse_once` raise SlowSourceError for a text from now on, with that reason."""
        self._refused.put(_digest(source), why, 1)

    def parse(self, grammar: Language, source: bytes) -> LimitedTree:
        """Return the tree of a text; SlowSourceError if it takes longer than the limit, or is not to be parsed."""
        import tree_sitter

        start_s = self._start(grammar, source)
        if len(source) > UNCHECKED_BYTES:
            self._parse_checked(grammar, source, start_s)
        # Nodes of a tree parsed with a callback read their texts through it, which takes long.
        tree = tree_sitter.Parser(grammar).parse(source)
        return LimitedTree(self, tree, source, start_s)

    def parse_once(self, grammar: Language, source: bytes) -> LimitedTree:
        """Return the tree of a text as `parse` does, in half the time; `text_of` is fast within `texts_from` alone."""
        start_s = self._start(grammar, source)
        return LimitedTree(self, self._parse_checked(grammar, source, start_s), source, start_s)

    def require_in_time(self, source: bytes, start_s: float) -> None:
        """Raise SlowSourceError if what began at `start_s` took longer than the limit."""
        if self._clock() - start_s > (limit_s := self.limit_s(source)):
            why = f"it takes more than {limit_s:.3g} s to parse: read as text"
            self.refuse(source, why)
            raise SlowSourceError(why)

    def _start(self, grammar: Language, source: bytes) -> float:
        why = self._refused.get(_digest(source)) if len(self._refused) else None
        if why is None and has_too_many_open(source):
            why = f"more than {MAX_OPEN_BRACKETS} brackets of a kind are open at once: read as text"
        if why is None and self._trial is not None and len(source) > UNTRIED_BYTES:
            why = self._tried(self._trial, grammar, source)
        if why is not None:
            raise SlowSourceError(why)
        return self._clock()

    def _tried(self, trial: Trial, grammar: Language, source: bytes) -> str | None:
        digest = _digest(source)
        if self._passed.get(digest) is not None:
            return None
        why = trial(grammar, source)
        if why is None:
            self._passed.put(digest, "", 1)
        else:
            self.refuse(source, why)
        return why

    def _parse_checked(self, grammar: Language, source: bytes, start_s: float) -> Tree:
        import tree_sitter

        clock, end_s = self._clock, start_s + self.limit_s(source)
        # A parser of its own: other threads may run while the callbacks do.
        parser = tree_sitter.Parser(grammar)
        try:
            tree = parser.parse(_reader(source), progress_callback=lambda _at, _has_error: clock() > end_s)
        except ValueError:
            self.require_in_time(source, start_s)
            raise
        self.require_in_time(source, start_s)
        return tree


class LimitedTree:
    """Holds a tree and queries it; what exceeds the limit together with parsing raises SlowSourceError."""

    def __init__(self, limit: ParseLimit, tree: Tree, source: bytes, start_s: float) -> None:
        self.tree = tree
        self._limit = limit
        self._source = source
        self._start_s = start_s

    @property
    def root(self) -> Node:
        """The node of the whole text."""
        return self.tree.root_node

    def captures(self, query: Query) -> dict[str, list[Node]]:
        """Return the captures of a query by name."""
        found = _cursor(query).captures(self.root)
        self._limit.require_in_time(self._source, self._start_s)
        return found

    def matches(self, query: Query, **options: Any) -> list[tuple[int, dict[str, list[Node]]]]:
        """Return the matches of a query, each with the position of its pattern."""
        found = _cursor(query, **options).matches(self.root)
        self._limit.require_in_time(self._source, self._start_s)
        return found


def has_too_many_open(source: bytes, most: int = MAX_OPEN_BRACKETS) -> bool:
    """Return whether more than `most` brackets of one kind are open somewhere in a text, wherever they stand in it.

    What closes more than is open closes nothing. Those in strings and comments count, of which few stay open.
    """
    return any(source.count(pair[:1]) > most and _most_open(source, pair) > most for pair in _PAIRS)


def _most_open(source: bytes, pair: bytes) -> int:
    opening, is_open, most = pair[0], 0, 0
    for byte in source.translate(None, _ALL_BUT[pair]):
        is_open = is_open + 1 if byte == opening else max(0, is_open - 1)
        most = max(most, is_open)
    return most


def _cursor(query: Query, **options: Any) -> QueryCursor:
    import tree_sitter

    cursor = tree_sitter.QueryCursor(query, **options)
    cursor.set_max_start_depth(MAX_QUERY_DEPTH)
    return cursor


def _reader(source: bytes) -> Callable[[int, object], bytes]:
    """Return what reads a text: all of it for the parser, then little at once for the texts of nodes."""
    size, following = len(source), -1

    def read(at: int, _point: object) -> bytes:
        nonlocal size, following
        if following < 0:
            following = size
            return source[at:]
        size = 2 * size if at == following else 64
        following = at + size
        return source[at:following]

    return read


def _digest(source: bytes) -> bytes:
    return hashlib.blake2b(source, digest_size=16).digest()


# The limit of the process, shared by all that parse in it.
PARSE_LIMIT = ParseLimit()
