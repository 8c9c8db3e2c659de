"""Declares the tool `map_module`: the contents, imports and importers of a folder or file."""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import ImportRecord, IndexedFile, SymbolRecord, around
from runtime.codebase.parsing.head_docs import head_doc
from runtime.codebase.resolution.symbol_links import dotted_path
from runtime.codebase.tool_parts.citing import add_citation, cite, cite_symbol
from runtime.codebase.tool_parts.fallbacks import same_name, similar_paths
from runtime.codebase.tool_parts.main_first import (
    as_tree,
    by_main_symbol,
    folders_around,
    heaviest_first,
    main_symbols,
    weights_of,
)
from runtime.codebase.tool_registry import CodeTool, Path, Text, by_fields
from runtime.errors import RepositoryError
from runtime.tools.result import ToolStatus

MAX_TREE_LINES = 200
MAX_MAPPED_FILES = 30
MAX_SYMBOLS_PER_FILE = 15
MAX_SYMBOLS = 120
MAX_IMPORTS = 40
MAX_SIGNATURE_CHARS = 160
MAX_DOCSTRING_CHARS = 160

_SHOWN_KINDS_OF_MANY: frozenset[str] = frozenset(
    {"class", "function", "interface", "struct", "trait", "enum", "type", "method", "constructor", "macro", "section"}
)


class MapModule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What does the folder or file at `path` hold? `symbol`: a type of it, which is told with its members alone."""

    path: Path = "."
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=15)] = 15
    symbol: Text | None = None


def map_module(codebase: Codebase, path: str = ".", max_depth: int = 15, symbol: str | None = None) -> ToolResult:
    """Map a folder or file; `max_depth` is the number of folder levels shown below it, at least 1.

    With a `symbol`, by its qualified name (`Depot`, `Depot.Bay`), only that symbol and its members are listed.

    `data`: path, kind (file or folder), tree [line …], files [{file, language, lines, docstring, docstring_citation,
    symbols}], imports [{module, target, files}], importers [{file, line, module, citation}]; a symbol is {symbol, kind,
    signature, docstring, start_line, end_line, citation}, where `citation` is a position in the result's citations.
    Sources come first, the heaviest leading: lines times one more than the importing files; of a file in a folder its
    main definitions. What was left out is counted: `more_files`, `more_tree_lines`, and `more_symbols` of a file;
    `truncated` is then True.
    """
    log = AttemptLog(codebase.max_retries)
    try:
        place = codebase.relative(path or ".")
    except RepositoryError as error:
        return log.result("denied", {"path": path}, [], error=error.message)
    files = log.run("path", lambda: _files_below(codebase, place), "not_found")
    if not files:
        similar = log.retry("fuzzy_path", lambda: _similar(codebase, path), "not_found")
        similar = similar or log.retry(
            "index_by_name", lambda: same_name(place, codebase.readable_paths()), "not_found"
        )
        if not similar:
            return log.result("not_found", {"path": path}, [], error=f"no file or folder {path} in the index")
        place = similar[0]
        files = _files_below(codebase, place)
    if symbol is not None and not any(
        _within(symbol, each) for file in files if file.is_readable for each in codebase.symbols_in(file.path)
    ):
        return log.result("not_found", {"path": place}, [], error=f"no symbol {symbol} in {place}")
    return _Map(codebase, place, files, max(1, max_depth), symbol).result(log)


def _within(symbol: str, other: SymbolRecord) -> bool:
    return other.qualified_name == symbol or other.qualified_name.startswith(f"{symbol}.")


def _files_below(codebase: Codebase, place: str) -> list[IndexedFile]:
    return [
        file for file in codebase.files() if place == "." or file.path == place or file.path.startswith(place + "/")
    ]


def _similar(codebase: Codebase, path: str) -> list[str]:
    wanted = path.strip().strip("/").replace("\\", "/")
    paths = codebase.readable_paths()
    folders = sorted({folder for each in paths if (folder := posixpath.dirname(each))})
    dotted = [each for each in paths if dotted_path(each) == wanted or dotted_path(each).endswith("." + wanted)]
    return dotted or similar_paths(wanted, folders) or similar_paths(wanted, paths)


class _Map:
    def __init__(
        self, codebase: Codebase, place: str, files: list[IndexedFile], max_depth: int, symbol: str | None
    ) -> None:
        self._codebase = codebase
        self._place = place
        self._prefix = "" if place == "." else place + "/"
        self._weights = weights_of(files, codebase.file_links())
        self._files = files
        self._left_out: dict[str, int] = {}
        self._max_depth = max_depth
        self._symbol = symbol
        self._is_file = len(files) == 1 and files[0].path == place
        self._citations: list[Citation] = []
        self._truncated = False

    def result(self, log: AttemptLog) -> ToolResult:
        data: dict[str, Any] = {
            "path": self._place,
            "kind": "file" if self._is_file else "folder",
            "tree": self._tree(),
            "files": self._described(),
            "imports": self._imports(),
            "importers": self._importers(),
        }
        data |= self._left_out
        status: ToolStatus = "partial" if self._truncated else "ok"
        return log.result(status, data, self._citations, truncated=self._truncated)

    def _tree(self) -> list[str]:
        """Return one line for each folder and file, indented by depth; folders end in a slash and a file count."""
        prefix = "" if self._is_file else self._prefix
        files = as_tree(self._files, self._weights, prefix)
        folders = Counter(file.path[len(prefix) :].rpartition("/")[0] for file in files)
        counts: Counter[str] = Counter()
        for folder, count in folders.items():
            for place in folders_around(folder):
                counts[place] += count
        lines: list[str] = []
        shown: set[str] = set()
        for file in files:
            folder, _, name = file.path[len(prefix) :].rpartition("/")
            places = folders_around(folder) if folder not in shown else ()
            for depth, place in enumerate(places[: self._max_depth]):
                if place not in shown:
                    lines.append(f"{'  ' * depth}{place.rpartition('/')[2]}/ ({counts[place]} files)")
            shown.update(places)
            depth = folder.count("/") + 1 if folder else 0
            if depth < self._max_depth:
                told = f"{file.lines} lines" if file.is_readable else file.note
                lines.append(f"{'  ' * depth}{name} ({told})")
            else:
                self._truncated = True
        if len(lines) > MAX_TREE_LINES:
            self._leave_out("more_tree_lines", len(lines) - MAX_TREE_LINES)
            lines = lines[:MAX_TREE_LINES]
        return lines

    def _described(self) -> list[dict[str, Any]]:
        listed = (file for file in self._files if file.is_readable)
        readable = heaviest_first(listed, self._weights, self._prefix)
        if len(readable) > MAX_MAPPED_FILES:
            self._leave_out("more_files", len(readable) - MAX_MAPPED_FILES)
        rows: list[dict[str, Any]] = []
        left = MAX_SYMBOLS
        shown = readable[:MAX_MAPPED_FILES]
        each = MAX_SYMBOLS if self._is_file else min(MAX_SYMBOLS_PER_FILE, MAX_SYMBOLS // max(1, len(shown)))
        for file in shown:
            row = self._file_row(file, min(left, each))
            left -= len(row["symbols"])
            rows.append(row)
        return rows

    def _file_row(self, file: IndexedFile, limit: int) -> dict[str, Any]:
        symbols = self._codebase.symbols_in(file.path)
        module = next((symbol for symbol in symbols if symbol.kind == "module" and symbol.start_line == 1), None)
        told = symbols if self._symbol is not None else around(symbols)
        shown = [symbol for symbol in told if symbol is not module and self._is_shown(symbol)]
        more = max(0, len(shown) - limit)
        self._truncated = self._truncated or more > 0
        shown = main_symbols(shown, limit)
        shown = shown if self._is_file else by_main_symbol(shown)
        source = self._codebase.try_source(file.path)
        said = head_doc(source.lines, file.language) if source is not None and file.language else None
        cited = cite(self._codebase, file.path, said.start_line, said.end_line, why="says what it is") if said else None
        return {
            "file": file.path,
            "language": file.language,
            "lines": file.lines,
            "docstring": (module.docstring if module else "") or (said.text if said else ""),
            "docstring_citation": add_citation(self._citations, cited),
            "symbols": [self._symbol_row(symbol) for symbol in shown],
            **({"more_symbols": more} if more else {}),
        }

    def _leave_out(self, what: str, count: int) -> None:
        self._left_out[what] = count
        self._truncated = True

    def _is_shown(self, symbol: SymbolRecord) -> bool:
        if self._symbol is not None:
            return _within(self._symbol, symbol)
        return self._is_file or (symbol.kind in _SHOWN_KINDS_OF_MANY and symbol.qualified_name.count(".") <= 1)

    def _symbol_row(self, symbol: SymbolRecord) -> dict[str, Any]:
        citation = cite_symbol(self._codebase, symbol, f"is in {symbol.file}")
        return {
            "symbol": symbol.qualified_name,
            "kind": symbol.kind,
            "signature": symbol.signature[:MAX_SIGNATURE_CHARS],
            "docstring": symbol.docstring[:MAX_DOCSTRING_CHARS],
            "start_line": symbol.start_line,
            "end_line": symbol.end_line,
            "citation": add_citation(self._citations, citation),
        }

    def _imports(self) -> list[dict[str, Any]]:
        """Return imports from outside the place: those within the repository first, the most frequent first."""
        users: dict[tuple[str, str | None], set[str]] = {}
        paths = [file.path for file in self._files[: 10 * MAX_MAPPED_FILES]]
        for item in self._codebase.index.imports_of_files(paths):
            if not self._is_inside(item.target):
                users.setdefault((item.module, item.target), set()).add(item.file)
        rows = [{"module": module, "target": target, "files": len(files)} for (module, target), files in users.items()]
        rows.sort(key=lambda row: (row["target"] is None, -int(row["files"] or 0), str(row["module"])))
        return rows[:MAX_IMPORTS]

    def _importers(self) -> list[dict[str, Any]]:
        if self._place == ".":
            return []
        items = [item for item in self._codebase.importers(self._place) if not self._is_inside(item.file)]
        items.sort(key=lambda item: (kind_of_path(item.file) != "source", item.file, item.line))
        first_of_file = {item.file: item for item in reversed(items)}
        shown = [item for item in items if first_of_file[item.file] is item]
        return [self._importer_row(item) for item in shown[:MAX_IMPORTS]]

    def _importer_row(self, item: ImportRecord) -> dict[str, Any]:
        citation = cite(self._codebase, item.file, item.line, item.line, why=f"imports {self._place}")
        return {
            "file": item.file,
            "line": item.line,
            "module": item.module,
            "citation": add_citation(self._citations, citation),
        }

    def _is_inside(self, path: str | None) -> bool:
        return path is not None and (path == self._place or path.startswith(self._place + "/") or self._place == ".")


TOOL = CodeTool(
    name="map_module",
    description="Files, symbols, imports and importers of a folder or file.",
    parameters=MapModule,
    run=by_fields(map_module),
    reduced={"max_depth": 2},
    capped_by={"max_depth": "max_tree_depth"},
    cost=4,
    isolation="in_process",
    place=30,
    example={"path": "pkg"},
)
