"""Defines the records of the index: paths relative to the root, lines from 1, inclusive ranges."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.codebase.parsing.syntax import CALLABLE_KINDS, VALUE_KINDS

Proof = tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """Describes an indexed file. `status`: parsed, text, failed, unsupported, or skipped (`note` has the reason)."""

    path: str
    size: int
    sha256: str
    language: str | None
    lines: int
    status: str
    note: str

    @property
    def is_readable(self) -> bool:
        """False for a skipped file, such as a binary, large or secret one, or a link."""
        return self.status != "skipped"


@dataclass(frozen=True, slots=True)
class SymbolRecord:
    """Describes a definition. `start_line` includes decorators, `name_line` is the line of the name."""

    id: int
    file: str
    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    name_line: int
    signature: str
    docstring: str
    parent_id: int | None

    @property
    def owner(self) -> str:
        """The qualified name of the class or function around it, or an empty string."""
        return self.qualified_name[: -len(self.name) - 1]


def around(symbols: Sequence[SymbolRecord]) -> list[SymbolRecord]:
    """Drop from a file's definitions the values that lie inside a callable: they enclose nothing.

    `self.depth = 1` in a constructor is an attribute of its class, and a line of the constructor.
    """
    bodies = sorted((symbol.start_line, symbol.end_line) for symbol in symbols if symbol.kind in CALLABLE_KINDS)
    starts = [start for start, _ in bodies]
    # How far those reach that begin no later.
    reach = list(itertools.accumulate((end for _, end in bodies), max))

    def is_inside(symbol: SymbolRecord) -> bool:
        before = bisect.bisect_right(starts, symbol.start_line)
        return before > 0 and symbol.end_line <= reach[before - 1]

    return [symbol for symbol in symbols if symbol.kind not in VALUE_KINDS or not is_inside(symbol)]


@dataclass(frozen=True, slots=True)
class ReferenceRecord:
    """Records a use of a name; `enclosing` is the qualified name of the definition around it, None at top level.

    `qualifier`: as in `runtime.codebase.parsing.syntax.Reference`.

    `kind`: call, base, decorator, import, reference (any other mention in code). `proof`: for a proven call, the
    evidence that leads to its definition: its kind, and the file and line where it stands.
    """

    file: str
    line: int
    name: str
    kind: str
    qualifier: str = ""
    enclosing: str | None = None
    enclosing_id: int | None = None
    proof: Proof = ()


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """Records one imported name; `target` is the file (a folder for Go) that it means, None outside the root."""

    file: str
    line: int
    module: str
    name: str
    alias: str
    target: str | None


@dataclass(frozen=True, slots=True)
class CallsOf:
    """Lists the calls that are proven to mean a definition.

    `unproven` counts the other calls of its name that may mean it: their receiver is not known. `unproven_in_tests`:
    those of them that stand in test files. `mentions`: the first of the unproven ones outside of tests.
    """

    calls: list[ReferenceRecord]
    unproven: int
    unproven_in_tests: int = 0
    mentions: tuple[ReferenceRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Callee:
    """Pairs a call inside a symbol with the definition that it means; None if that lies outside or is not known.

    `state`: proven, external (defined outside the repository) or unknown. `proof`: as in `ReferenceRecord`.
    """

    name: str
    line: int
    qualifier: str
    definition: SymbolRecord | None
    state: str = "unknown"
    proof: Proof = ()


@dataclass(frozen=True, slots=True)
class TextHit:
    """Records a line that a text search found; `text` is cut to 400 characters around the match."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """Records a ranked chunk; `symbol` is the qualified name that it belongs to; higher scores are better.

    `chunk_id` is None for a definition that was found by its name; `ranker` is the state whose ranker ordered it.
    `cosine`: how near it is to the question in meaning, its best passage included; None without vectors. `reading`:
    how well it answers the question, read together with it, and `read_lines` the first and last of those of its lines
    that answer best; None if it was not read.
    """

    file: str
    start_line: int
    end_line: int
    symbol: str | None
    score: float
    symbol_id: int | None = None
    source: str = "chunk"
    chunk_id: int | None = None
    ranker: str | None = None
    cosine: float | None = None
    reading: float | None = None
    read_lines: tuple[int, int] | None = None
