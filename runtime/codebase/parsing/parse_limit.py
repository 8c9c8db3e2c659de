"""Parses within a limit of processor time.

Grammars take time quadratic in some texts: Python's in the comments of an indented block, most in what they cannot
read. A query takes time quadratic in the depth of a tree, so that none starts deeper than a thousand nodes. It cannot
be stopped as parsing can: with a progress callback of its own, tree-sitter 0.26.1 ends the process.
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
MAX_QUERY_DEPTH = 1_000
MAX_SLOW_SOURCES = 1_000
# The slowest text of this size takes two seconds.
UNCHECKED_BYTES = 4_000


class SlowSourceError(BrokenTreeError):
    """Reports a text that takes longer than the limit to parse or to query."""


class ParseLimit:
    """Limits the processor time of parsing one text, and remembers those that exceeded it; serves several threads."""

    def __init__(self, max_s: float = MAX_PARSE_S, clock: Callable[[], float] = time.thread_time) -> None:
        """Configure the limit; `clock` gives the seconds of processor time of the calling thread."""
        self.max_s = max_s
        self._clock = clock
        self._slow: SizedCache[bytes, bool] = SizedCache(MAX_SLOW_SOURCES)

    def parse(self, grammar: Language, source: bytes) -> LimitedTree:
        """Return the tree of a text; SlowSourceError if it takes longer than the limit."""
        import tree_sitter

        start_s = self._start(source)
        if len(source) > UNCHECKED_BYTES:
            self._parse_checked(grammar, source, start_s)
        # Nodes of a tree parsed with a callback read their texts through it, which takes long.
        tree = tree_sitter.Parser(grammar).parse(source)
        return LimitedTree(self, tree, source, start_s)

    def parse_once(self, grammar: Language, source: bytes) -> LimitedTree:
        """Return the tree of a text as `parse` does, in half the time; `text_of` is fast within `texts_from` alone."""
        start_s = self._start(source)
        return LimitedTree(self, self._parse_checked(grammar, source, start_s), source, start_s)

    def require_in_time(self, source: bytes, start_s: float) -> None:
        """Raise SlowSourceError if what began at `start_s` took longer than the limit."""
        if self._clock() - start_s > self.max_s:
            self._slow.put(_digest(source), True, 1)
            raise self._error()

    def _start(self, source: bytes) -> float:
        if len(self._slow) and self._slow.get(_digest(source)):
            raise self._error()
        return self._clock()

    def _parse_checked(self, grammar: Language, source: bytes, start_s: float) -> Tree:
        import tree_sitter

        clock, end_s = self._clock, start_s + self.max_s
        # A parser of its own: other threads may run while the callbacks do.
        parser = tree_sitter.Parser(grammar)
        try:
            tree = parser.parse(_reader(source), progress_callback=lambda _at, _has_error: clock() > end_s)
        except ValueError:
            self.require_in_time(source, start_s)
            raise
        self.require_in_time(source, start_s)
        return tree

    def _error(self) -> SlowSourceError:
        return SlowSourceError(f"it takes more than {self.max_s:g} s to parse: read as text")


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
