"""Declares the tool `locate`: the places in the code that match a name or a question.

A name is looked up in the symbol index, then in the text; a question in words is answered by the ranked chunks, which
also weigh names and paths, and one for values alone (constants, fields …) by their names. If nothing is found, the
search is broadened once, then moved up from its scope; a search for values alone is never broadened.
The citations are those of `data["results"]`, of `data["passages"]` and of `data["absence"]["aside"]`, one for
each row; those of the steps of `data["values"]` follow, then those of the `constants` of results, then of `literals`.
(Over 400 lines: a search is one object, whose strategies share what was found before.)
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path, kind_of_place
from runtime.codebase.files.words import index_terms, looks_like_identifier, query_terms
from runtime.codebase.index.records import ChunkHit, SymbolRecord, TextHit
from runtime.codebase.resolution.symbol_links import normal_name
from runtime.codebase.search.branches import Branch, Case, branch_for, case_of
from runtime.codebase.search.excerpts import excerpt_of, informative_terms
from runtime.codebase.search.gathering import is_within
from runtime.codebase.search.prose.report import MAX_REPORT_CHARS
from runtime.codebase.search.question_frames import without_frame
from runtime.codebase.search.second_reading import FULL, SMALL
from runtime.codebase.search.values.environment_reads import ENVIRONMENT_VARIABLE, MAY_READ, environment_reads
from runtime.codebase.search.values.named_values import VALUES, values_for
from runtime.codebase.tool_parts.absent_words import absent_words
from runtime.codebase.tool_parts.cited_passages import cited_passages
from runtime.codebase.tool_parts.citing import cite, cite_chunk, cite_symbol
from runtime.codebase.tool_parts.shown_definitions import CODE_KINDS, HOLDER_KINDS, named_by_shown, opened_above
from runtime.codebase.tool_parts.value_rows import add_told_values, add_values
from runtime.codebase.tool_registry import CodeTool, Path, Text, by_fields
from runtime.errors import RepositoryError
from runtime.primitives.dotted_names import last_part

MAX_RESULTS = 100
MAX_QUERY_CHARS = MAX_REPORT_CHARS
MAX_COUNTED = 5_000
MAX_EXCERPTS = 12
ALL_OF_KINDS = "*"
# A branch that matches the whole case gains this share of the best score.
BRANCH_WEIGHT = 0.6
# How far below the best branch's share another branch may lie and still be reported.
BRANCH_MARGIN = 0.25
_BEGINNING = re.compile(r"`?([A-Za-z_$][\w$]+)\*`?")
_NAME = re.compile(r"[`'\"]?[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*[!?]?(?:\(\))?[`'\"]?")

# A row of the result and the citation that backs it.
_Located = tuple[dict[str, Any], Citation]


class Locate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where is it? `query`: a name or a question; `scope`: a file or folder; `values`: prove the values it asks for.

    `thorough`: false reads fewer pieces, faster.
    """

    query: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    kinds: list[str] | None = None
    scope: Path | None = None
    values: bool = False
    thorough: bool = True


def locate(
    codebase: Codebase,
    query: str,
    max_results: int = 20,
    kinds: Collection[str] | None = None,
    scope: str | None = None,
    *,
    join: bool = False,
    wait: bool = False,
    values: bool = False,
    thorough: bool = True,
) -> ToolResult:
    """Find the places that match a name or a question, best first, at most `max_results`.

    `kinds` keeps only definitions of those kinds (class, function, method …); with the query `*` it selects all of
    them; `scope` is a file or folder to search; `join` and `wait` are those of `Codebase.search_chunks`.
    Unless `thorough`, fewer pieces are read together with a question, and none for a name that is defined.
    `data`: query, scope (the final one), results [{file, start_line, end_line, symbol, kind, signature, docstring,
    score, source}], with the `ranker` of ranked code (words, vectors), its `cosine`, `reading` and `read_lines`
    (`records.ChunkHit`), `branch` [first line, last line] of the branch that answers «what happens when …?», and for
    the first twelve answers to a question in words `excerpt`, the lines that speak most of it (`excerpts.Excerpt`),
    with `constants` and `literals` in these (`add_told_values`); `definitions`: for a name or for kinds, the number of
    definitions in source files, also beyond the results; `passages`: for a question in words, what documents,
    documentation strings and comments say of it, best first, [{file, start_line, end_line, kind, heading, text, names,
    score}], and last what a document says, with the probability `worth` that this answers it; `meaning`: the share of
    the pieces that could be compared by meaning, 0 to 1, None if words alone count; `absence`: what of a question in
    words occurs nowhere or only aside (`absence.Absence`); `values`, only with that
    argument: the values that the query asks for (`add_values`). Status `empty` without matches, `denied` for a scope
    outside the root.
    """
    log = AttemptLog(codebase.max_retries)
    query = query[:MAX_QUERY_CHARS].strip()
    limit = max(1, min(max_results, MAX_RESULTS))
    is_everywhere = scope in (None, "", ".")
    try:
        place = None if is_everywhere else codebase.relative(scope or ".")
    except RepositoryError as error:
        return log.result("denied", {"query": query, "results": []}, [], error=error.message)
    codebase = codebase if thorough else codebase.reading_within(SMALL)
    asked = without_frame(query)
    prose = functools.cache(
        lambda: (cited_passages(codebase, asked, wait=wait), absent_words(codebase, asked, wait=wait))
    )
    meanwhile = prose if is_everywhere else None
    search = _Search(codebase, query, limit, frozenset(kinds or ()), join=join, wait=wait, meanwhile=meanwhile)
    found, place = _tried(search, log, place)
    rows = search.with_excerpts([row for row, _ in found])
    passages, (absence, asides) = prose() if search.is_open and is_everywhere else ([], ({}, []))
    data = {
        "query": query,
        "scope": place,
        "results": rows,
        "definitions": search.definitions,
        "meaning": codebase.meaning,
        "passages": [row for row, _ in passages],
        **({"absence": absence} if absence else {}),
    }
    citations = [*(citation for _, citation in (*found, *passages)), *asides]
    if values and not kinds:
        citations += add_values(codebase, data, len(citations))
    citations += add_told_values(codebase, query, rows, len(citations)) if search.is_open else []
    return log.result("ok" if found else "empty", data, citations)


def _tried(search: _Search, log: AttemptLog, place: str | None) -> tuple[list[_Located], str | None]:
    """Return what was found, by broader searches where narrower ones found nothing, and the final scope."""
    found = search.first(log, place)
    if not found and not search.is_of_values:
        found = log.retry("broadened", lambda: search.broadened(place))
    if found or place is None or search.is_of_values or not log.may_retry:
        return found, place
    parent = posixpath.dirname(place) or None
    return log.retry(f"parent:{parent or '.'}", lambda: search.everything(parent)), parent


class _Search:
    """Runs the search strategies of one call; `meanwhile` is for a question in words about code of any kind."""

    def __init__(
        self,
        codebase: Codebase,
        query: str,
        limit: int,
        kinds: frozenset[str],
        *,
        join: bool,
        wait: bool,
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        # What is left of a framed question may be a single word, and is no name for that.
        self._is_name = _NAME.fullmatch(query) is not None
        query = without_frame(query)
        self._codebase = codebase
        self._query = query
        self._limit = limit
        self._kinds = kinds
        self._join = join and not kinds
        self._wait = wait
        self._terms = frozenset(query_terms(query).counts)
        self._case = None if join else case_of(query)
        self._meanwhile = meanwhile if self.is_open else None
        self.definitions = 0

    @property
    def is_of_values(self) -> bool:
        """True for a question in words whose kinds are all values; it is not broadened."""
        return not self._is_name and bool(self._kinds) and self._kinds <= VALUES

    @property
    def is_open(self) -> bool:
        """True for a question in words about code of any kind."""
        return not self._is_name and not self._kinds and bool(self._query)

    def first(self, log: AttemptLog, scope: str | None) -> list[_Located]:
        """Find a name's definitions and then its other occurrences, or a question's ranked chunks."""
        if not self._query:
            return []
        if self._query == ALL_OF_KINDS and self._kinds == {ENVIRONMENT_VARIABLE}:
            return log.run("environment_reads", lambda: self.environment(scope))
        if self._query == ALL_OF_KINDS and self._kinds:
            return log.run("symbol_kinds", lambda: self.of_kinds(scope))
        if (begins := _BEGINNING.fullmatch(self._query)) is not None:
            return log.run("symbol_beginning", lambda: self.beginning(begins[1], scope))
        if self.is_of_values:
            return log.run("named_values", lambda: self.values(scope))
        if not self._is_name:
            found = log.run("ranked_chunks", lambda: self.chunks(scope))
            if self._kinds and len(self._terms) == 1:
                found = log.run("names_with_it", lambda: self.with_names(found, scope))
            return found if self._case is None else log.run("branches", lambda: self.with_branches(found))
        named = log.run("symbol_index", lambda: self.named(scope, fuzzy=False))
        if named and self._kinds:
            return named[: self._limit]
        texts = [] if named else log.run("text", lambda: self.text(scope, case_sensitive=True))
        # Definitions come first, whatever reading would say of the rest.
        is_read = not named or self._codebase.budget == FULL
        codebase = self._codebase if is_read else self._codebase.reading_within(None)
        ranked = log.run("ranked_chunks", lambda: self.chunks(scope, codebase))
        # For an identifier, its occurrences are the best matches; a plain word's mere occurrence is weak evidence.
        others = [texts, ranked] if looks_like_identifier(self._query) else [ranked, texts]
        return _merged([named, *others], self._limit)

    def with_excerpts(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add to the first rows of a question in words the lines that speak most of it."""
        if self._is_name or self._query == ALL_OF_KINDS or not rows:
            return rows
        weights = informative_terms(self._codebase.index, self._query)
        return [*(self._with_excerpt(row, weights) for row in rows[:MAX_EXCERPTS]), *rows[MAX_EXCERPTS:]]

    def _with_excerpt(self, row: dict[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
        source = self._codebase.try_source(row["file"])
        lines = source.lines[row["start_line"] - 1 : row["end_line"]] if source else []
        if not lines:
            return row
        is_document = kind_of_path(row["file"]) in {"docs", "changelog"}
        within = opened_above(self._codebase, row["file"], source.lines, row["start_line"]) if source else None
        read = row.get("read_lines")
        chosen = excerpt_of(lines, row["start_line"], weights, is_document=is_document, read_lines=read, within=within)
        if not is_document:
            row, chosen = named_by_shown(self._codebase, row, chosen)
        named = index_terms(f"{row['file']} {row['symbol'] or ''}").split()
        has = tuple(term for term in weights if term in {*chosen.has, *named})
        chosen = msgspec.structs.replace(chosen, has=has)
        return {**row, "excerpt": msgspec.to_builtins(chosen)}

    def of_kinds(self, scope: str | None) -> list[_Located]:
        """Return all definitions of the kinds, source files first, by file and line."""
        symbols = self._codebase.symbols_of_kinds(sorted(self._kinds), limit=MAX_COUNTED)
        kept = [symbol for symbol in symbols if is_within(symbol.file, scope)]
        self.definitions = sum(kind_of_path(symbol.file) == "source" for symbol in kept)
        kept.sort(key=lambda symbol: kind_of_path(symbol.file) != "source")
        return self._rows(kept, "symbol")

    def environment(self, scope: str | None) -> list[_Located]:
        """Return the environment variables that the source reads, each at the first line that does."""
        hits = self._codebase.search_text(MAY_READ, regex=True, max_hits=MAX_COUNTED, scope=scope).hits
        reads = environment_reads(hits)
        self.definitions = len(reads)
        rows = []
        for place, one in enumerate(reads[: self._limit]):
            citation = cite(self._codebase, one.file, one.line, one.line, why=f"reads {one.name}")
            if citation is not None:
                symbol = SymbolRecord(
                    0,
                    one.file,
                    one.name,
                    one.name,
                    ENVIRONMENT_VARIABLE,
                    one.line,
                    one.line,
                    one.line,
                    one.text,
                    "",
                    None,
                )
                rows.append((_symbol_row(symbol, round(1 / (1 + place), 6), "environment"), citation))
        return rows

    def beginning(self, name: str, scope: str | None) -> list[_Located]:
        """Return all definitions whose names begin so, spelt alike, source files first, by file and line."""
        symbols = self._codebase.symbols_beginning(name, limit=MAX_COUNTED)
        kept = [symbol for symbol in symbols if is_within(symbol.file, scope) and self._fits(symbol.kind)]
        self.definitions = sum(kind_of_path(symbol.file) == "source" for symbol in kept)
        kept.sort(key=lambda symbol: kind_of_path(symbol.file) != "source")
        return self._rows(kept, "symbol")

    def with_names(self, found: list[_Located], scope: str | None) -> list[_Located]:
        """Append to the places found the definitions whose names contain the only term of the question, each once."""
        seen = {(row["file"], row["symbol"]) for row, _ in found}
        named = self.named(scope, fuzzy=True, name=next(iter(self._terms)))
        return [*found, *(place for place in named if (place[0]["file"], place[0]["symbol"]) not in seen)][
            : self._limit
        ]

    def broadened(self, scope: str | None) -> list[_Located]:
        """Find partial names of the identifier or of up to four terms, and the text in any case."""
        words = [self._query] if self._is_name else sorted(self._terms, key=lambda term: (-len(term), term))[:4]
        partial = [row for word in words for row in self.named(scope, fuzzy=True, name=word)]
        return _merged([partial, self.text(scope, case_sensitive=False)], self._limit)

    def everything(self, scope: str | None) -> list[_Located]:
        """Run the exact strategies in a wider scope, and the broadened ones if they find nothing."""
        if not self._query:
            return []
        named = self.named(scope, fuzzy=False) if self._is_name else []
        return _merged([named, self.chunks(scope)], self._limit) or self.broadened(scope)

    def named(self, scope: str | None, *, fuzzy: bool, name: str | None = None) -> list[_Located]:
        wanted = normal_name(self._query if name is None else name)
        symbols = self._codebase.symbols_named(wanted, fuzzy=fuzzy, limit=10 * self._limit if fuzzy else MAX_COUNTED)
        kept = [symbol for symbol in symbols if is_within(symbol.file, scope) and self._fits(symbol.kind)]
        if not fuzzy:
            self.definitions = sum(_is_defined(symbol, wanted) for symbol in kept)
        return self._rows(kept, "symbol_partial" if fuzzy else "symbol")

    def _rows(self, symbols: Sequence[SymbolRecord], source: str) -> list[_Located]:
        rows = []
        for place, symbol in enumerate(symbols[: self._limit]):
            citation = cite_symbol(self._codebase, symbol, f"defines {symbol.qualified_name}")
            if citation is not None:
                rows.append((_symbol_row(symbol, round(1 / (1 + place), 6), source), citation))
        return rows

    def values(self, scope: str | None) -> list[_Located]:
        """Find constants, fields and other values whose names match the question."""
        index, read = self._codebase.index, self._codebase.try_source
        rows = []
        for symbol, share in values_for(index, read, self._query, self._kinds, self._limit):
            citation = cite_symbol(self._codebase, symbol, f"defines {symbol.qualified_name}")
            if citation is not None and is_within(symbol.file, scope):
                rows.append((_symbol_row(symbol, share, "value"), citation))
        return rows

    def text(self, scope: str | None, *, case_sensitive: bool) -> list[_Located]:
        if self._kinds:
            return []
        needle = self._query.strip("`'\"")
        if not 2 <= len(needle) <= 1000:
            return []
        found = self._codebase.search_text(needle, case_sensitive=case_sensitive, max_hits=self._limit, scope=scope)
        located = (self._text_row(hit, place) for place, hit in enumerate(found.hits))
        return [found for found in located if found is not None]

    def chunks(self, scope: str | None, codebase: Codebase | None = None) -> list[_Located]:
        wanted = self._limit * (5 if self._kinds else 1 if self._case is None else 3)
        searched = codebase or self._codebase
        hits = searched.search_chunks(
            self._query, wanted, scope=scope, join=self._join, wait=self._wait, meanwhile=self._meanwhile
        )
        rows = []
        for hit in hits:
            found = self._chunk_row(hit)
            if found is not None:
                rows.append(found)
        return rows[: self._limit if self._case is None else wanted]

    def with_branches(self, found: list[_Located]) -> list[_Located]:
        """Raise the places that have a branch for the case of the question, and record it as their `branch`."""
        assert self._case is not None
        gain = BRANCH_WEIGHT * max((row["score"] for row, _ in found), default=0.0)
        raised: list[_Located] = []
        branches = [self._branch(row, self._case) for row, _ in found]
        least = max((branch.share for branch in branches if branch is not None), default=0.0) - BRANCH_MARGIN
        for (row, citation), branch in zip(found, branches, strict=True):
            if branch is None or branch.share < least:
                raised.append((row, citation))
                continue
            lines = [branch.start_line, branch.end_line]
            score = round(row["score"] + gain * branch.share, 6)
            inner = self._codebase.symbol_at(row["file"], branch.start_line)
            cited = None if inner is None else cite_symbol(self._codebase, inner, "meets the case")
            if row["kind"] in HOLDER_KINDS and inner is not None and cited is not None:
                raised.append(({**_symbol_row(inner, score, "branch"), "branch": lines}, cited))
            else:
                raised.append(({**row, "score": score, "branch": lines, "source": "branch"}, citation))
        return sorted(raised, key=lambda located: -located[0]["score"])[: self._limit]

    def _branch(self, row: dict[str, Any], case: Case) -> Branch | None:
        source = self._codebase.try_source(row["file"]) if row["kind"] in CODE_KINDS else None
        if source is None or kind_of_place(row["file"], row["symbol"]) not in {"source", "vendored"}:
            return None
        lines = source.lines[row["start_line"] - 1 : row["end_line"]]
        return branch_for(case, lines, row["start_line"], f"{row['symbol']} {row['signature']}")

    def _fits(self, kind: str | None) -> bool:
        return not self._kinds or kind in self._kinds

    def _chunk_row(self, hit: ChunkHit) -> _Located | None:
        symbol = None if hit.symbol_id is None else self._codebase.index.symbol(hit.symbol_id)
        if not self._fits(symbol.kind if symbol else None):
            return None
        if self._kinds and symbol is not None and not hit.start_line <= symbol.name_line <= hit.end_line:
            # A search for classes should show their definitions, not the fields between two of their methods.
            citation = cite_symbol(self._codebase, symbol, "fits the question")
        else:
            citation = cite_chunk(self._codebase, hit, self._terms, "fits the question")
        if citation is None:
            return None
        row = {
            "file": hit.file,
            "start_line": citation.start_line,
            "end_line": citation.end_line,
            "symbol": hit.symbol,
            "kind": symbol.kind if symbol else None,
            "signature": symbol.signature if symbol else "",
            "docstring": symbol.docstring if symbol else "",
            "score": hit.score,
            "source": hit.source,
            "ranker": hit.ranker,
            "cosine": hit.cosine,
            "reading": hit.reading,
            "read_lines": hit.read_lines,
        }
        return row, citation

    def _text_row(self, hit: TextHit, place: int) -> _Located | None:
        around = self._codebase.symbol_at(hit.file, hit.line)
        name = around.qualified_name if around else None
        citation = cite(self._codebase, hit.file, hit.line, hit.line, why="has the text", symbol=name)
        if citation is None:
            return None
        row = {
            "file": hit.file,
            "start_line": hit.line,
            "end_line": hit.line,
            "symbol": name,
            "kind": around.kind if around else None,
            "signature": around.signature if around else "",
            "docstring": "",
            "score": round(1 / (2 + place), 6),
            "source": "text",
        }
        return row, citation


def _symbol_row(symbol: SymbolRecord, score: float, source: str) -> dict[str, Any]:
    return {
        "file": symbol.file,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "symbol": symbol.qualified_name,
        "kind": symbol.kind,
        "signature": symbol.signature,
        "docstring": symbol.docstring,
        "score": score,
        "source": source,
    }


def _is_defined(symbol: SymbolRecord, wanted: str) -> bool:
    """Return True for a definition in a source file with exactly that name: one that the name may mean."""
    is_code = symbol.kind not in {"module", "section", "key", "prototype", "field", "variable", "property"}
    return is_code and symbol.name == last_part(wanted) and kind_of_path(symbol.file) == "source"


def _merged(lists: Sequence[list[_Located]], limit: int) -> list[_Located]:
    """Concatenate the lists, without places that lie inside an earlier one."""
    kept: list[_Located] = []
    ranges: dict[str, list[tuple[int, int]]] = {}
    for row, citation in (located for rows in lists for located in rows):
        taken = ranges.setdefault(citation.file, [])
        if any(start <= citation.start_line and citation.end_line <= end for start, end in taken):
            continue
        taken.append((citation.start_line, citation.end_line))
        kept.append((row, citation))
    return kept[:limit]


TOOL = CodeTool(
    name="locate",
    description="Find where a thing is: symbols, then text, then ranked code.",
    parameters=Locate,
    run=by_fields(locate),
    reduced={"max_results": 5},
    capped_by={"max_results": "max_grep_results"},
    cost=3,
    isolation="in_process",
    place=10,
    example={"query": "where are retries bounded?"},
)
