"""Declares build files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.codebase.language_parts.language import Language
from runtime.codebase.language_parts.outlines import MAX_LINE_CHARS, Opening, no_openings

_TARGET = re.compile(r"^([A-Za-z_][\w./-]*)\s*:(?![=:])")


def _targets(lines: Sequence[str]) -> Iterator[Opening]:
    for number, line in enumerate(lines, 1):
        if target := _TARGET.match(line[:MAX_LINE_CHARS]):
            yield number, 0, target.group(1), "key"


LANGUAGES = (
    Language(name="make", extensions="mk mak", file_names="makefile gnumakefile", outline=_targets),
    Language(name="docker", file_names="dockerfile containerfile", outline=no_openings),
    Language(name="cmake", file_names="cmakelists.txt"),
)
