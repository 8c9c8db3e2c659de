"""Declares the tool `find_related`: importers, tests, documents, similar and co-changing files.

Each reason ranks files by itself; the lists are fused by reciprocal rank, so that a file with two reasons comes before
one with either alone.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.paths import is_denied
from runtime.codebase.files.words import CODE_NOISE, index_terms
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.fallbacks import find_symbols, same_name, similar_paths
from runtime.codebase.tool_registry import CodeTool, Path, Text, by_fields
from runtime.errors import RepositoryError
from runtime.primitives.dotted_names import last_part
from runtime.tools.result import Attempt, ToolStatus

MAX_RESULTS = 50
MAX_TERMS = 24
MAX_COMPARED_CHARS = 60_000
MAX_COUNTED_WORDS = 400
RANK_OFFSET = 10

# A file of the list, and the lines of it that show why.
_Related = tuple[str, int, int]


class FindRelated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What else belongs to a file or symbol: tests, documents, similar and co-changing files?"""

    path: Path | None = None
    symbol: Text | None = None
    max_results: Annotated[int, msgspec.Meta(ge=1, le=50)] = 15


def find_related(
    codebase: Codebase, path: str | None = None, symbol: str | None = None, max_results: int = 15
) -> ToolResult:
    """Find files related to a file or symbol, best first, at most `max_results`.

    `data`: file, symbol, related [{file, kind, reasons, score, start_line, end_line, citation}]; reasons are `imports`,
    `imported_by`, `calls_it`, `tests`, `documents`, `similar` and `changes_with`. Without git the last
    is left out; with it, its rows have `changes` {commits, hash, author, date, subject}: how many commits both are in,
    and the newest of them, and `boundary` is where a shallow clone ends (hashes).
    """
    log = AttemptLog(codebase.max_retries)
    limit = max(1, min(max_results, MAX_RESULTS))
    try:
        file, name = _subject(codebase, path, symbol, log)
    except RepositoryError as error:
        status: ToolStatus = "denied" if is_denied(error) else "not_found"
        return log.result(status, {"asked_path": path, "symbol": symbol}, [], error=error.message)
    neighbours = _Neighbours(codebase, file, name)
    lists = neighbours.lists(log)
    scores: dict[str, float] = {}
    reasons: dict[str, list[str]] = {}
    places: dict[str, _Related] = {}
    for reason, found in lists.items():
        for rank, place in enumerate(dict.fromkeys(found)):
            other = place[0]
            if other == file or reason in reasons.get(other, ()):
                continue
            scores[other] = scores.get(other, 0.0) + 1 / (RANK_OFFSET + rank)
            reasons.setdefault(other, []).append(reason)
            places.setdefault(other, place)
    rows: list[dict[str, Any]] = []
    citations: list[Citation] = []
    for other in sorted(scores, key=lambda each: (-scores[each], each)):
        _, start, end = places[other]
        made = cite(codebase, other, start, end, why=f"{', '.join(reasons[other])}: {file}")
        if made is None or len(rows) == limit:
            continue
        rows.append(
            {
                "file": other,
                "kind": kind_of_path(other),
                "reasons": reasons[other],
                "score": round(scores[other], 6),
                "start_line": made.start_line,
                "end_line": made.end_line,
                "citation": len(citations),
                **({"changes": neighbours.changes[other]} if other in neighbours.changes else {}),
            }
        )
        citations.append(made)
    data = {"file": file, "symbol": name, "related": rows, "boundary": neighbours.boundary}
    return log.result("ok" if rows else "empty", data, citations, truncated=len(scores) > len(rows) == limit)


def _subject(codebase: Codebase, path: str | None, symbol: str | None, log: AttemptLog) -> tuple[str, str | None]:
    if symbol:
        found = find_symbols(codebase, symbol, log)
        if not found:
            raise RepositoryError(f"no symbol {symbol} in the index")
        return found[0].file, found[0].qualified_name
    if not path:
        raise RepositoryError("give a path or a symbol")
    file = codebase.relative(path)
    if codebase.file(file) is not None:
        return file, None
    paths = codebase.readable_paths()
    near = log.retry("fuzzy_path", lambda: similar_paths(file, paths), "not_found")
    near = near or log.retry("index_by_name", lambda: same_name(file, paths), "not_found")
    if not near:
        raise RepositoryError(f"no file {path} in the index", path=path)
    return near[0], None


class _Neighbours:
    """Builds the ranked lists of neighbours of one file, and of a symbol in it if given."""

    def __init__(self, codebase: Codebase, file: str, symbol: str | None) -> None:
        self._codebase = codebase
        self._file = file
        self._symbol = symbol
        self._known = set(codebase.readable_paths())
        self.changes: dict[str, dict[str, Any]] = {}
        self.boundary: list[str] = []

    def lists(self, log: AttemptLog) -> dict[str, list[_Related]]:
        """Return places by reason, best first."""
        readers: dict[str, Callable[[], list[_Related]]] = {
            "calls_it": self._callers,
            "imported_by": self._importers,
            "imports": self._imports,
            "tests": self._tests,
            "similar": self._similar,
            "documents": self._documents,
            "changes_with": self._co_changed,
        }
        found = {}
        for reason, read in readers.items():
            try:
                found[reason] = log.run(reason, read)
            except RepositoryError:
                log.attempts.append(Attempt(reason, "unsupported"))
        return found

    def _callers(self) -> list[_Related]:
        symbols = self._codebase.symbols_named(self._symbol, limit=5) if self._symbol else []
        own = next((symbol for symbol in symbols if symbol.file == self._file), None)
        return [(call.file, call.line, call.line) for call in self._codebase.callers(own, limit=100)] if own else []

    def _importers(self) -> list[_Related]:
        return [(item.file, item.line, item.line) for item in self._codebase.importers(self._file, limit=200)]

    def _imports(self) -> list[_Related]:
        targets = dict.fromkeys(item.target for item in self._codebase.imports_of(self._file))
        return [(target, 1, 1) for target in targets if target in self._known]

    def _tests(self) -> list[_Related]:
        """Return tests that use the file or symbol, then tests that are named after the file."""
        using = [place for place in (*self._callers(), *self._importers()) if kind_of_path(place[0]) == "test"]
        stem = posixpath.splitext(posixpath.basename(self._file))[0].strip("_").lower()
        tests = (path for path in sorted(self._known) if kind_of_path(path) == "test")
        return using + [(path, 1, 1) for path in tests if len(stem) > 2 and stem in posixpath.basename(path).lower()]

    def _documents(self) -> list[_Related]:
        name = last_part(self._symbol) if self._symbol else posixpath.basename(self._file)
        hits = self._codebase.search_text(name, max_hits=200).hits
        return [(hit.file, hit.line, hit.line) for hit in hits if kind_of_path(hit.file) in ("docs", "example")]

    def _similar(self) -> list[_Related]:
        return similar_files(self._codebase, self._file)

    def _co_changed(self) -> list[_Related]:
        git = Git(self._codebase.root, self._codebase.history)
        found = [other for other in commit_history.co_changed(git, self._file, limit=30) if other.path in self._known]
        self.changes = {other.path: {"commits": other.commits, **asdict(other.newest)} for other in found}
        self.boundary = commit_history.boundary(git)
        return [(other.path, 1, 1) for other in found]


def similar_files(codebase: Codebase, file: str) -> list[tuple[str, int, int]]:
    """Return (path, first line, last line) of the files that share the rarest words of a file, best first.

    Nothing is read together with these words: they are no question, and the order would be no better.
    """
    source = codebase.try_source(file)
    if source is None:
        return []
    words = Counter(index_terms(source.text[:MAX_COMPARED_CHARS]).split())
    counts = codebase.index.document_counts([word for word, _ in words.most_common(MAX_COUNTED_WORDS)])
    shared = [word for word, count in counts.items() if count > 1 and word not in CODE_NOISE and len(word) > 2]
    telling = sorted(shared, key=lambda word: (-words[word] / counts[word], word))[:MAX_TERMS]
    hits = codebase.reading_within(None).search_chunks(" ".join(telling), 4 * MAX_RESULTS) if telling else []
    best: dict[str, tuple[str, int, int]] = {}
    for hit in hits:
        best.setdefault(hit.file, (hit.file, hit.start_line, hit.end_line))
    return [place for other, place in best.items() if other != file]


TOOL = CodeTool(
    name="find_related",
    description="Tests, documents, similar and co-changing files.",
    parameters=FindRelated,
    run=by_fields(find_related),
    reduced={"max_results": 3},
    cost=5,
    place=60,
    example={"path": "pkg/app.py"},
)
