"""Keeps texts from being parsed again that were too much for a parser when the index was made.

A question parses some of the files that it shows. What ended the process that indexed it, or took it too long, would do
the same to the process that answers.
"""

from __future__ import annotations

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.state_memo import StateMemo
from runtime.codebase.language_registry import language_named
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, UNCHECKED_BYTES, ParseLimit

_FAILED = "SELECT sha256, language, note FROM files WHERE status = 'failed'"


class UnparsedTexts:
    """Tells the parse limit of this process which texts the index could not have parsed."""

    def __init__(self, index: IndexReader, limit: ParseLimit = PARSE_LIMIT) -> None:
        self._limit = limit
        self._failed = StateMemo(
            index, lambda: {sha256: (language, note) for sha256, language, note in index.rows(_FAILED)}
        )

    def heed(self, source: SourceText) -> None:
        """Have a text that was just read refused by the parse limit if the index could not have it parsed."""
        # A character has four bytes at most, and so short a text ends no process.
        if len(source.text) * 4 <= UNCHECKED_BYTES:
            return
        language, note = self._failed.value().get(source.sha256, (None, None))
        if note is None:
            return
        data, prepare = source.text.encode("utf-8", "replace"), language_named(language).before_parsing
        for form in (data, prepare(data)) if prepare else (data,):
            self._limit.refuse(form, note)
