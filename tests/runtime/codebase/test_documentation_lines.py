"""The citation of a definition holds its documentation, wherever a language puts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.prose.sentences import holds
from runtime.codebase.tool_parts.citing import MAX_CITED_LINES, cite_symbol

SAID = "Sends a lost parcel back to its depot."
FILES = {
    "a.py": f'def send(box):\n    """{SAID}"""\n    return box\n',
    "a.ts": f"/**\n * {SAID}\n *\n * @param x it\n */\nfunction send(x: string) {{\n  go(x)\n}}\n",
    "a.go": f"package a\n\n// {SAID}\nfunc send(box string) string {{\n\treturn box\n}}\n",
    "a.rs": f"/// {SAID}\n#[inline]\npub fn send(parcel: u8) -> u8 {{\n    parcel\n}}\n",
    "a.c": f"/*\n * {SAID}\n */\nint send(int box)\n{{\n    return box;\n}}\n",
    "A.java": f"class A {{\n    /** {SAID} */\n    @Override\n    void send(int b) {{\n        go(b);\n    }}\n}}\n",
    "a.rb": f"# {SAID}\ndef send(box)\n  box\nend\n",
    "a.cs": f"class A {{\n    /// <summary>\n    /// {SAID}\n    /// </summary>\n    void send(int b) {{ }}\n}}\n",
}


def opened(root: Path, files: dict[str, str]) -> Codebase:
    root.mkdir()
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    index = root.parent / "index.sqlite"
    refresh(root, index)
    return Codebase.open(root, index)


@pytest.mark.parametrize("name", FILES)
def test_a_definition_is_cited_with_its_documentation(tmp_path: Path, name: str) -> None:
    codebase = opened(tmp_path / "repo", {name: FILES[name]})
    (symbol,) = codebase.symbols_named("send")
    assert SAID in symbol.docstring
    citation = cite_symbol(codebase, symbol, "defines send")
    assert citation is not None
    assert holds(codebase.source(name).lines[citation.start_line - 1 : citation.end_line], SAID)
    assert citation.end_line == symbol.end_line
    codebase.close()


def test_a_comment_that_stands_apart_is_not_cited(tmp_path: Path) -> None:
    text = f"package a\n\n// {SAID}\n\nfunc send(box string) string {{\n\treturn box\n}}\n"
    codebase = opened(tmp_path / "repo", {"a.go": text})
    (symbol,) = codebase.symbols_named("send")
    citation = cite_symbol(codebase, symbol, "defines send")
    assert citation is not None
    assert citation.start_line == symbol.start_line
    codebase.close()


@pytest.mark.parametrize("lines", [MAX_CITED_LINES - 3, MAX_CITED_LINES - 2, MAX_CITED_LINES - 1, MAX_CITED_LINES])
def test_no_more_lines_are_cited_than_without_the_comment(tmp_path: Path, lines: int) -> None:
    body = "\tgo()\n" * (lines - 2)
    codebase = opened(tmp_path / "repo", {"a.go": f"package a\n\n// {SAID}\nfunc send() {{\n{body}}}\n"})
    (symbol,) = codebase.symbols_named("send")
    citation = cite_symbol(codebase, symbol, "defines send")
    assert citation is not None
    assert citation.start_line == symbol.start_line - 1
    assert citation.end_line - citation.start_line < MAX_CITED_LINES
    codebase.close()
