"""Counts the files whose code uses given names: not in comments or strings, and not as a field.

Where a language imports names, a file uses one that it imports, or that stands behind the module that it imports
(`models.Depot`). Elsewhere any mention of the name counts, in C that of a structure behind `struct`. Pure functions.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.index.records import ImportRecord, SymbolRecord
from runtime.codebase.language_registry import language_at, may_call
from runtime.codebase.search.prose.comment_lines import comment_lines

_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_COMMENT_BEHIND = re.compile(r"\s(?://|#\s).*$")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TAGGED = frozenset({"struct", "enum", "union"})
_VERSION = re.compile(r"v\d+")
# Languages in which a file can name nothing of another one that it does not import by name or by module.
_IMPORTING = frozenset({"python", "go", "rust", "java", "kotlin", "scala"})


@dataclass(frozen=True, slots=True)
class Bound:
    """Holds what a file may call a part's names by: the names that it imports, and the modules; `is_open`: any name."""

    names: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    is_open: bool = True


def bound_by(imports: Iterable[ImportRecord], file: str, inside: Collection[str], stems: Collection[str]) -> Bound:
    """Return what the imports of a file bind of the files and folders `inside`; `stems`: their names without ending."""
    if language_at(file).name not in _IMPORTING:
        return Bound()
    names: set[str] = set()
    modules: set[str] = set()
    is_open = False
    for record in imports:
        if record.target not in inside:
            continue
        words = _WORD.findall(record.module)
        # `example.com/shop/v2` is called `shop`.
        words = words[:-1] if words and _VERSION.fullmatch(words[-1]) else words
        is_open = is_open or record.name == "*" or record.module.rstrip().endswith(("*", "*}"))
        names.update((record.name, *words) if not record.name else (record.name,))
        modules.update(filter(None, (record.alias, record.name, *words[-1:])))
        if posixpath.basename(record.target or "") == "__init__.py":
            # Behind a package stand its modules: `views.depot.index`.
            modules.update(stems)
        if language_at(file).name == "rust":
            modules.update(words)
    return Bound(frozenset(names), frozenset(modules), is_open)


class CodeWords:
    """Keeps the words of each line of code of a file, without comments and strings, for several parts to look in."""

    def __init__(self, lines_of: Callable[[str], Sequence[str]]) -> None:
        self._lines_of = lines_of
        self._known: dict[str, tuple[frozenset[str], list[tuple[str, frozenset[str]]]]] = {}

    def of(self, path: str) -> tuple[frozenset[str], list[tuple[str, frozenset[str]]]]:
        """Return all words of a file, and its lines of code with the words of each."""
        if path not in self._known:
            lines = self._lines_of(path)
            found = []
            for line, is_comment in zip(lines, comment_lines(lines), strict=True):
                if not is_comment and line:
                    code = _STRING.sub(" ", line[:2000]) if '"' in line or "'" in line else line[:2000]
                    code = _COMMENT_BEHIND.sub("", code) if "//" in code or "#" in code else code
                    found.append((code, frozenset(_WORD.findall(code))))
            self._known[path] = frozenset().union(*(words for _, words in found)), found
        return self._known[path]


def files_naming(
    files: Iterable[str], names: Mapping[str, SymbolRecord], bound: Mapping[str, Bound], words: CodeWords
) -> Counter[str]:
    """Return for each name the number of the files that use it.

    `names`: each name with its definition; `bound`: what a file may call them by, any name for one that is not in it;
    `words`: those of the files.
    """
    counts: Counter[str] = Counter()
    tags = {name for name, one in names.items() if one.kind in _TAGGED and language_at(one.file).name == "c"}
    for file in files:
        known, lines = words.of(file)
        at, own = bound.get(file, Bound()), known.intersection(names)
        wanted = {name for name in own | at.names.intersection(names) if may_call(file, names[name].file)}
        if wanted:
            counts.update(_used(lines, wanted, at, tags))
    return counts


def _used(
    lines: Iterable[tuple[str, frozenset[str]]], wanted: Collection[str], bound: Bound, tags: Collection[str]
) -> set[str]:
    used = set(bound.names.intersection(wanted))
    left = set(wanted) - used
    for code, words in lines:
        if left.isdisjoint(words):
            continue
        before, end = "", 0
        for found in _WORD.finditer(code):
            name = found.group()
            is_named = name in left and (name not in tags or before in _TAGGED)
            if is_named and _is_meant(before, code[end : found.start()].strip(), bound):
                used.add(name)
                left.discard(name)
            before, end = name, found.end()
    return used


def _is_meant(before: str, between: str, bound: Bound) -> bool:
    """Return whether a name stands by itself where any may, or behind what a file calls the module.

    `before`: the word ahead of it, and what is `between` them.
    """
    if not between.endswith((".", "->", "::")) or between.endswith(".."):
        return bound.is_open
    if between in {".", "::", "?."} and before in bound.modules:
        return True
    return bound.is_open and between.endswith("::")
