"""Declares the tool `explore_symbol_usage`: a symbol's definitions, uses and callees.

Each row of `data` has `citation`, its position in the result's citations, or None if a line could not be cited.
Citations come in the order of the parts: definitions, namesakes, callers, calls by name, other references, importers,
tests, callees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.records import Callee, CallsOf, ImportRecord, Proof, ReferenceRecord, SymbolRecord
from runtime.codebase.knowledge.relation import Relation, RelationKind
from runtime.codebase.language_registry import language_at
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, VALUE_KINDS
from runtime.codebase.resolution.possible_receivers import PossibleReceivers
from runtime.codebase.resolution.symbol_links import importers_of_symbol, is_of_whole_module, normal_name
from runtime.codebase.tool_parts.citing import add_citation, cite, cite_symbol
from runtime.codebase.tool_parts.named_lines import is_in_test, lines_with, mentions_of, named_in_tests
from runtime.codebase.tool_parts.remembered_relations import relations_that_hold
from runtime.codebase.tool_registry import CodeTool, Text, by_fields

MAX_RESULTS = 500
MAX_DEFINITIONS = 10
MAX_NAMESAKES = 3
MAX_OTHERS = 4
MAX_JUDGED = 5_000
# Files that have the name of a definition; more are not told apart.
MAX_FILES = 5_000
_Row = dict[str, Any]
_T = TypeVar("_T")
_SHOWS: dict[RelationKind, str] = {
    "calls": "calls",
    "uses": "mentions",
    "imports": "imports",
    "tests": "tests",
    "changes_with": "changes with",
    "defined_in": "defines",
}


class ExploreSymbolUsage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who defines, calls, imports and tests `symbol`?"""

    symbol: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    include_unproven: bool = True


def explore_symbol_usage(
    codebase: Codebase, symbol: str, max_results: int = 50, include_unproven: bool = True
) -> ToolResult:
    """Find definitions, callers, references, importers, tests and callees of a symbol, at most `max_results` of each.

    Accepts `name`, `Class.method`, `module.name`. `data`: symbol, definitions [{file, start_line, end_line, symbol,
    kind, signature, docstring}], namesakes (like those: methods of other types of that name, at most 3, that unproven
    calls may mean), callers (proven calls) and references and tests [{file, line, kind, enclosing, text,
    proof [{kind, file, line}]}], unproven (how many further calls of that name may mean it: their receiver is not
    known; unproven_in_tests: those in test files), importers [{file, line, module, name, imports (symbol, module),
    names_it, text}], callees [{name, line, symbol, kind, docstring, file, start_line, end_line, state (proven,
    external, unknown), proof}], others (proven calls of the other functions and macros of that name, like callers, with
    `of`: the file of the definition), remembered [{relation, name, file, start_line, end_line, text}]: relations from
    before, in files that are unchanged since, that are in none of the other parts. `has_more`, if there are any: parts
    that have more than is listed. Without `include_unproven`, rows without a proof are left out where nothing points to
    the symbol's class; `left_out` counts them, and calls by name come last.
    If nothing has that name and lines assign it (a field, an attribute), the lines that have it as a whole word are its
    references, those that assign it first; else partial names are tried, then references and the whole text. All of
    these have the status `partial`; without any result it is `not_found`.
    """
    log = AttemptLog(codebase.max_retries)
    limit = max(1, min(max_results, MAX_RESULTS))
    wanted = normal_name(symbol)
    if not wanted:
        return log.result("error", {"symbol": symbol}, [], error="give the name of a symbol", at_fault="request")
    found = log.run("symbol_index", lambda: codebase.symbols_named(wanted, limit=MAX_DEFINITIONS), "not_found")
    is_exact = bool(found)
    sheet = _Sheet(codebase, limit, include_unproven=include_unproven)
    if not found:
        lines, found = _by_other_names(codebase, wanted, limit, log)
        if lines:
            data = _unlisted(wanted, lines, sheet) | sheet.note
            return log.result("partial", data, sheet.citations, truncated=bool(sheet.cut))
    if found:
        data = {"symbol": wanted, **_usage(codebase, _called_first(codebase, wanted, found), sheet, log)} | sheet.note
        return log.result("ok" if is_exact else "partial", data, sheet.citations, truncated=bool(sheet.cut))
    outside = log.retry("imports_and_text", lambda: mentions_of(codebase, wanted, limit), "not_found")
    rows = [sheet.reference(item, "mentions it") for item in outside]
    data = {"symbol": wanted, "definitions": [], "references": rows}
    if rows:
        return log.result("partial", data, sheet.citations, error=f"{wanted} is not defined in this repository")
    return log.result("not_found", data, [], error=f"nothing in the repository is named {wanted}")


def _by_other_names(
    codebase: Codebase, wanted: str, limit: int, log: AttemptLog
) -> tuple[list[ReferenceRecord], list[SymbolRecord]]:
    """Find lines with a name that is assigned but not indexed as a symbol, else symbols of similar names."""
    lines: list[ReferenceRecord] = []
    symbols: list[SymbolRecord] = []

    def look() -> list[Any]:
        lines.extend(lines_with(codebase, wanted, limit))
        if not lines:
            symbols.extend(codebase.symbols_named(wanted, fuzzy=True, limit=MAX_DEFINITIONS))
        return lines or symbols

    log.retry("lines_or_partial_symbol", look, "not_found")
    return lines, symbols


def _usage(codebase: Codebase, found: list[SymbolRecord], sheet: _Sheet, log: AttemptLog) -> dict[str, Any]:
    main = found[0]
    many = sheet.limit + 1
    looked_up = 4 * many
    found_calls: list[CallsOf] = []

    likely = None if sheet.include_unproven else PossibleReceivers(codebase.index, main)

    def look_for_calls() -> list[ReferenceRecord]:
        found_calls.append(codebase.calls_of(main, limit=looked_up if likely is None else MAX_JUDGED))
        return found_calls[-1].calls

    calls = log.run("callers", look_for_calls)
    told = found_calls[-1]
    uses = log.run("references", lambda: codebase.references(main, limit=looked_up))
    imports = log.run("importers", lambda: importers_of_symbol(codebase.index, main, 500))
    callees = log.run("callees", lambda: codebase.callees(main, limit=many))
    # What was not looked up may be among any of these.
    sheet.cut |= {"callers", "tests"} if len(calls) >= (looked_up if likely is None else MAX_JUDGED) else set()
    sheet.cut |= {"references", "tests"} if len(uses) >= looked_up else set()
    called = {(call.file, call.line) for call in calls}
    if main.kind in VALUE_KINDS:
        listed = {(use.file, use.line) for use in uses} | {(main.file, main.name_line)}
        uses += [line for line in _given(codebase, main) if (line.file, line.line) not in listed]
    others = [use for use in uses if (use.file, use.line) not in called and use.kind != "import"]
    mentions = list(told.mentions)
    left_out = 0
    if likely is not None:
        kept = [use for use in others if _allows(codebase, likely, use)]
        mentions = [use for use in mentions if _allows(codebase, likely, use)]
        left_out = len(others) - len(kept) + told.unproven - told.unproven_in_tests - len(mentions)
        others = kept
    in_tests = [use for use in (*calls, *others) if is_in_test(use)] or _named_in_tests(codebase, main, many)
    callers = [call for call in calls if not is_in_test(call)]
    references = [use for use in others if not is_in_test(use)]
    naming = _files_naming(codebase, main)
    parts: dict[str, Any] = {
        "definitions": [sheet.definition(symbol) for symbol in found],
        "namesakes": [sheet.definition(symbol) for symbol in (_namesakes(codebase, main) if told.unproven else ())],
        "callers": sheet.rows("callers", callers, lambda item: sheet.reference(item, f"calls {main.name}")),
        "unproven": told.unproven,
        "unproven_in_tests": told.unproven_in_tests,
        "mentions": sheet.rows("mentions", mentions, lambda item: sheet.reference(item, f"calls a {main.name}")),
        "references": sheet.rows("references", references, lambda item: sheet.reference(item, f"mentions {main.name}")),
        "importers": sheet.rows("importers", imports, lambda item: sheet.importer(item, main, naming)),
        "tests": sheet.rows("tests", in_tests, lambda item: sheet.reference(item, f"tests {main.name}")),
        "callees": sheet.rows("callees", callees, sheet.callee),
        "others": sheet.rows("others", _calls_of_others(codebase, found, many), sheet.other),
    }
    if codebase.remembered is not None:
        known = log.run("entity_graph", lambda: relations_that_hold(codebase, main))
        seen = {(use.file, use.line) for use in (*calls, *uses)} | {(one.file, one.line) for one in imports}
        fresh = [relation for relation in known if (relation.source_file, relation.start_line) not in seen]
        parts["remembered"] = sheet.rows("remembered", fresh, lambda item: sheet.remembered(item, main.name))
    if likely is not None:
        parts |= {"left_out": left_out, "mentions": parts.pop("mentions")}
    return parts


def _named_in_tests(codebase: Codebase, main: SymbolRecord, limit: int) -> list[ReferenceRecord]:
    """Return lines of tests that have the name of a definition, but its own; of no type, which nobody gives by name."""
    if main.kind in CONTAINER_KINDS:
        return []
    own = (main.file, main.name_line)
    return [use for use in named_in_tests(codebase, main.name, limit) if (use.file, use.line) != own]


def _called_first(codebase: Codebase, wanted: str, found: list[SymbolRecord]) -> list[SymbolRecord]:
    """Put the first of a bare name's methods first that calls are proven to mean: the one that others override, say."""
    tried = found[:MAX_OTHERS] if found[0].owner and "." not in wanted and len(found) > 1 else ()
    called = next((one for one in tried if one.owner and codebase.calls_of(one, limit=1).calls), found[0])
    return [called, *(one for one in found if one is not called)]


def _allows(codebase: Codebase, likely: PossibleReceivers, use: ReferenceRecord) -> bool:
    source = codebase.try_source(use.file) if likely.reads_line(use) else None
    line = source.lines[use.line - 1] if source is not None and use.line <= len(source.lines) else ""
    return likely.allow(use, line)


def _calls_of_others(
    codebase: Codebase, found: Sequence[SymbolRecord], limit: int
) -> list[tuple[SymbolRecord, ReferenceRecord]]:
    """Return the proven calls of what has the name of the first definition, and no owner: one of each platform, say."""
    main = found[0]
    others = [other for other in found[1:] if other.qualified_name == main.qualified_name and not main.owner]
    calls = [(other, call) for other in others[:MAX_OTHERS] for call in codebase.calls_of(other, limit=limit).calls]
    return calls[:limit]


def _given(codebase: Codebase, main: SymbolRecord) -> list[ReferenceRecord]:
    """Find the lines of its class that assign a field, or give a parameter of its name a default: `depth: int = 3,`."""
    owners = [owner for owner in codebase.symbols_named(main.owner) if owner.file == main.file] if main.owner else []
    source = codebase.try_source(main.file)
    if source is None or not owners:
        return []
    given = re.compile(rf"^\s*(?:(?:async\s+)?def\b.*[(,]\s*|self\.)?{re.escape(main.name)}\s*(?::|=(?!=))")
    lines = range(owners[0].start_line, min(owners[0].end_line, len(source.lines)) + 1)
    found = [line for line in lines if _is_given(source.lines[line - 1], main.name, given)]
    outer = [codebase.symbol_at(main.file, line) for line in found]
    return [
        ReferenceRecord(main.file, line, main.name, "reference", enclosing=holder.qualified_name)
        for line, holder in zip(found, outer, strict=True)
        if holder is not None
    ]


def _is_given(line: str, name: str, given: re.Pattern[str]) -> bool:
    # What begins like this is said of it: comments, and documentation of a parameter.
    is_said = line.lstrip().startswith(("#", "//", "*", ":", ">>>"))
    return name in line and not is_said and given.search(line) is not None


def _namesakes(codebase: Codebase, main: SymbolRecord) -> list[SymbolRecord]:
    """Return methods of other types that calls of that name may mean as well; none in Python, where scopes decide."""
    if not main.owner or language_at(main.file).is_scoped:
        return []
    named = codebase.symbols_named(main.name, limit=20 * MAX_NAMESAKES)
    others = [other for other in named if other.owner and other.kind in CALLABLE_KINDS and other.name == main.name]
    by_owner = {other.owner: other for other in reversed(others) if kind_of_path(other.file) != "test"}
    return [other for owner, other in reversed(by_owner.items()) if owner != main.owner][:MAX_NAMESAKES]


def _files_naming(codebase: Codebase, main: SymbolRecord) -> frozenset[str]:
    """Return the files whose text has the name of a definition: one that imports its module may mean others of it."""
    whole = index_terms(main.name).partition(" ")[0]
    return frozenset(codebase.index.files_with_term(whole, MAX_FILES)) if whole else frozenset()


def _unlisted(wanted: str, lines: Sequence[ReferenceRecord], sheet: _Sheet) -> _Row:
    """Return the parts for a name without a definition in the index: its lines only, those of tests apart."""
    used = [line for line in lines if not is_in_test(line)]
    tests = [line for line in lines if is_in_test(line)]
    return {
        "symbol": wanted,
        "definitions": [],
        "callers": [],
        "references": sheet.rows("references", used, lambda item: sheet.reference(item, "names it")),
        "importers": [],
        "tests": sheet.rows("tests", tests, lambda item: sheet.reference(item, "names it in a test")),
        "callees": [],
    }


class _Sheet:
    """Collects rows and their citations, numbered together."""

    def __init__(self, codebase: Codebase, limit: int, *, include_unproven: bool = True) -> None:
        self.citations: list[Citation] = []
        self.limit = limit
        self.include_unproven = include_unproven
        self.cut: set[str] = set()
        self._codebase = codebase

    @property
    def note(self) -> _Row:
        """The field that names the parts with more items than rows; empty if there are none."""
        return {"has_more": sorted(self.cut)} if self.cut else {}

    def rows(self, part: str, items: Sequence[_T], row: Callable[[_T], _Row]) -> list[_Row]:
        """Return one row for each item up to the limit; a part with further items is noted as cut."""
        if len(items) > self.limit:
            self.cut.add(part)
        return [row(item) for item in items[: self.limit]]

    def definition(self, symbol: SymbolRecord) -> _Row:
        citation = cite_symbol(self._codebase, symbol, f"defines {symbol.qualified_name}")
        return {
            "file": symbol.file,
            "start_line": symbol.start_line,
            "end_line": symbol.end_line,
            "symbol": symbol.qualified_name,
            "kind": symbol.kind,
            "signature": symbol.signature,
            "docstring": symbol.docstring,
            "citation": add_citation(self.citations, citation),
        }

    def reference(self, item: ReferenceRecord, why: str) -> _Row:
        citation = cite(self._codebase, item.file, item.line, item.line, why=why, symbol=item.enclosing)
        return {
            "file": item.file,
            "line": item.line,
            "kind": item.kind,
            "enclosing": item.enclosing,
            "text": citation.quote if citation else "",
            "proof": _proof(item.proof),
            "citation": add_citation(self.citations, citation),
        }

    def other(self, item: tuple[SymbolRecord, ReferenceRecord]) -> _Row:
        definition, call = item
        return {**self.reference(call, f"calls {definition.name}"), "of": definition.file}

    def importer(self, item: ImportRecord, symbol: SymbolRecord, naming: Collection[str]) -> _Row:
        citation = cite(self._codebase, item.file, item.line, item.line, why=f"imports {symbol.file}")
        return {
            "file": item.file,
            "line": item.line,
            "module": item.module,
            "name": item.name,
            "imports": "module" if is_of_whole_module(item, symbol) else "symbol",
            "names_it": item.file in naming,
            "text": citation.quote if citation else "",
            "citation": add_citation(self.citations, citation),
        }

    def remembered(self, item: Relation, name: str) -> _Row:
        citation = cite(
            *(self._codebase, item.source_file, item.start_line, item.end_line),
            why=f"{_SHOWS[item.kind]} {name}",
            symbol=None if item.source == item.source_file else item.source,
        )
        return {
            "relation": item.kind,
            "name": item.source,
            "file": item.source_file,
            "start_line": item.start_line,
            "end_line": item.end_line,
            "text": citation.quote if citation else "",
            "citation": add_citation(self.citations, citation),
        }

    def callee(self, item: Callee) -> _Row:
        target = item.definition
        citation = cite_symbol(self._codebase, target, f"defines {target.qualified_name}") if target else None
        return {
            "name": item.name,
            "line": item.line,
            "symbol": target.qualified_name if target else None,
            "kind": target.kind if target else None,
            "docstring": target.docstring if target else "",
            "file": target.file if target else None,
            "start_line": target.start_line if target else None,
            "end_line": target.end_line if target else None,
            "state": item.state,
            "proof": _proof(item.proof),
            "citation": add_citation(self.citations, citation),
        }


def _proof(steps: Proof) -> list[dict[str, Any]]:
    return [{"kind": kind, "file": file, "line": line} for kind, file, line in steps]


TOOL = CodeTool(
    name="explore_symbol_usage",
    description="Definitions, callers, importers, tests and callees of a symbol.",
    parameters=ExploreSymbolUsage,
    run=by_fields(explore_symbol_usage),
    reduced={"max_results": 5},
    capped_by={"max_results": "max_symbol_results"},
    cost=4,
    remembered_of="symbol",
    isolation="in_process",
    place=20,
    example={"symbol": "Depot.open"},
)
