"""Finds a file or symbol that does not exist under the given name, by at most two further attempts.

A path: among similar ones, then by its file name. A symbol: partial names, then definitions imported under that name.
"""

from __future__ import annotations

import difflib
import posixpath

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.paths import readable_path
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.resolution.symbol_links import normal_name
from runtime.primitives.dotted_names import last_part

MAX_FOUND = 20
_SIMILARITY = 0.75


def find_symbols(codebase: Codebase, name: str, log: AttemptLog) -> list[SymbolRecord]:
    """Find definitions of a name, else of names that contain it, else those imported under it; best first."""
    return (
        log.run("symbol_index", lambda: codebase.symbols_named(name, limit=MAX_FOUND), "not_found")
        or log.retry("partial_symbol", lambda: codebase.symbols_named(name, fuzzy=True, limit=MAX_FOUND), "not_found")
        or log.retry("imports", lambda: _imported_as(codebase, name), "not_found")
    )


def find_file(codebase: Codebase, path: str, log: AttemptLog) -> str | None:
    """Find the file at a path, else at a similar path, else of that name; None without any. Denied outside the root."""
    relative = readable_path(codebase.root, path, allow_secrets=codebase.allow_secrets)
    exact = log.run("path", lambda: [relative] if (codebase.root / relative).is_file() else [], "not_found")
    if exact:
        return exact[0]
    paths = codebase.readable_paths()
    found = log.retry("fuzzy_path", lambda: similar_paths(relative, paths), "not_found")
    found = found or log.retry("index_by_name", lambda: same_name(relative, paths), "not_found")
    return found[0] if found else None


def similar_paths(wanted: str, paths: list[str]) -> list[str]:
    """Return the paths that end in the wanted one, or else are spelt much like it; best first."""
    tail = "/" + wanted.lower()
    ending = [path for path in paths if ("/" + path.lower()).endswith(tail)]
    if ending:
        return sorted(ending, key=_preference)
    return difflib.get_close_matches(wanted, paths, n=3, cutoff=_SIMILARITY)


def same_name(wanted: str, paths: list[str]) -> list[str]:
    """Return the paths of files with the wanted file name, else with its stem; best first."""
    name = posixpath.basename(wanted).lower()
    stem = posixpath.splitext(name)[0]
    same = [path for path in paths if posixpath.basename(path).lower() == name]
    same_stem = [path for path in paths if posixpath.splitext(posixpath.basename(path).lower())[0] == stem]
    return sorted(same or same_stem, key=_preference)


def _imported_as(codebase: Codebase, name: str) -> list[SymbolRecord]:
    """Return the definitions in the repository that imports bind to that name."""
    last = last_part(normal_name(name))
    imports = codebase.index.imports("i.alias = ? AND i.target IS NOT NULL", (last,), MAX_FOUND) if last else []
    targets = dict.fromkeys((item.target, item.name) for item in imports if item.name)
    return [symbol for file, real in targets for symbol in codebase.symbols_named(real) if symbol.file == file]


def _preference(path: str) -> tuple[bool, int, str]:
    return (kind_of_path(path) != "source", path.count("/"), path)
