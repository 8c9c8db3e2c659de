"""Types in files whose syntax the grammar does not know, and pieces of classes: each is found and cited by its head."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.parsing.chunks import MAX_CHUNK_LINES, cut
from runtime.codebase.parsing.lost_types import unparsed_types
from runtime.codebase.parsing.syntax import Symbol
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

LOST = """package shop

/** A thing with a price. */
open class Entity<ID : Any>(val id: ID) {
    fun price(): Int = 1

    operator fun Column<T>.setValue(o: Entity<ID>, desc: KProperty<*>, value: T) {
        x<y>(z)
"""
METHODS = "".join(
    f"    public function step{number}(): int\n    {{\n        return {number};\n    }}\n\n" for number in range(8)
)
LARGE = f"<?php\n\nclass ParcelAdapter implements Adapter\n{{\n    private $weight = 1;\n\n{METHODS}}}\n"


def known(*names: str) -> list[Symbol]:
    return [Symbol(name, name, "class", 1, 2, 1) for name in names]


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("open class Entity<ID : Any>(val id: ID) {", [("Entity", "class", 1, 1)]),
        ("x\npublic interface Adapter\n{", [("Adapter", "interface", 2, 3)]),
        ("abstract class Two(\n    val one: Int,\n) {", [("Two", "class", 1, 3)]),
        ("class Alone", [("Alone", "class", 1, 1)]),
        ("class Known {", []),
        ("class of things that are told in prose", []),
        ("class Things are told in prose", []),
        ("fun work() {", []),
        (" * class Documented {", []),
        ("class Twice {\nclass Twice {", [("Twice", "class", 1, 1)]),
    ],
)
def test_types_that_no_symbol_tells_of_are_told_by_their_heads(
    text: str, heads: list[tuple[str, str, int, int]]
) -> None:
    found = unparsed_types(text.split("\n"), known("Known"))
    assert [(symbol.name, symbol.kind, symbol.start_line, symbol.end_line) for symbol in found] == heads


def test_a_class_that_the_grammar_lost_is_found_and_so_is_what_is_in_it(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", {"Entity.kt": LOST})
    stats = refresh(tmp_path / "repo", tmp_path / "index.sqlite")
    assert stats.coverage["parsed"] == 1
    codebase = Codebase.open(tmp_path / "repo", tmp_path / "index.sqlite")
    (entity,) = codebase.symbols_named("Entity")
    assert (entity.kind, entity.start_line, entity.end_line) == ("class", 4, 4)
    assert entity.docstring == "A thing with a price."
    assert entity.signature == "open class Entity<ID : Any>(val id: ID)"
    assert [symbol.name for symbol in codebase.symbols_named("price")] == ["price"]


def test_lines_without_a_word_are_no_piece_of_their_own() -> None:
    lines = LARGE.rstrip("\n").split("\n")
    methods = [number for number, line in enumerate(lines, 1) if "function" in line]
    symbols = [Symbol("ParcelAdapter", "ParcelAdapter", "class", 3, len(lines), 3)]
    symbols += [
        Symbol(f"step{n}", f"ParcelAdapter.step{n}", "method", at, at + 3, at, "", "", 0)
        for n, at in enumerate(methods)
    ]
    chunks = cut(lines, symbols)
    assert [(chunk.start_line, chunk.symbol) for chunk in chunks if chunk.symbol == 0] == [(3, 0)]
    assert all(chunk.end_line < len(lines) for chunk in chunks)
    assert cut(["}", "", "});"], []) == []
    assert len(cut(["};"] * MAX_CHUNK_LINES + ["done();"], [])) == 1


def test_who_wants_types_gets_each_that_bears_the_word_with_the_line_that_defines_it(tmp_path: Path) -> None:
    names = [f"{word}Adapter" for word in ("Post", "Van", "Bike", "Drone")]
    write_files(tmp_path / "repo", {f"src/{name}.php": LARGE.replace("ParcelAdapter", name) for name in names})
    refresh(tmp_path / "repo", tmp_path / "index.sqlite")
    codebase = Codebase.open(tmp_path / "repo", tmp_path / "index.sqlite")
    found = locate(codebase, "all adapters", 40, kinds=["class"])
    assert {row["symbol"] for row in found.data["results"]} == set(names)
    for citation in found.citations:
        lines = (tmp_path / "repo" / citation.file).read_text(encoding="utf-8").split("\n")
        cited = lines[citation.start_line - 1 : citation.end_line]
        assert f"class {citation.symbol} implements Adapter" in cited
