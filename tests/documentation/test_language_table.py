"""docs/code-index.md: the table of languages says of each what its declaration says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runtime.codebase.language_parts.language import Language
from runtime.codebase.language_registry import languages

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "code-index.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("### Languages\n")[2].partition("\n### ")[0]
LINES = re.findall(r"^\|.*\|$", TABLE, re.MULTILINE)[2:]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in LINES]
# The table's names of those whose own are no words of a text.
TOLD = {
    "c_sharp": "C#", "cpp": "C++", "docker": "Dockerfile", "proto": "Protocol Buffers", "rst": "reStructuredText",
    "tsx": "TSX",
}  # fmt: skip


@pytest.mark.parametrize("language", list(languages().values()), ids=list(languages()))
def test_each_language_stands_in_the_row_of_what_is_known_of_it(language: Language) -> None:
    name = re.escape(TOLD.get(language.name, language.name))
    (row,) = [cells for cells in ROWS if re.search(rf"(?:^|[ (]){name}(?:[,; )]|$)", cells[0], re.IGNORECASE)]
    _, parsed, calls, values = row
    assert (parsed == "yes") == (language.grammar is not None)
    assert (calls == "proven by scopes, imports and types") == (language.types is not None)
    assert (values == "followed to the literal") == (language.values is not None)
