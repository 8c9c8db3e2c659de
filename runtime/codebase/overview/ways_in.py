"""Finds the ways into the code of a folder: its commands, main functions, exported names and scripts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.overview import entry_points
from runtime.codebase.overview.entry_points import EntryPoint
from runtime.codebase.overview.folder_files import FolderFiles, Placed
from runtime.codebase.overview.manifests import Manifest
from runtime.codebase.overview.part_links import PartLinks
from runtime.codebase.overview.prose_lines import headings
from runtime.codebase.overview.purposes import names_of
from runtime.codebase.overview.reading_order import design_documents, most_imported
from runtime.codebase.overview.units import Unit

MAX_EXPORTING_FILES = 2
MAX_GUARDS = 500
LEAST_SHARE_OF_EXPORTING = 0.2
_MAIN_LANGUAGES = frozenset({"go", "c", "cpp", "rust", "java", "kotlin", "c_sharp", "csharp", "swift", "scala", "dart"})


def entries_of(files: FolderFiles, units: Sequence[Unit]) -> list[EntryPoint]:
    """Return the ways into a folder: declared commands, main functions, exports, then scripts.

    Of main functions those that lie less deep come first; of scripts those called as the project is.
    """
    folders = dict.fromkeys((files.place, *(unit.path for unit in units if not unit.is_file)))
    manifests = [manifest for folder in folders for manifest in files.manifests_of(folder)]
    commands = [entry for manifest in manifests for entry in entry_points.declared_commands(manifest)]
    known = {entry.name for entry in commands}
    names = names_of(files)
    scripts = sorted(_scripts(files), key=lambda entry: entry.name not in names)
    mains = sorted(_main_functions(files), key=lambda entry: (entry.file.count("/"), entry.file))
    return [
        *commands,
        *mains,
        *_exports(files, manifests),
        *(entry for entry in scripts if entry.name not in known),
    ]


def reading_of(files: FolderFiles, links: PartLinks, entries: Sequence[EntryPoint]) -> list[Placed]:
    """Return where to begin reading, at most four places; `about` is the reason.

    The reasons: `document` (named for the design), `main` or `exports`, `imported` (`count` source files import the
    file `text`; the place is one such import), and `largest` (of `count` lines) where there is nothing else.
    """
    found: list[Placed] = []
    for path in design_documents(files.paths)[:1]:
        at, _ = next(headings(files.lines(path)), (1, ""))
        found.append(Placed(path, path, at, at, "document"))
    begun = next((place for entry in entries if (place := _begun_by(files, entry)) is not None), None)
    code = (entry for entry in entries if entry.kind in {"main", "exports"})
    # Of a library with a program for those who work on it, that lies deeper.
    entry = min(code, key=lambda entry: entry.file.removeprefix("src/").count("/"), default=None)
    if begun is not None:
        found.append(begun)
    elif entry is not None:
        found.append(Placed(entry.name, entry.file, entry.start_line, entry.end_line, entry.kind))
    for imported in most_imported(links.most_imported(), files.sizes):
        line = imported.line
        found.append(Placed(imported.path, imported.file, line, line, "imported", imported.importers))
    if not found and files.sizes:
        largest = max(files.sizes, key=lambda path: (files.sizes[path], path))
        found.append(Placed(largest, largest, 1, 1, "largest", files.sizes[largest]))
    return found


def _begun_by(files: FolderFiles, entry: EntryPoint) -> Placed | None:
    """Return the function that a declared command of Python runs, `package.module:function`."""
    module, _, name = entry.target.partition(":")
    if entry.kind != "command" or not name:
        return None
    below = module.strip().replace(".", "/")
    endings = (f"/{below}.py", f"/{below}/__init__.py")
    for path in (path for path in files.sizes if f"/{path}".endswith(endings)):
        for symbol in files.codebase.symbols_in(path):
            if symbol.kind == "function" and symbol.qualified_name == name.strip():
                end = min(symbol.end_line, symbol.name_line + 1)
                return Placed(symbol.name, path, symbol.name_line, end, "main")
    return None


def _scripts(files: FolderFiles) -> Iterator[EntryPoint]:
    # The index keeps no uses of such a name.
    guarded = files.codebase.search_text("__main__", max_hits=MAX_GUARDS, scope=files.place, endings=(".py", ".pyw"))
    paths = sorted({hit.file for hit in guarded.hits} & files.sizes.keys(), key=lambda path: (path.count("/"), path))
    found = [entry_points.main_guard(path, files.lines(path)) for path in paths]
    programs = [path for path in files.paths if entry_points.is_script_path(path[len(files.prefix) :])]
    found += [entry_points.script(path, files.lines(path)) for path in programs]
    yield from (entry for entry in found if entry is not None)


def _main_functions(files: FolderFiles) -> Iterator[EntryPoint]:
    symbols = files.codebase.index.symbols("s.name IN ('main', 'Main') AND s.kind IN ('function', 'method')", ())
    for symbol in symbols:
        if symbol.file in files.sizes and _is_entry(files, symbol):
            end = min(symbol.end_line, symbol.name_line + 1)
            yield EntryPoint("main", symbol.qualified_name, symbol.file, symbol.name_line, end)


def _is_entry(files: FolderFiles, symbol: SymbolRecord) -> bool:
    """Return whether a function called `main` is where a program of its language begins."""
    language, lines = files.languages.get(symbol.file), files.lines(symbol.file)
    if language not in _MAIN_LANGUAGES or symbol.name_line > len(lines):
        return False
    if symbol.kind == "method" and "static" not in lines[symbol.name_line - 1]:
        return False
    return language != "go" or any(line.startswith("package main") for line in lines)


def _exports(files: FolderFiles, manifests: Sequence[Manifest]) -> Iterator[EntryPoint]:
    """Yield what the outermost exporting files export, those of the largest packages first."""
    named = [
        posixpath.normpath(posixpath.join(posixpath.dirname(manifest.path), each.name))
        for manifest in manifests
        for each in manifest.main
    ]
    usual = [path for path in files.sizes if entry_points.EXPORTING.search(path)]
    candidates = {path for path in (*named, *usual) if path in files.sizes}
    lines = {path: files.lines_below(posixpath.dirname(path)) for path in candidates}
    found: list[str] = []
    # Below the outermost package a file exports to the rest of the package, not to its users.
    outermost = min((path.count("/") for path in candidates), default=0)
    for path in sorted(candidates, key=lambda path: (path.count("/"), -lines[path], path)):
        is_deeper = path.count("/") > outermost
        if len(found) == MAX_EXPORTING_FILES or is_deeper:
            return
        exported = entry_points.exports(path, files.lines(path))
        if exported is not None and (not found or lines[path] >= LEAST_SHARE_OF_EXPORTING * lines[found[0]]):
            found.append(path)
            yield exported
