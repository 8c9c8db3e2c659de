"""Finds the lines that import a dependency, and the names that they bind."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.bound_names import MAX_LINES, bound_names
from runtime.codebase.dependencies.import_names import fit
from runtime.codebase.dependencies.published_names import NAMESPACES_OF_COMPOSER
from runtime.codebase.dependencies.requirement import Requirement
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.index.records import ImportRecord
from runtime.codebase.language_registry import language_at

MAX_IMPORTS = 20_000
# A repository that declares one thing by more names than these, or so many beside it, means to waste time.
MAX_NAMES = 20
MAX_RIVALS = 200
_MAX_HEAD_LINES = 100
# What is needed to run is ahead of what tests need, where an import may be of either.
_AHEAD = frozenset({"runtime", "optional"})
MAX_USES_OF_PHP = 400
MAX_WORDS_OF_PHP = 5
_SHORT_USE = re.compile(
    r"\s*+use\s++(?:(?:function|const)\s++)?(\w++(?=\s*+(?:;|\s+as\b))|[\w\\]++(?=\{))", re.IGNORECASE
)
_MOD = re.compile(r"\s*+(?:pub\b\s*+(?:\([^)]{0,100}\)\s*+)?)?mod\b")


@dataclass(frozen=True, slots=True)
class Imported:
    """Holds the line of a file that imports a dependency, and the names that it binds."""

    file: str
    line: int
    bound: frozenset[str]


def imports_of(
    codebase: Codebase, requirements: Sequence[Requirement], declared: Sequence[Requirement] = ()
) -> list[Imported]:
    """Return the lines that import a dependency, by whichever of its declarations, those of the source first.

    `declared`: all that the repository declares; what the name of another one tells more of is an import of that one.
    """
    own = _apart(requirements)[:MAX_NAMES]
    fits = _closest(own, _rivals(own, declared))
    found: dict[tuple[str, int], frozenset[str]] = {}
    for row in [*codebase.index.imports("1", (), MAX_IMPORTS), *_short_uses_of_php(codebase, own)]:
        of = fits(language_at(row.file).ecosystem, row.module, row.name, row.target)
        lines = lines_of(codebase, row.file) if of is not None else ()
        if of is None or _is_own(codebase, row, lines):
            continue
        line = _statement(lines, row)
        found[row.file, line] = found.get((row.file, line), frozenset()) | bound_names(of.ecosystem, row, lines)
    made = [Imported(file, line, bound) for (file, line), bound in found.items()]
    return sorted(made, key=lambda each: (kind_of_path(each.file) != "source", each.file, each.line))


_Fits = Callable[[str, str, str, str | None], Requirement | None]


def _closest(own: Sequence[Requirement], rivals: Sequence[Requirement]) -> _Fits:
    """Return what tells by which of its declarations an import is of a dependency, and remembers it by module."""

    @functools.cache
    def of(ecosystem: str, module: str, name: str, target: str | None) -> Requirement | None:
        row = ImportRecord("", 0, module, name, "", target)
        fitting = [(fit(each, row), each) for each in own if each.ecosystem == ecosystem]
        most, best = max(fitting, key=lambda pair: pair[0], default=(0, None))
        if best is None or not most:
            return None
        rank = most, best.group in _AHEAD
        others = ((fit(each, row), each.group in _AHEAD) for each in rivals if each.ecosystem == ecosystem)
        return None if any(other > rank for other in others) else best

    return of


def _apart(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Return one of all requirements that are called and imported alike."""
    return list({(each.ecosystem, each.name, each.alias): each for each in reversed(requirements)}.values())[::-1]


def _rivals(own: Sequence[Requirement], declared: Sequence[Requirement]) -> list[Requirement]:
    """Return other dependencies whose imports could be taken for those of one, as their names begin like its name."""
    names = {(each.ecosystem, _stem(each)) for each in own}
    theirs = {(each.ecosystem, each.name, each.alias) for each in own}
    near = _apart([each for each in declared if (each.ecosystem, _stem(each)) in names])
    return [each for each in near if (each.ecosystem, each.name, each.alias) not in theirs][:MAX_RIVALS]


def _stem(requirement: Requirement) -> str:
    """Return what the names of packages of one maker have in common: host and path, group, scope or first word."""
    name = (requirement.alias or requirement.name).lower()
    parts = {"go": 3, "maven": 2}.get(requirement.ecosystem, 1)
    marks = {"go": "/", "maven": r"[.:]"}.get(requirement.ecosystem, r"[^a-z0-9@]")
    return " ".join(re.split(marks, name)[:parts])


def lines_of(codebase: Codebase, file: str) -> Sequence[str]:
    """Return the lines of a file; none of one that cannot be read."""
    source = codebase.try_source(file)
    return source.lines if source is not None else ()


def _short_uses_of_php(codebase: Codebase, own: Sequence[Requirement]) -> Iterator[ImportRecord]:
    """Yield imports of PHP that the index has not: of a class without a namespace, and of several names in braces."""
    for name in dict.fromkeys(each.name for each in own if each.ecosystem == "composer"):
        words = [*NAMESPACES_OF_COMPOSER.get(name.lower(), ()), *re.split(r"[/-]", name)]
        for word in list(dict.fromkeys(word for word in words if len(word) > 1))[:MAX_WORDS_OF_PHP]:
            hits = codebase.search_text(word, case_sensitive=False, max_hits=MAX_USES_OF_PHP, endings=(".php",)).hits
            for hit in hits:
                found = _SHORT_USE.match(hit.text)
                if found is not None:
                    yield ImportRecord(hit.file, hit.line, found.group(1).strip("\\"), "", "", None)


def _is_own(codebase: Codebase, row: ImportRecord, lines: Sequence[str]) -> bool:
    """Return whether what is imported is of the repository, as the line, or the file that the name leads to, tells."""
    line = "".join(lines[row.line - 1 : row.line])
    if row.file.endswith(".rs"):
        return _MOD.match(line) is not None
    if row.file.endswith(".rb"):
        # Of `require` the index takes any file of that name.
        is_loaded = row.target is not None and f"/{row.target}".endswith(f"/lib/{row.module}.rb")
        return is_loaded or "require_relative" in line
    if row.target is None or "\\" not in row.module:
        return False
    wanted = f"namespace {row.module.strip(chr(92)).rpartition(chr(92))[0]}"
    return any(line.startswith(wanted) for line in lines_of(codebase, row.target)[:_MAX_HEAD_LINES])


def _statement(lines: Sequence[str], row: ImportRecord) -> int:
    """Return the line of an import that names the module, where each name it fetches has a line of its own below."""
    for line in range(min(row.line, len(lines)), max(0, row.line - MAX_LINES), -1):
        if row.module in lines[line - 1]:
            return line
    return row.line


def files_of(imported: Collection[Imported]) -> list[str]:
    """Return the files with imports, each once."""
    return list(dict.fromkeys(each.file for each in imported))
