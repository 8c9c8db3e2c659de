"""Which of several definitions of a name is meant, and which words of a text name definitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.resolution.symbol_links import names_borne
from tests.repositories import write_files

GO = {
    "old.go": "package p\n\n// Old wraps a Line.\ntype Old struct{}\n\n// Send sends.\nfunc (o *Old) Send() {}\n",
    "wire.go": "package p\n\ntype Line struct{}\n\n// Send sends.\nfunc (l *Line) Send() {}\n\n"
    "func open() *Line { return &Line{} }\n\nfunc close(l *Line) {}\n",
    "wire_test.go": "package p\n\nfunc Probe() {}\n",
}


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[dict[str, str]], Codebase]:
    def opening(files: dict[str, str]) -> Codebase:
        root = tmp_path / "repo"
        write_files(root, files)
        refresh(root, tmp_path / "index.sqlite")
        return Codebase.open(root, tmp_path / "index.sqlite")

    return opening


def test_the_namesake_leads_whose_class_is_named_most(opened: Callable[[dict[str, str]], Codebase]) -> None:
    codebase = opened(GO)
    assert [one.qualified_name for one in codebase.symbols_named("Send")] == ["Line.Send", "Old.Send"]


@pytest.mark.parametrize("said", ["Deprecated: use Old.", "Sends. Deprecated.", "@deprecated use Old"])
def test_a_deprecated_namesake_comes_last(opened: Callable[[dict[str, str]], Codebase], said: str) -> None:
    codebase = opened({**GO, "wire.go": GO["wire.go"].replace("Send sends.", said)})
    assert [one.qualified_name for one in codebase.symbols_named("Send")] == ["Old.Send", "Line.Send"]


def test_what_warns_of_deprecated_things_is_not_deprecated(opened: Callable[[dict[str, str]], Codebase]) -> None:
    codebase = opened({**GO, "wire.go": GO["wire.go"].replace("Send sends.", "Deprecated names are refused by it.")})
    assert codebase.symbols_named("Send")[0].qualified_name == "Line.Send"


def test_words_are_names_where_a_definition_of_the_source_is_spelt_alike(
    opened: Callable[[dict[str, str]], Codebase],
) -> None:
    codebase = opened(GO)
    assert names_borne(codebase.index, ["Send", "send", "Open", "Probe", "Line", "Windows"]) == ["Send", "Line"]
