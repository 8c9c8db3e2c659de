"""What the linter does not ask: why an exception that is caught and dropped means nothing there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("actors", "runtime", "serve", "tests")
REPOSITORIES = ROOT / "tests" / "fixtures"


def unexplained(source: str) -> Iterator[int]:
    """Yield the line of each handler that only passes or continues, without a comment in it."""
    if "except" not in source or ("pass" not in source and "continue" not in source):
        return
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler) and all(isinstance(each, ast.Pass | ast.Continue) for each in node.body):
            end = node.body[-1].end_lineno
            if not any("#" in line for line in lines[node.lineno - 1 : end]):
                yield node.lineno


def test_a_dropped_exception_without_a_comment_is_found() -> None:
    source = "try:\n    a()\nexcept OSError:\n    pass{}\n"
    assert list(unexplained(source.format(""))) == [3]
    assert list(unexplained(source.format("  # it is gone"))) == []


def test_each_exception_that_is_dropped_has_a_comment_that_says_why() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if REPOSITORIES not in path.parents]
    found = [f"{path.relative_to(ROOT)}:{line}" for path in files for line in unexplained(path.read_text("utf-8"))]
    assert found == []
