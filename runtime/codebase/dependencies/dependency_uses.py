"""Finds the lines of code that use what is imported of a dependency.

A use is a reference that the index recorded, so that comments and strings are none. What is only named elsewhere, as a
plugin is in a configuration file, is a mention.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.dependency_imports import MAX_NAMES, Imported, files_of
from runtime.codebase.dependencies.import_names import module_names
from runtime.codebase.dependencies.requirement import Requirement, is_lock_file, short_names
from runtime.codebase.dependencies.shadowed_names import Shadows, is_aside, means_another
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import ReferenceRecord
from runtime.codebase.search.telling_lines import imports_or_exports

# Of more files only the imports are told.
MAX_FILES_READ = 60
MAX_USES_OF_FILE = 3
MAX_PATHS = 400
MAX_MENTIONS = 40
_ENDINGS_OF_CRATES = (".rs",)
_KINDS = {"call": 0, "base": 1, "decorator": 1}
_ROOT = re.compile(r"[A-Za-z_$][\w$]*")
_LAST_OF_PATH = re.compile(r"(?:::)?(?:\w++::)++(\w++)")
_MENTION_KINDS = frozenset({"source", "test", "data", "docs"})
_PARTS = re.compile(r"[-_./:@]")


def uses_by_path(codebase: Codebase, requirements: Sequence[Requirement]) -> list[ReferenceRecord]:
    """Return the lines of Rust that name a crate in a path, which needs no import: `once_cell::sync::Lazy::new(f)`.

    Not those of a file in which the name is that of something else, as `time` is after `use std::time`.
    """
    found: dict[tuple[str, int], ReferenceRecord] = {}
    names = dict.fromkeys(name for each in requirements if each.ecosystem == "crates" for name in module_names(each))
    for name in list(names)[:MAX_NAMES]:
        path = re.compile(rf"(?<![\w:>])(?:::)?{re.escape(name)}::(?=\w)")
        for hit in codebase.search_text(f"{name}::", max_hits=MAX_PATHS, endings=_ENDINGS_OF_CRATES).hits:
            use = path.search(hit.text)
            if use is None or imports_or_exports(hit.text.lstrip()) or is_aside(hit.text, use.start()):
                continue
            if not use.group().startswith("::") and means_another(codebase, hit.file, name):
                continue
            around = codebase.symbol_at(hit.file, hit.line)
            enclosing = around.qualified_name if around is not None else None
            taken = _LAST_OF_PATH.match(hit.text, use.start())
            of = taken.group(1) if taken is not None else name
            found[hit.file, hit.line] = ReferenceRecord(hit.file, hit.line, of, "reference", enclosing=enclosing)
    return list(found.values())


def uses_in(
    codebase: Codebase, imported: Sequence[Imported], by_path: Sequence[ReferenceRecord] = ()
) -> list[ReferenceRecord]:
    """Return lines that use what is imported, or named by its path: of each definition the first, three of a file.

    Those come first that use something else of it than the ones ahead.
    """
    ordered = [*files_of(imported), *(use.file for use in by_path)]
    found: list[ReferenceRecord] = []
    for file in list(dict.fromkeys(ordered))[:MAX_FILES_READ]:
        own = [each for each in imported if each.file == file]
        bound = frozenset(name for each in own for name in each.bound)
        lines = {each.line for each in own}
        references = codebase.index.references("f.path = ?", (file,)) if bound else []
        apart = Shadows(codebase, file, lines)
        uses = [
            use for use in references if use.kind != "import" and use.line not in lines and _is_of(use, bound, apart)
        ]
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


def _is_of(use: ReferenceRecord, bound: frozenset[str], apart: Shadows) -> bool:
    """Return whether a use is of an imported name, or of a member of it."""
    root = _ROOT.match(use.qualifier) if use.qualifier else None
    name = use.name if not use.qualifier else root.group() if root is not None else ""
    return name in bound and not apart.hide(use, name)


def mentions_of(codebase: Codebase, requirements: Sequence[Requirement]) -> list[tuple[str, int]]:
    """Return lines that have the name of a dependency outside of what declares it: commands, settings, documents."""
    declared = {(each.file, each.line) for each in requirements}
    found: dict[tuple[str, int], None] = {}
    names = {name for each in requirements for name in short_names(each)}
    for name in sorted(names, key=len, reverse=True)[:MAX_NAMES]:
        spelt = "[-_. ]?".join(map(re.escape, _PARTS.split(name)))
        whole = re.compile(rf"(?<![\w-]){spelt}(?![\w-])", re.IGNORECASE)
        longest = max(_PARTS.split(name), key=len)
        for hit in codebase.search_text(longest, case_sensitive=False, max_hits=MAX_MENTIONS).hits if longest else ():
            is_other = (hit.file, hit.line) not in declared and not is_lock_file(hit.file)
            if is_other and kind_of_path(hit.file) in _MENTION_KINDS and whole.search(hit.text) is not None:
                found.setdefault((hit.file, hit.line))
    return sorted(found, key=lambda place: (kind_of_path(place[0]) == "docs", place[0].count("/"), place))
