"""Finds which definitions a library's own documents use most: where its callers begin. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MAX_DOCUMENTS, MAX_LINES_READ = 24, 1_200
MAX_DEPTH = 3
LEAST_LINES = 3
MAX_USED = 2
# A second one is told that is used at least so often as a share of the first.
LEAST_SHARE_OF_FIRST = 0.4
_USED = re.compile(
    r"(?P<before>\bnew\s+(?:\w+[.\\\\])*|::|->|\\\\|\.)?(?<!\w)(?P<name>[A-Za-z_]\w{2,})"
    r"(?=\s?(?:\(|<\w+>\(|\.\w|::\w|->\w))"
)
# Of a function that is called so anything may be meant.
LEAST_CHARS_OF_FUNCTION = 5
_NO_NAMES = frozenset({"main", "print", "require", "import", "include", "return", "function", "async", "await"})
_PROSE = (".md", ".markdown", ".rst", ".adoc", ".txt", ".mdx")
_AT_TOP = re.compile(r"(?:\.github/)?[^/]*readme|docs?/", re.IGNORECASE)
_NO_GUIDE = re.compile(
    r"change|history|news|release|licen[sc]e|contribut|upgrad|migrat|security|conduct", re.IGNORECASE
)


@dataclass
class DocumentedUse:
    """Counts the `lines` of documents that use a name, with the first of them."""

    name: str
    file: str
    line: int
    lines: int = field(default=0)


def guides_of(paths: Iterable[str]) -> list[str]:
    """Return the READMEs and documents in which examples are to be expected, those nearest to the top first."""
    found = [
        path
        for path in paths
        if path.lower().endswith(_PROSE) and path.count("/") <= MAX_DEPTH and not _NO_GUIDE.search(path)
    ]
    # The README of a package within says how that is used.
    named = [path for path in found if _AT_TOP.match(path)]
    order = sorted(named, key=lambda path: (path.count("/"), "readme" not in path.lower(), path))
    return order[:MAX_DOCUMENTS]


def most_used(
    documents: Iterable[str], lines_of: Callable[[str], Sequence[str]], names: Mapping[str, str]
) -> list[DocumentedUse]:
    """Return the names that the documents' lines use most; `names`: those of definitions, with their files."""
    found: dict[str, DocumentedUse] = {}
    for path in documents:
        for number, line in enumerate(lines_of(path)[:MAX_LINES_READ], 1):
            for name in {found["name"] for found in _USED.finditer(line[:1000]) if _is_meant(found)} & names.keys():
                used = found.setdefault(name, DocumentedUse(name, path, number))
                used.lines += 1
    ranked = sorted(found.values(), key=lambda used: (-used.lines, used.name))
    if not ranked or ranked[0].lines < LEAST_LINES:
        return []
    least = max(LEAST_LINES, LEAST_SHARE_OF_FIRST * ranked[0].lines)
    return [used for used in ranked[:MAX_USED] if used.lines >= least]


def _is_meant(found: re.Match[str]) -> bool:
    """Return whether a mention may be of a definition at the top of its file: not a method, nor a word for anything."""
    name, before = found["name"], found["before"] or ""
    if name in _NO_NAMES:
        return False
    return name[0].isupper() or before == "::" or (not before and len(name) >= LEAST_CHARS_OF_FUNCTION)
