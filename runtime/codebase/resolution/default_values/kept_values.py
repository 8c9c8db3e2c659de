"""Keeps the sites of the files whose values were asked for last, since a file is parsed for them."""

from __future__ import annotations

from runtime.codebase.parsing.broken_trees import BrokenTreeError
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.resolution.default_values.value_sites import FileValues
from runtime.primitives.sized_cache import SizedCache

# What is kept of a file takes some thirty times the size of its text.
MAX_CHARS = 800_000


class KeptValues:
    """Parses a file for its values once for each of its contents; for one thread at a time."""

    def __init__(self, max_chars: int = MAX_CHARS) -> None:
        self._kept: SizedCache[tuple[str, str, str], FileValues] = SizedCache(max_chars)

    def of(self, file: str, text: str, language: str, limit: ParseLimit = PARSE_LIMIT) -> FileValues | None:
        """Return the sites of a file with that text; None if it takes too long to parse."""
        key = (file, language, text)
        values = self._kept.get(key)
        if values is None:
            try:
                values = FileValues(file, text, language, limit)
            except BrokenTreeError:
                return None
            self._kept.put(key, values, len(text))
        return values
