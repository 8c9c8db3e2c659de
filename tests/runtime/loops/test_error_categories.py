"""Texts of errors are sorted into categories."""

from __future__ import annotations

import pytest

from runtime.loops.error_categories import error_category


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (None, ""),
        ("", ""),
        ("old text not found in a.py", "not_found"),
        ("No such file or directory: 'b.py'", "not_found"),
        ("SyntaxError: invalid syntax (a.py, line 3)", "syntax_error"),
        ("IndentationError: unexpected indent", "syntax_error"),
        ("cannot extract lines 3-9: they contain a return", "extraction_blocked"),
        ("blocked by control flow", "extraction_blocked"),
        ("the edit broke tests and was reverted", "test_regression"),
        ("reverted: test_a failed, name 'x' not found", "test_regression"),
        ("tests timed out after 60 s", "timeout"),
        ("disk full", "other"),
    ],
)
def test_the_text_of_an_error_has_a_category(text: str | None, category: str) -> None:
    assert error_category(text) == category
