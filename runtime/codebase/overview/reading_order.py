"""Chooses what to read first: a document on the design, and code that most of the rest imports.

Pure functions.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

from runtime.codebase.overview.part_links import ImportedFile

MAX_IMPORTED = 2
MIN_IMPORTERS = 3
_DEPTH = 3
_TOOLS = frozenset(
    {
        *("error", "errors", "exception", "exceptions", "types", "type", "util", "utils", "helper", "helpers", "const"),
        *("consts", "constants", "common", "compat", "config", "version", "log", "logger", "logging", "misc", "macros"),
        *("platform", "platforms", "port", "export"),
    }
)
_NAMES = (
    *("architecture", "design", "internals", "implementation", "impl", "hacking", "how-it-works", "concepts", "guide"),
)
_DESIGN = re.compile(
    r"(?:^|/)(?:\d+[-_])?(?P<name>architecture|design|internals|implementation|impl|hacking|how[-_]it[-_]works|concepts"
    r"|guide)(?:[-_ ](?:overview|guide|notes|doc))?\.(?:md|rst|txt|adoc|mdx)$",
    re.IGNORECASE,
)


def design_documents(paths: Iterable[str]) -> list[str]:
    """Return documents that are named for a repository's design, the most telling name first, near the root."""
    found = [
        (match["name"].lower().replace("_", "-"), path)
        for path in paths
        if path.count("/") <= _DEPTH and (match := _DESIGN.search(path)) is not None
    ]
    order = {name: place for place, name in enumerate(_NAMES)}
    return [path for _, path in sorted(found, key=lambda item: (order[item[0]], item[1].count("/"), item[1]))]


def most_imported(files: Sequence[ImportedFile], sizes: Mapping[str, int]) -> list[ImportedFile]:
    """Return the files that many source files import and that hold much, at most two; `sizes`: lines of the files.

    Files of errors, constants or small tools are imported everywhere and explain nothing.
    """
    known = [
        file
        for file in files
        if file.importers >= MIN_IMPORTERS
        and file.path in sizes
        and posixpath.splitext(posixpath.basename(file.path))[0].lower() not in _TOOLS
    ]
    return sorted(known, key=lambda file: (-file.importers * sizes[file.path] ** 0.5, file.path))[:MAX_IMPORTED]
