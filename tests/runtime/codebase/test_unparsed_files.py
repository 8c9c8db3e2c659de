"""Files that are too large or too broken to parse are read as text, and say so."""

from __future__ import annotations

import pytest

from runtime.codebase.files.source_text import from_bytes
from runtime.codebase.parsing import broken_trees
from runtime.codebase.parsing.parse import MAX_PARSED_CHARS, parse

LINE = "def one():\n    return 1\n"


@pytest.mark.parametrize(("more", "status"), [(-1, "parsed"), (0, "parsed"), (1, "text")])
def test_a_file_is_parsed_up_to_four_million_characters(more: int, status: str) -> None:
    text = LINE + "#" * (MAX_PARSED_CHARS + more - len(LINE))
    assert len(text) == MAX_PARSED_CHARS + more
    found = parse(from_bytes(text.encode()), "large.py", "python")
    assert found.status == status
    assert "one" in [symbol.name for symbol in found.symbols]
    assert ("read as text, not parsed" in found.note) == (status == "text")


@pytest.mark.parametrize(
    ("path", "language", "unit"),
    [("a.js", "javascript", ")\n"), ("a.go", "go", "func)\n"), ("a.c", "c", "]\n"), ("a.py", "python", ")\\\n")],
)
def test_a_file_with_too_many_errors_is_read_as_text(path: str, language: str, unit: str) -> None:
    found = parse(from_bytes((unit * 60_000).encode()), path, language)
    assert (found.status, found.note) == ("failed", "too many syntax errors to read it as code")


def test_a_file_with_some_errors_is_parsed() -> None:
    found = parse(from_bytes((LINE + "x = (((\n").encode()), "a.py", "python")
    assert found.status == "parsed"
    assert broken_trees.MAX_FLAT_CHILDREN > 1000
