"""What a file says of itself at its head, in the manner of its language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.language_parts.head_comments import MAX_TOLD_CHARS
from runtime.codebase.parsing.head_docs import MAX_HEAD_LINES, head_doc

LICENCE = "/*\n * Copyright of the post.\n */\n"


@pytest.mark.parametrize(
    ("language", "text", "told", "start", "end"),
    [
        ("python", '"""Parcels."""\nimport os\n', "Parcels.", 1, 1),
        ("python", '#!/bin/python\n\n"""Parcels.\n\nAnd letters.\n"""\n', "Parcels.\n\nAnd letters.", 3, 6),
        ("rust", "/*!\nParcels.\n*/\nfn a() {}\n", "Parcels.", 1, 3),
        ("rust", "// rights\n//! Parcels.\n//! Letters.\nfn a() {}\n", "Parcels.\nLetters.", 2, 3),
        ("go", "// Copyright\n\n// Package post has parcels.\npackage post\n", "Package post has parcels.", 3, 3),
        ("go", "/*\nPackage post has parcels.\n*/\npackage post\n", "Package post has parcels.", 1, 3),
        ("javascript", "'use strict'\n\n/**\n * Parcels.\n */\nlet a\n", "Parcels.", 3, 5),
        ("java", LICENCE + "/** Parcels. */\npackage post;\n", "Parcels.", 4, 4),
        ("shell", "#!/bin/sh\n\n# Sends parcels.\n# And letters.\nexit\n", "Sends parcels.\nAnd letters.", 3, 4),
    ],
)
def test_each_language_documents_its_files_in_its_own_way(
    language: str, text: str, told: str, start: int, end: int
) -> None:
    found = head_doc(text.split("\n"), language)
    assert found is not None
    assert (found.text, found.start_line, found.end_line) == (told, start, end)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "import os\n'''No docstring.'''\n"),
        ("python", "# A comment.\nimport os\n"),
        ("python", '"""Without an end.\n'),
        ("rust", "// Not of the file.\nfn a() {}\n"),
        ("go", "// Of nothing.\n\npackage post\n"),
        ("go", "package post\n"),
        ("javascript", "let a\n/** Of b. */\nlet b\n"),
        ("javascript", LICENCE + "let a\n/** Of b. */\n"),
        ("java", LICENCE),
        ("shell", "echo a\n# Of b.\n"),
        ("shell", "#!/bin/sh\n# ----\n"),
        ("cobol", "* Parcels.\n"),
    ],
)
def test_rights_code_and_comments_of_other_things_say_nothing_of_the_file(language: str, text: str) -> None:
    assert head_doc(text.split("\n"), language) is None


@pytest.mark.parametrize("before", [MAX_HEAD_LINES - 2, MAX_HEAD_LINES - 1, MAX_HEAD_LINES])
def test_only_the_first_lines_are_looked_at(before: int) -> None:
    lines = ["// no"] * before + ["//! Parcels."]
    assert (head_doc(lines, "rust") is not None) is (before < MAX_HEAD_LINES)


@given(
    st.lists(st.sampled_from(["/*", "*/", " * a word", "// a word", "//! a word", "# a word", '"""', "package a", ""])),
    st.sampled_from(["python", "rust", "go", "ruby", "shell", "javascript", "java"]),
)
def test_whatever_stands_there_the_lines_are_those_of_the_file(lines: list[str], language: str) -> None:
    found = head_doc(lines, language)
    if found is not None:
        assert 1 <= found.start_line <= found.end_line <= len(lines)
        assert len(found.text) <= MAX_TOLD_CHARS
        cited = "\n".join(lines[found.start_line - 1 : found.end_line])
        assert all(told in cited for told in found.text.split("\n"))
