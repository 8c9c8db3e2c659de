"""Languages are declared in one package, and nothing else of the index knows one by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import runtime.codebase
from runtime.codebase.language_parts.language import Language
from runtime.codebase.language_registry import languages, records_by_name
from runtime.codebase.parsing.chunks import Chunk, cut
from runtime.codebase.parsing.definition_heads import doc_comment
from runtime.codebase.parsing.syntax import Symbol
from runtime.errors import SettingsError

PACKAGE = Path(runtime.codebase.__path__[0])
# What a whole repository looks like is known by its build files and the habits of ecosystems, not of one language.
DECLARING = ("languages", "language_facts", "language_parts", "overview", "dependencies")

# What these mean where they stand: `text` is how a file was read and a part of a result, `r` the references in a query,
# `.gradle` a folder of caches.
OTHER_WORDS = frozenset({"text", "r", ".gradle"})


def literals(path: Path) -> Iterator[tuple[str, int]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno


def test_no_module_of_the_index_but_the_declarations_names_a_language() -> None:
    endings = {f".{ending}" for record in languages().values() for ending in record.extensions.split()}
    words = {*languages(), *endings} - OTHER_WORDS
    named = [
        f"{path.relative_to(PACKAGE)}:{line} {text!r}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in DECLARING
        for text, line in literals(path)
        if text in words
    ]
    assert named == []


def test_names_of_languages_are_unique_and_every_pattern_compiles() -> None:
    for name, record in languages().items():
        assert record.name == name
        for _, pattern in record.path_kinds:
            re.compile(pattern)
        for pattern in record.failures:
            re.compile(pattern)


def test_no_name_needs_the_patterns_of_a_language_with_other_endings() -> None:
    records = languages().values()
    stems = ("test_a", "a_test", "a_tests", "ATest", "ATests", "ASpec", "a_spec", "a.spec", "conftest", "a.min", "a.g")
    for ending in {ending for record in records for ending in record.extensions.split()}:
        for path in (f"/a/{stem}.{ending}" for stem in stems):
            fitting = [
                (kind, ending in record.extensions.split())
                for record in records
                for kind, pattern in record.path_kinds
                if re.search(pattern, path, 0 if kind == "test" else re.IGNORECASE)
            ]
            assert {kind for kind, _ in fitting} == {kind for kind, is_own in fitting if is_own}, path


@pytest.mark.parametrize(
    ("field", "thing"),
    [
        ({"extensions": "b a"}, "the ending .a"),
        ({"file_names": "buildfile"}, "the file name buildfile"),
        ({"interpreters": "run"}, "the interpreter run"),
    ],
)
def test_two_languages_that_declare_the_same_thing_are_refused_by_their_names(
    field: dict[str, str], thing: str
) -> None:
    one = Language(name="one", extensions="a", file_names="buildfile", interpreters="run")
    other = Language(name="other", **field)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=f"two languages declare {thing}: one and other"):
        records_by_name([one, other])


def test_two_languages_of_one_name_are_refused() -> None:
    with pytest.raises(SettingsError, match="two languages declare the name one"):
        records_by_name([Language(name="one"), Language(name="one")])


@pytest.mark.parametrize(
    ("marks", "told", "leading"),
    [("", "", 4), ("%", "Opens the depot. At dawn.", 2), ("rem %", "Opens the depot. At dawn.", 2)],
)
def test_comments_with_marks_of_one_language_belong_to_what_is_below_them(marks: str, told: str, leading: int) -> None:
    lines = ["first()", "% Opens the depot.", "%% At dawn.", "open() ->", "  go()."]
    assert doc_comment(lines, 4, marks) == told
    pieces = cut(lines, [Symbol("open", "open", "function", 4, 5, 4)], comment_marks=marks)
    assert pieces == [Chunk(1, leading - 1, None), Chunk(leading, 5, 0)]
