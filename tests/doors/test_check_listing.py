"""A listing goes on without the files that end the process that parses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.violation_fix.checks.options import CheckOptions
from runtime.codebase.index.parsing_processes import FATAL
from runtime.errors import ProcessError
from serve.batch.check_listing import MAX_FATAL_FILES, listed

LONG = pytest.mark.long
MEMORY_BYTES = 600_000_000
OPTIONS = CheckOptions(select=("deep-nesting", "project"))


def bombs(root: Path, count: int) -> list[str]:
    """Files that take the parser of Java more memory than there is."""
    names = [f"Bomb{number}.java" for number in range(count)]
    for name in names:
        (root / name).write_text(f"class {name.removesuffix('.java')} {{}}\n" + "%w(//)\n" * 3_000)
    return names


@pytest.mark.parametrize(
    "count", [1, pytest.param(MAX_FATAL_FILES - 1, marks=LONG), pytest.param(MAX_FATAL_FILES, marks=LONG)]
)
def test_files_that_end_the_process_that_parses_them_are_named_and_the_rest_is_told(tmp_path: Path, count: int) -> None:
    names = bombs(tmp_path, count)
    (tmp_path / "z.py").write_text("def f(x):\n  if x:\n    for y in x:\n      pass\n")
    told: list[str] = []
    options = CheckOptions(select=("deep-nesting",), max_nesting=1)
    report = listed(tmp_path, [], options, memory_bytes=MEMORY_BYTES, on_progress=told.append)
    assert [each.path for each in report.violations] == ["z.py"]
    assert [each.path for each in report.unchecked] == names
    assert {each.reason for each in report.unchecked} == {f"deep-nesting may miss functions: {FATAL}"}
    assert not report.is_whole
    assert told[-1] == f"checking: {2 * count + 2} of {2 * count + 2} steps"


@LONG
def test_more_such_files_than_are_passed_over_end_the_listing(tmp_path: Path) -> None:
    bombs(tmp_path, MAX_FATAL_FILES + 1)
    with pytest.raises(ProcessError, match="memory"):
        listed(tmp_path, [], OPTIONS, memory_bytes=MEMORY_BYTES)
