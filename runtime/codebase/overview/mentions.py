"""Counts the files whose code names given identifiers: outside comments and strings. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from runtime.codebase.search.prose.comment_lines import comment_lines

_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_COMMENT_BEHIND = re.compile(r"\s(?://|#\s).*$")
_WORD = re.compile(r"[A-Za-z_]\w*")


def files_naming(texts: Iterable[Sequence[str]], names: Collection[str]) -> Counter[str]:
    """Return for each name the number of files, given by their lines, in whose code it stands as a whole word."""
    wanted = frozenset(names)
    counts: Counter[str] = Counter()
    for lines in texts:
        found: set[str] = set()
        for line, is_comment in zip(lines, comment_lines(lines), strict=True):
            if not is_comment:
                code = _COMMENT_BEHIND.sub("", _STRING.sub(" ", line[:2000]))
                found.update(wanted.intersection(_WORD.findall(code)))
        counts.update(found)
    return counts
