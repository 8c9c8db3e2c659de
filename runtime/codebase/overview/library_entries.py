"""Finds what callers of a library begin with: exports, its namesake, what its documents use."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.overview import entry_points
from runtime.codebase.overview.documented_use import guides_of, most_used
from runtime.codebase.overview.entry_points import EntryPoint
from runtime.codebase.overview.folder_files import FolderFiles, in_folder
from runtime.codebase.overview.manifests import Manifest
from runtime.codebase.overview.part_names import WITH_MODULES, plain_name
from runtime.codebase.overview.purposes import names_of

MAX_EXPORTING_FILES = 2
LEAST_SHARE_OF_EXPORTING = 0.2
LEAST_SHARE_OF_LANGUAGE = 0.1
_GO_KINDS = ("function", "struct", "interface", "type")
_TYPES = ("class", "struct", "interface", "trait", "object")


def namesakes(files: FolderFiles, names: Collection[str]) -> Iterator[EntryPoint]:
    """Yield the first type that is called as the project is, which users of a library begin with."""
    called = {name.replace("-", "").replace("_", "").lower() for name in names}
    symbols = files.codebase.index.top_level_names(files.sizes, (*_TYPES, "module"))
    symbols = [symbol for symbol in symbols if symbol.kind != "module" or _is_module_of_file(symbol)]
    own = [symbol for symbol in symbols if symbol.name.lower() in called and symbol.parent_id is None]
    for symbol in sorted(own, key=lambda symbol: (symbol.file.count("/"), symbol.file, symbol.start_line))[:1]:
        yield EntryPoint("namesake", symbol.qualified_name, symbol.file, symbol.name_line, symbol.name_line)


def _is_module_of_file(symbol: SymbolRecord) -> bool:
    """Return whether a module is one of Ruby, in the file that is called so."""
    stem = posixpath.splitext(posixpath.basename(symbol.file))[0]
    return language_at(symbol.file).name in WITH_MODULES and plain_name(stem) == plain_name(symbol.name)


def documented(files: FolderFiles, told: Collection[str]) -> Iterator[EntryPoint]:
    """Yield the types and functions that the documents use most."""
    symbols = files.codebase.index.top_level_names(files.sizes, (*_TYPES, "function"))
    symbols += [
        one for one in files.codebase.index.top_level_names(files.sizes, ("module",)) if _is_module_of_file(one)
    ]
    counts = Counter(symbol.name for symbol in symbols)
    own = {one.name: one.file for one in symbols if counts[one.name] == 1 and one.name not in told}
    for used in most_used(guides_of(files.paths), files.lines, own):
        names = (used.name,) * used.lines
        yield EntryPoint("documented", used.name, used.file, used.line, used.line, own[used.name], names)


def _go_exports(files: FolderFiles) -> Iterator[EntryPoint]:
    """Yield the file of a Go package at the top that exports most names to its users."""
    own = [path for path in in_folder(files.place, files.sizes) if path.endswith(".go")]
    found: dict[str, list[SymbolRecord]] = {}
    for symbol in files.codebase.index.top_level_names(own, _GO_KINDS):
        if symbol.name[0].isupper() and symbol.parent_id is None:
            found.setdefault(symbol.file, []).append(symbol)
    # That of the package's own name comes first.
    called = {plain_name(name) for name in names_of(files)}
    stems = {path: plain_name(posixpath.splitext(posixpath.basename(path))[0]) for path in found}
    for path in sorted(found, key=lambda path: (stems[path] not in called, -len(found[path]), path))[:1]:
        if not any(line.startswith("package main") for line in files.lines(path)):
            lines = [symbol.name_line for symbol in found[path]]
            end = max(line for line in lines if line < lines[0] + entry_points.MAX_EXPORT_LINES)
            names = tuple(symbol.name for symbol in found[path])
            yield EntryPoint("exports", path, path, lines[0], end, names=names)


def _main_families(files: FolderFiles) -> set[str]:
    """Return the families of languages that have a fair share of the source; others serve a part beside the rest."""
    lines: Counter[str] = Counter()
    for path, count in files.sizes.items():
        lines[_family(path)] += count
    return {family for family, count in lines.items() if count >= LEAST_SHARE_OF_LANGUAGE * lines.total()}


def _family(path: str) -> str:
    language = language_at(path)
    return language.family or language.name


def exports(files: FolderFiles, manifests: Sequence[Manifest]) -> Iterator[EntryPoint]:
    """Yield what the outermost exporting files export, those of the largest packages first."""
    named = [
        posixpath.normpath(posixpath.join(posixpath.dirname(manifest.path), each.name))
        for manifest in manifests
        for each in manifest.main
    ]
    usual = [path for path in files.sizes if entry_points.EXPORTING.search(path)]
    yield from _go_exports(files)
    families = _main_families(files)
    candidates = {path for path in (*named, *usual) if path in files.sizes and _family(path) in families}
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
