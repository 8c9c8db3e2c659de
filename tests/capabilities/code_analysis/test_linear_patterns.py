"""Patterns over a caller's text begin no match inside a token or a run of blanks, which would take quadratic time."""

from __future__ import annotations

import importlib

import pytest

_ANALYSIS = "actors.capabilities.code_analysis.question.analysis"
_PARTS = "actors.capabilities.code_analysis.question.parts"
_GATHERING = "runtime.codebase.search.gathering"
_REPORT = "runtime.codebase.search.prose.report"


@pytest.mark.parametrize(
    ("module", "name", "text", "at"),
    [
        (_ANALYSIS, "_PATH", "a-b.py", 2),
        (_ANALYSIS, "_PATH", "a-b/c", 2),
        (_ANALYSIS, "_CALL", "a.b()", 2),
        (_ANALYSIS, "_CONFIGURED_CLAUSE", "x  where is it configured", 2),
        (_PARTS, "_PART", "x  and how", 2),
        (_PARTS, "_CLAUSE", "x  and how", 2),
        (_GATHERING, "_PATH", "a.b.py", 2),
        (_GATHERING, "_PATH", "ab.py", 1),
        (_REPORT, "_PATH", "ab/c", 1),
        (_REPORT, "_PATH", "a-b.py", 2),
    ],
)
def test_a_pattern_does_not_begin_inside_a_token(module: str, name: str, text: str, at: int) -> None:
    pattern = getattr(importlib.import_module(module), name)
    assert pattern.search(text) is not None
    assert pattern.match(text, at) is None


def test_where_something_is_done_is_looked_for_once_per_question() -> None:
    done = importlib.import_module(_ANALYSIS)._DONE
    assert ".*" not in done.pattern
