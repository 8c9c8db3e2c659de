"""Finds the ways into the code of a folder: its commands, main functions, exported names and scripts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.overview import entry_points
from runtime.codebase.overview.entry_calls import EntryCalls, entry_calls
from runtime.codebase.overview.entry_points import EntryPoint
from runtime.codebase.overview.folder_files import FolderFiles, Placed
from runtime.codebase.overview.library_entries import documented, exports, namesakes
from runtime.codebase.overview.part_links import PartLinks
from runtime.codebase.overview.prose_lines import headings
from runtime.codebase.overview.purposes import names_of
from runtime.codebase.overview.reading_order import design_documents, most_imported
from runtime.codebase.overview.units import BUILDING, Unit

MAX_GUARDS = 500
MAX_CONTAINERS = 2
MAX_BEGUN_TRIED = 2
MAX_LINES_OF_PROGRAM = 600
_PREPROCESSOR = re.compile(r"\s*#\s*(if|endif)")
# `#ifdef SDS_TEST_MAIN`, `#if defined(DEMO)`; not `#ifndef NO_TESTS`.
_TEST_BUILD = re.compile(
    r"\s*#\s*if(?!.*!\s*defined)(?:def\b|\b.*\bdefined\b)[^/]*?(?:\b|_)"
    r"(?:UNIT_?TESTS?|SELF_?TESTS?|TESTS?|TESTING|DEMO|EXAMPLES?|BENCH(?:MARKS?)?)(?:\b|_)",
    re.IGNORECASE,
)
_OF_TESTS = re.compile(r"(?:^|/)test\w*/")
_CALLING = frozenset({"function", "method"})
_NO_PRODUCT = frozenset({"test", "example", "docs", "vendored", "benchmark"})
_MAIN_LANGUAGES = frozenset({"go", "c", "cpp", "rust", "java", "kotlin", "c_sharp", "csharp", "swift", "scala", "dart"})


def entries_of(files: FolderFiles, units: Sequence[Unit]) -> list[EntryPoint]:
    """Return the ways into a folder: declared commands, main functions, exports, what is served or started, scripts.

    Of main functions those that lie less deep come first; of scripts those called as the project is. Where none of
    these is found, the types that bear the name of the whole stand for them.
    """
    folders = dict.fromkeys((files.place, *(unit.path for unit in units if not unit.is_file)))
    manifests = [manifest for folder in folders for manifest in files.manifests_of(folder)]
    commands = [entry for manifest in manifests for entry in entry_points.declared_commands(manifest)]
    known = {entry.name for entry in commands}
    # Beside programs that the metadata declares lie those for who works on it.
    shipped = {posixpath.dirname(entry.target) for entry in commands if entry_points.is_script_path(entry.target)}
    shipped |= set(_without_commands(files))
    names = names_of(files)
    scripts = sorted(_scripts(files), key=lambda entry: entry.name not in names)
    mains = sorted(_main_functions(files), key=lambda entry: _place_of_main(entry, names))
    # Programs that tests run are ways into the tests.
    mains = [entry for entry in mains if not _OF_TESTS.search(entry.file)] or mains
    mains = [entry for entry in mains if posixpath.basename(entry.file) not in BUILDING]
    found = [
        *commands,
        *mains,
        *exports(files, manifests),
        *_served(files),
        *(entry for entry in scripts if entry.name not in known and posixpath.dirname(entry.file) not in shipped),
        *_started(files),
    ]
    if not {entry.kind for entry in found} <= {"exports", "script"}:
        return found
    # Of a library it is told what its callers begin with.
    if not any(entry.kind == "exports" for entry in found):
        found += namesakes(files, names)
    return [*found, *documented(files, {entry.name for entry in found})]


def _without_commands(files: FolderFiles) -> Iterator[str]:
    """Yield the folder `bin` of a gem whose specification names no commands, nor finds them by a program."""
    for manifest in files.manifests_of(files.place):
        if manifest.path.endswith(".gemspec") and not any(
            ".executables" in line for line in files.lines(manifest.path)
        ):
            yield posixpath.join(files.prefix, "bin")


def reading_of(files: FolderFiles, links: PartLinks, entries: Sequence[EntryPoint]) -> list[Placed]:
    """Return where to begin reading, at most four places; `about` is the reason.

    The reasons: `document` (named for the design), `main`, `exports`, `namesake`, `command` (it runs the file `text`),
    `imported` (`count` source files import the file `text`; the place is one such import), and `largest` (of `count`
    lines) where there is nothing else.
    """
    found: list[Placed] = []
    for path in design_documents(files.paths)[:1]:
        at, _ = next(headings(files.lines(path)), (1, ""))
        found.append(Placed(path, path, at, at, "document"))
    begun = next((place for entry in entries if (place := _begun_by(files, entry)) is not None), None)
    code = (entry for entry in entries if entry.kind in {"main", "exports", "namesake"})
    # Of a library with a program for those who work on it, that lies deeper.
    entry = min(code, key=lambda entry: entry.file.removeprefix("src/").count("/"), default=None)
    run = next((place for entry in entries if (place := _run_by(files, entry)) is not None), None)
    if begun is not None or run is not None:
        found += [place for place in (begun or run,) if place is not None]
    elif entry is not None:
        found.append(Placed(entry.name, entry.file, entry.start_line, entry.end_line, entry.kind))
    for imported in most_imported(links.most_imported(), files.sizes):
        line = imported.line
        found.append(Placed(imported.path, imported.file, line, line, "imported", imported.importers))
    if not found and files.sizes:
        largest = max(files.sizes, key=lambda path: (files.sizes[path], path))
        found.append(Placed(largest, largest, 1, 1, "largest", files.sizes[largest]))
    return found


def calls_of_entry(
    files: FolderFiles,
    parts: Mapping[str, str],
    entries: Sequence[EntryPoint],
    reading: Sequence[Placed],
    ranks: Mapping[str, int],
) -> EntryCalls | None:
    """Return the calls into the parts of the function, or else the short file, with which the first program begins.

    `parts`: the part of each file.
    """
    begun = [(one.file, one.start_line) for one in reading if one.about == "main"]
    begun += [(one.text, 0) for one in reading if one.about == "command"]
    begun += [(entry.file, entry.start_line) for entry in entries if entry.kind == "main"]
    begun += [(entry.file, 0) for entry in entries if entry.kind == "script"]
    # Elsewhere hardly a call is proven to lead to another file.
    begun = [(file, line) for file, line in dict.fromkeys(begun) if files.codebase.proofs.has_facts(file)]
    for file, line in begun[:MAX_BEGUN_TRIED]:
        symbols = files.codebase.symbols_in(file) if line else []
        symbols = symbols or [one for one in files.codebase.symbols_in(file) if one.qualified_name == "main"]
        tried = [one for one in symbols if one.name_line == (line or one.name_line) and one.kind in _CALLING]
        if 0 < files.sizes.get(file, 0) <= MAX_LINES_OF_PROGRAM:
            tried.append(SymbolRecord(-1, file, file, file, "module", 1, files.sizes[file], 1, "", "", None))
        # Where all that is called lies in one part, its files are told apart.
        for place, known in ((parts, ranks), ({path: path for path in parts}, {})):
            found = (entry_calls(one, files.codebase.callees, place, known) for one in tried)
            best = next((calls for calls in found if calls is not None), None)
            if best is not None:
                return best
    return None


def command_places(files: FolderFiles, entries: Sequence[EntryPoint]) -> list[str]:
    """Return the files that declared commands run, or else the folders of the packages that declare them."""
    run = [(entry, _run_by(files, entry)) for entry in entries if entry.kind == "command"]
    return [posixpath.dirname(entry.file) if place is None else place.text for entry, place in run]


def _run_by(files: FolderFiles, entry: EntryPoint) -> Placed | None:
    """Return the file that a declared command runs, at the line that declares it."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(entry.file), entry.target))
    if entry.kind != "command" or path not in files.sizes:
        return None
    return Placed(path, entry.file, entry.start_line, entry.end_line, "command")


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


def _place_of_main(entry: EntryPoint, names: Collection[str]) -> tuple[int, bool, str]:
    """Order main functions: those that lie less deep first, of these those in files called `main` or as the project."""
    stem = posixpath.splitext(posixpath.basename(entry.file))[0]
    return entry.file.removeprefix("src/").count("/"), stem not in {"main", *names}, entry.file


def _served(files: FolderFiles) -> Iterator[EntryPoint]:
    for path in sorted(path for path in files.sizes if entry_points.is_server_path(path[len(files.prefix) :])):
        served = entry_points.served(path, files.lines(path))
        if served is not None:
            yield served


def _started(files: FolderFiles) -> Iterator[EntryPoint]:
    """Yield what the outermost containers and processes start."""
    paths = [path for path in files.paths if entry_points.is_container_path(path)]
    paths = [path for path in paths if kind_of_path(path[len(files.prefix) :]) not in _NO_PRODUCT]
    outermost = min((path.count("/") for path in paths), default=0)
    found = [
        started
        for path in sorted(paths, key=lambda path: (path.count("/"), len(path), path))
        if path.count("/") == outermost and (started := entry_points.started(path, files.lines(path))) is not None
    ]
    yield from {entry.name: entry for entry in reversed(found[:MAX_CONTAINERS])}.values()


def _scripts(files: FolderFiles) -> Iterator[EntryPoint]:
    # The index keeps no uses of such a name.
    guarded = files.codebase.search_text("__main__", max_hits=MAX_GUARDS, scope=files.place, endings=(".py", ".pyw"))
    paths = sorted({hit.file for hit in guarded.hits} & files.sizes.keys(), key=lambda path: (path.count("/"), path))
    found = [entry_points.main_guard(path, files.lines(path)) for path in paths]
    beside = tuple(f"{one.folder}/" for one in files.sources.asides if one.kind in _NO_PRODUCT)
    programs = [path for path in files.paths if entry_points.is_script_path(path[len(files.prefix) :])]
    programs = [path for path in programs if not path.startswith(beside)]
    found += [entry_points.script(path, files.lines(path)) for path in programs]
    yield from (entry for entry in found if entry is not None)


def _main_functions(files: FolderFiles) -> Iterator[EntryPoint]:
    symbols = files.codebase.index.symbols("s.name IN ('main', 'Main') AND s.kind IN ('function', 'method')", ())
    entries = [symbol for symbol in symbols if symbol.file in files.sizes and _is_entry(files, symbol)]
    entries = [one for one in entries if not _is_of_test_build(files.lines(one.file)[: one.name_line])]
    # Many a file of C has a program of its own for tests, which no usual build has.
    always = [symbol for symbol in entries if not _is_conditional(files.lines(symbol.file)[: symbol.name_line])]
    for symbol in always or entries:
        end = min(symbol.end_line, symbol.name_line + 1)
        yield EntryPoint("main", symbol.qualified_name, symbol.file, symbol.name_line, end)


def _is_of_test_build(lines: Sequence[str]) -> bool:
    """Return whether the last of the lines stands under a condition that is called after tests: `#ifdef X_TEST`."""
    conditions: list[str] = []
    for line in lines:
        if (found := _PREPROCESSOR.match(line)) is None:
            continue
        if found[1] == "if":
            conditions.append(line)
        elif conditions:
            conditions.pop()
    return any(_TEST_BUILD.search(line) is not None for line in conditions)


def _is_conditional(lines: Sequence[str]) -> bool:
    """Return whether the last of the lines stands under a condition of the preprocessor, `#ifdef TEST`."""
    depth = 0
    for line in lines:
        if (found := _PREPROCESSOR.match(line)) is not None:
            depth += 1 if found[1] == "if" else -1
    return depth > 0


def _is_entry(files: FolderFiles, symbol: SymbolRecord) -> bool:
    """Return whether a function called `main` is where a program of its language begins."""
    language, lines = files.languages.get(symbol.file), files.lines(symbol.file)
    if language not in _MAIN_LANGUAGES or symbol.name_line > len(lines):
        return False
    if symbol.kind == "method" and "static" not in lines[symbol.name_line - 1]:
        return False
    return language != "go" or any(line.startswith("package main") for line in lines)
