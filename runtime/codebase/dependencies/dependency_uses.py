"""Finds where a dependency is imported, and the lines of code that use what is imported.

A use is a reference that the index recorded, so that comments and strings are none. What is only named elsewhere, as a
plugin is in a configuration file, is a mention.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.import_names import bound_names, is_import_of, module_names
from runtime.codebase.dependencies.requirement import Requirement, is_lock_file, short_names
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import ImportRecord, ReferenceRecord
from runtime.codebase.language_registry import language_at
from runtime.codebase.search.telling_lines import imports_or_exports

MAX_IMPORTS = 20_000
# Of more files only the imports are told.
MAX_FILES_READ = 60
MAX_USES_OF_FILE = 3
MAX_IMPORT_LINES = 40
MAX_PATHS = 400
MAX_MENTIONS = 40
_ENDINGS_OF_CRATES = (".rs",)
_KINDS = {"call": 0, "base": 1, "decorator": 1}
_ROOT = re.compile(r"[A-Za-z_$][\w$]*")
_LAST_OF_PATH = re.compile(r"(?:\w+::)+(\w+)")
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--)")
_MENTION_KINDS = frozenset({"source", "test", "data", "docs"})
_PARTS = re.compile(r"[-_./:@]")


@dataclass(frozen=True, slots=True)
class Imported:
    """Holds the line of a file that imports a dependency, and the names that it binds."""

    file: str
    line: int
    bound: frozenset[str]


def imports_of(codebase: Codebase, requirements: Sequence[Requirement]) -> list[Imported]:
    """Return the lines that import a dependency, by whichever of its declarations, those of the source first."""
    ecosystems = frozenset(each.ecosystem for each in requirements)
    found: dict[tuple[str, int], frozenset[str]] = {}
    for row in codebase.index.imports("1", (), MAX_IMPORTS):
        ecosystem = language_at(row.file).ecosystem
        if ecosystem not in ecosystems:
            continue
        own = (each for each in requirements if each.ecosystem == ecosystem)
        of = next((each for each in own if is_import_of(each, row)), None)
        if of is not None:
            line = _statement(codebase, row)
            bound = bound_names(of.ecosystem, row, _text(codebase, row.file, line))
            found[row.file, line] = found.get((row.file, line), frozenset()) | bound
    made = [Imported(file, line, bound) for (file, line), bound in found.items()]
    return sorted(made, key=lambda each: (kind_of_path(each.file) != "source", each.file, each.line))


def _text(codebase: Codebase, file: str, line: int) -> str:
    source = codebase.try_source(file)
    return source.lines[line - 1] if source is not None and 0 < line <= len(source.lines) else ""


def _statement(codebase: Codebase, row: ImportRecord) -> int:
    """Return the line of an import that names the module, where each name it fetches has a line of its own below."""
    for line in range(row.line, max(0, row.line - MAX_IMPORT_LINES), -1):
        if row.module in _text(codebase, row.file, line):
            return line
    return row.line


def uses_by_path(codebase: Codebase, requirements: Sequence[Requirement]) -> list[ReferenceRecord]:
    """Return the lines of Rust that name a crate in a path, which needs no import: `once_cell::sync::Lazy::new(f)`."""
    found: dict[tuple[str, int], ReferenceRecord] = {}
    for name in dict.fromkeys(n for each in requirements if each.ecosystem == "crates" for n in module_names(each)):
        path = re.compile(rf"(?<![\w:]){re.escape(name)}::\w")
        for hit in codebase.search_text(f"{name}::", max_hits=MAX_PATHS, endings=_ENDINGS_OF_CRATES).hits:
            if path.search(hit.text) is None or _COMMENT.match(hit.text) or imports_or_exports(hit.text.lstrip()):
                continue
            around = codebase.symbol_at(hit.file, hit.line)
            enclosing = around.qualified_name if around is not None else None
            taken = _LAST_OF_PATH.match(hit.text, hit.text.find(f"{name}::"))
            of = taken.group(1) if taken is not None else name
            found[hit.file, hit.line] = ReferenceRecord(hit.file, hit.line, of, "reference", enclosing=enclosing)
    return list(found.values())


def uses_in(
    codebase: Codebase, imported: Sequence[Imported], by_path: Sequence[ReferenceRecord] = ()
) -> list[ReferenceRecord]:
    """Return lines that use what is imported, or named by its path: of each definition the first, three of a file.

    Those come first that use something else of it than the ones ahead.
    """
    ordered = [*(each.file for each in imported), *(use.file for use in by_path)]
    found: list[ReferenceRecord] = []
    for file in list(dict.fromkeys(ordered))[:MAX_FILES_READ]:
        own = [each for each in imported if each.file == file]
        bound = frozenset(name for each in own for name in each.bound)
        lines = {each.line for each in own}
        references = codebase.index.references("f.path = ?", (file,)) if bound else []
        uses = [use for use in references if use.kind != "import" and use.line not in lines and _is_of(use, bound)]
        found += _told([*uses, *(use for use in by_path if use.file == file)])
    return _each_name_first(found)


def _each_name_first(uses: Sequence[ReferenceRecord]) -> list[ReferenceRecord]:
    """Return the first use of each name that is taken from it, most used names ahead, then others; tests come last."""
    counts = Counter(use.name for use in uses)
    source_first = sorted(uses, key=lambda use: kind_of_path(use.file) != "source")
    first: dict[str, ReferenceRecord] = {}
    for use in source_first:
        first.setdefault(use.name, use)

    def turn(use: ReferenceRecord) -> tuple[bool, bool, int]:
        return kind_of_path(use.file) != "source", first[use.name] is not use, -counts[use.name]

    return sorted(source_first, key=turn)


def _told(uses: Sequence[ReferenceRecord]) -> list[ReferenceRecord]:
    """Return one use of each definition, by line: a call if it has one; of a few definitions, those that call first."""
    by_definition: dict[str, ReferenceRecord] = {}
    for use in sorted(uses, key=_calls_first):
        by_definition.setdefault(use.enclosing or "", use)
    kept = sorted(by_definition.values(), key=_calls_first)[:MAX_USES_OF_FILE]
    return sorted(kept, key=lambda use: use.line)


def _calls_first(use: ReferenceRecord) -> tuple[int, int]:
    return _KINDS.get(use.kind, 2), use.line


def _is_of(use: ReferenceRecord, bound: frozenset[str]) -> bool:
    """Return whether a use is of an imported name, or of a member of it."""
    if use.qualifier:
        root = _ROOT.match(use.qualifier)
        return root is not None and root.group() in bound
    return use.name in bound


def mentions_of(codebase: Codebase, requirements: Sequence[Requirement]) -> list[tuple[str, int]]:
    """Return lines that have the name of a dependency outside of what declares it: commands, settings, documents."""
    declared = {(each.file, each.line) for each in requirements}
    found: dict[tuple[str, int], None] = {}
    for name in sorted({name for each in requirements for name in short_names(each)}, key=len, reverse=True):
        spelt = "[-_. ]?".join(map(re.escape, _PARTS.split(name)))
        whole = re.compile(rf"(?<![\w-]){spelt}(?![\w-])", re.IGNORECASE)
        first = _PARTS.split(name)[0]
        for hit in codebase.search_text(first, case_sensitive=False, max_hits=MAX_MENTIONS).hits if first else ():
            is_other = (hit.file, hit.line) not in declared and not is_lock_file(hit.file)
            if is_other and kind_of_path(hit.file) in _MENTION_KINDS and whole.search(hit.text) is not None:
                found.setdefault((hit.file, hit.line))
    return sorted(found, key=lambda place: (kind_of_path(place[0]) == "docs", place[0].count("/"), place))
