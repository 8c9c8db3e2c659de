"""Dispatches a file to the parser of its language."""

from __future__ import annotations

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_registry import language_named
from runtime.codebase.parsing.broken_trees import BrokenTreeError
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit
from runtime.codebase.parsing.python_symbols import extract_python
from runtime.codebase.parsing.syntax import FileSyntax
from runtime.codebase.parsing.tag_symbols import extract_tags
from runtime.codebase.parsing.text_symbols import extract_text

MAX_PARSED_CHARS = 4_000_000
_TOO_LARGE = f"more than {MAX_PARSED_CHARS} characters: read as text, not parsed"


def parse(source: SourceText, path: str, language: str | None, limit: ParseLimit = PARSE_LIMIT) -> FileSyntax:
    """Parse the symbols, references and imports of a file.

    A file of more than four million characters is read by line patterns alone: to parse it takes 60 times its size.
    A grammar that is missing or incompatible gives status `failed` with the reason as note; the symbols are then those
    that text heuristics find. So they are for a file that takes longer than the limit to parse.
    """
    known = language_named(language)
    if known.grammar is None:
        return extract_text(source.lines, language)
    if len(source.text) > MAX_PARSED_CHARS:
        return extract_text(source.lines, language)._replace(note=_TOO_LARGE)
    data = source.text.encode("utf-8", "replace")
    try:
        return extract_python(data, path, limit) if known.is_scoped else extract_tags(data, known, limit)
    except BrokenTreeError as error:
        return extract_text(source.lines, language)._replace(status="failed", note=str(error))
    except (ImportError, AttributeError, ValueError) as error:
        # An incompatible version of a grammar package fails with one of these, by its query or its ABI.
        return extract_text(source.lines, language)._replace(status="failed", note=f"{type(error).__name__}: {error}")
