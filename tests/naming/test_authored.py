"""A function that is called once is put back where it is called, with nothing of its name in sight."""

from __future__ import annotations

import ast
import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.source_text import SourceText
from tests.naming.authored import blocks_in

CALLER = """
def outer(path, limit):
    print(path)
    {call}
    return rows


def _read_rows(name, most{default}):
    rows_found = []
    for line in open(name):
        if len(rows_found) < most:
            rows_found.append(line)
    return rows_found
"""


def put_back(call: str, default: str = "") -> dict[str, str]:
    text = textwrap.dedent(CALLER.format(call=call, default=default))
    found = blocks_in(SourceText(text), ast.parse(text))
    return {
        name: context.source.lines(context.statements[0].lineno, context.statements[-1].end_lineno or 0)
        for name, context in found
    }


def test_the_body_takes_the_place_of_the_call_with_the_names_that_are_there() -> None:
    block = put_back("rows = _read_rows(path, limit)")["_read_rows"]
    assert block.splitlines() == [
        "    rows = []",
        "    for line in open(path):",
        "        if len(rows) < limit:",
        "            rows.append(line)",
    ]


def test_what_is_no_name_is_bound_before_the_block() -> None:
    block = put_back("rows = _read_rows(path, limit + 1)")["_read_rows"]
    assert "< most" in block and "limit" not in block


@pytest.mark.parametrize(
    "call", ["rows = [_read_rows(path, limit)]", "rows = _read_rows(*path)", "_read_rows(path, 1)"]
)
def test_what_cannot_be_put_back_is_left_out(call: str) -> None:
    assert put_back(call) == {}


def test_a_function_that_is_called_twice_is_left_out() -> None:
    assert put_back("rows = _read_rows(path, 1)\n    rows = _read_rows(path, 2)") == {}
