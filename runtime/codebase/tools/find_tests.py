"""Declares the tool `find_tests`: the tests that fit a question best, by their code and titles.

What is tested need not be named: the pieces of code are ordered as for any question, and those of tests are kept, each
under its title: the name of its function, or the text with which it is declared. That a test covers something is not
proven by that.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_place
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.records import ChunkHit, SymbolRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.parsing.syntax import CALLABLE_KINDS
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import bounded, listed, numbered
from runtime.codebase.tool_registry import CodeTool, Path, Text, by_fields
from runtime.errors import RepositoryError

MAX_TESTS = 20
# Pieces of any sort that are ordered, and how far below the best of them a test may lie; how far below the best test.
ORDERED = 200
LEAST_SCORE, OF_BEST = 0.2, 0.65
# Read together with the question, the first tests of ten questions, all right, had 3.5 and more; those of one without a
# right one 2.1 and less.
LEAST_READING, LEAST_COSINE, LEAST_SHARE = 3.0, 0.4, 0.4
MAX_TITLES_OF_PIECE = 3
# The title of a test may stand so many lines above a piece of it.
MAX_LINES_ABOVE = 60
LEAST_WORDS_OF_FILE = 2
_NAMED = re.compile(r"^[Tt]est|[Tt]ests?$|[Ss]pec$|Should")
_MARKED = re.compile(
    r"\s*(?:#\[(?:\w+::)*test\b|@(?:Test|ParameterizedTest|RepeatedTest)\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b)"
)
_ATTRIBUTE = re.compile(r"\s*(?:#\[|@|\[|//|\*)")
_MARKS_ABOVE = 8
_SAID = frozenset(
    query_terms(
        "test tests testing tested cover covers covering coverage check checks exercise make sure guard protect catch"
        " case cases spec verify assert ensure exist include show"
    ).counts
)
_TITLES = """SELECT p.start_line, p.heading FROM passages p JOIN files f ON f.id = p.file_id
    WHERE f.path = ? AND p.kind = 'test_name' AND p.start_line BETWEEN ? AND ? ORDER BY p.start_line"""


class FindTests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tests fit a question («long names are cut off»)? `scope`: a file or folder."""

    query: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=MAX_TESTS)] = 6
    scope: Path | None = None


class _Titled(NamedTuple):
    title: str
    line: int
    end_line: int


def find_tests(codebase: Codebase, query: str, max_results: int = 6, scope: str | None = None) -> ToolResult:
    """Find tests that fit a question, best first; `scope` is a file or folder.

    `data`: query, tests [{title, file, line, end_line, score, citation}]. `title`: the name of the function, the text
    with which the test is declared, or the name of a file of tests without code. `score`: of the best piece of any
    sort, 0 to 1. Status `empty` where no test fits well, `denied` for a scope outside the root.
    """
    log = AttemptLog()
    try:
        hits = log.run("ranked_chunks", lambda: codebase.search_chunks(query, ORDERED, scope=scope))
    except RepositoryError as error:
        return log.result("denied", {"query": query, "tests": []}, [], error=error.message)
    found: dict[tuple[str, str], tuple[ChunkHit, _Titled]] = {}
    terms, least = query_terms(query).counts.keys() - _SAID, LEAST_SCORE
    for hit in hits:
        is_likely = hit.score >= least and kind_of_place(hit.file, hit.symbol) == "test"
        if not is_likely or not _fits(codebase, hit, terms):
            continue
        for one in _titled(codebase, hit, query):
            least = max(least, OF_BEST * hit.score)
            found.setdefault((hit.file, one.title), (hit, one))
    limit = bounded(max_results, MAX_TESTS)
    citations: list[Citation] = []
    rows = [_row(codebase, hit, one, terms, citations) for hit, one in list(found.values())[:limit]]
    return listed(log, {"query": query, "tests": rows}, citations, len(found) > limit, bool(rows))


def _fits(codebase: Codebase, hit: ChunkHit, terms: Collection[str]) -> bool:
    """Return whether a piece fits by itself, and not only better than the others: as read, by meaning or by words."""
    if hit.reading is not None or hit.cosine is not None:
        return hit.reading >= LEAST_READING if hit.reading is not None else (hit.cosine or 0.0) >= LEAST_COSINE
    source = codebase.try_source(hit.file)
    lines = [] if source is None else source.lines[hit.start_line - 1 : hit.end_line]
    said = set(index_terms("\n".join([hit.file, *lines])).split())
    return bool(terms) and len(said.intersection(terms)) >= LEAST_SHARE * len(terms)


def _row(
    codebase: Codebase, hit: ChunkHit, one: _Titled, terms: Collection[str], citations: list[Citation]
) -> dict[str, Any]:
    made = cite(codebase, hit.file, one.line, one.end_line, why="fits the question", symbol=one.title, terms=terms)
    return {
        "title": one.title,
        "file": hit.file,
        "line": one.line,
        "end_line": one.end_line,
        "score": hit.score,
        "citation": numbered(citations, made),
    }


def _titled(codebase: Codebase, hit: ChunkHit, query: str) -> list[_Titled]:
    """Return the tests of a piece with their lines in it; none for what helps tests."""
    language = language_at(hit.file)
    titles = codebase.index.rows(_TITLES, (hit.file, hit.start_line - MAX_LINES_ABOVE, hit.end_line))
    titles = titles or (_declared(codebase, hit, language.declares_test) if language.declares_test else [])
    within = [(line, title) for line, title in titles if line >= hit.start_line]
    if within:
        return list(_best(within, hit, query))
    if language.role != "code":
        name = posixpath.basename(hit.file)
        is_told = len(index_terms(name.partition(".")[0]).split()) >= LEAST_WORDS_OF_FILE
        return [_Titled(name, hit.start_line, hit.end_line)] if is_told else []
    named = [] if hit.symbol is None else _functions(codebase, hit)
    if named:
        return list(_best(named, hit, query))
    if any(_NAMED.search(part) for part in (hit.symbol or "").split(".")):
        return [_Titled(hit.symbol or "", hit.start_line, hit.end_line)]
    above = [] if hit.symbol and not language.declares_test else titles[-1:]
    return [_Titled(title, hit.start_line, hit.end_line) for _, title in above]


def _declared(codebase: Codebase, hit: ChunkHit, pattern: str) -> list[tuple[int, str]]:
    """Return the titles that are no passages of the index, as they are declared without parentheses."""
    source, first = codebase.try_source(hit.file), max(1, hit.start_line - MAX_LINES_ABOVE)
    lines = [] if source is None else source.lines[first - 1 : hit.end_line]
    found = ((number, re.match(pattern, line[:1_000])) for number, line in enumerate(lines, first))
    return [(number, test["title"]) for number, test in found if test is not None]


def _best(titles: list[tuple[int, str]], hit: ChunkHit, query: str) -> Iterator[_Titled]:
    """Yield those of several titles that share most words with a question, each up to the next one."""
    asked = query_terms(query).counts.keys()
    shared = [len(asked & set(index_terms(title).split())) for _, title in titles]
    ends = [line - 1 for line, _ in titles[1:]] + [hit.end_line]
    starts = [hit.start_line if len(titles) == 1 else line for line, _ in titles]
    # Several may begin in one line.
    each = [(start, max(start, end), title) for start, end, (_, title) in zip(starts, ends, titles, strict=True)]
    kept = [one for one, count in zip(each, shared, strict=True) if count == max(shared)]
    for start, end, title in kept[:MAX_TITLES_OF_PIECE]:
        yield _Titled(title, start, end)


def _functions(codebase: Codebase, hit: ChunkHit) -> list[tuple[int, str]]:
    """Return the functions of a piece that are tests by their names, or by a mark above them, with their lines."""
    source = codebase.try_source(hit.file)
    where = "f.path = ? AND s.start_line <= ? AND s.end_line >= ?"
    symbols = codebase.index.symbols(where, (hit.file, hit.end_line, hit.start_line)) if source is not None else []
    found = []
    for symbol in symbols:
        is_named = _NAMED.search(symbol.name) is not None
        if symbol.kind in CALLABLE_KINDS and (is_named or (source and _is_marked(source.lines, symbol))):
            found.append((max(hit.start_line, symbol.start_line), symbol.qualified_name))
    return sorted(found)


def _is_marked(lines: Sequence[str], symbol: SymbolRecord) -> bool:
    """Return whether a mark of a test stands in the head of a function, or right above it."""
    first = symbol.start_line - 1
    while first > max(0, symbol.start_line - 1 - _MARKS_ABOVE) and _ATTRIBUTE.match(lines[first - 1]):
        first -= 1
    return any(_MARKED.match(line) is not None for line in lines[first : symbol.name_line])


TOOL = CodeTool(
    name="find_tests",
    description="Tests that fit a question, by their code and titles",
    parameters=FindTests,
    run=by_fields(find_tests),
    cost=3,
    isolation="in_process",
    place=68,
    example={"query": "long names are cut off"},
)
