"""Tools are found where they are declared, and the guide tells of exactly those."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from runtime.codebase.tool_registry import CodeTool, code_tools, remembered_of, table_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "code-index.md"


@pytest.mark.parametrize(("whose", "exposed"), [("agents", True), ("people", False)])
def test_the_page_on_the_code_index_has_the_table_of_the_declared_tools(whose: str, exposed: bool) -> None:
    found = re.search(rf"<!-- tools of {whose} -->\n(.*?)\n?<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    table = table_of(tool for tool in code_tools() if tool.exposed is exposed)
    assert found.group(1) == table, f"put this between the marks of docs/code-index.md:\n\n{table}"


def test_every_example_is_accepted_by_its_tool_and_shows_one_of_its_parameters() -> None:
    for tool in code_tools():
        assert isinstance(tool, CodeTool)
        tool.read_arguments(json.loads(json.dumps(tool.example)))
        assert tool.example or tool.name in {"git_status", "list_tools"}


def test_no_two_tools_stand_at_the_same_place() -> None:
    places = [tool.place for tool in code_tools() if isinstance(tool, CodeTool)]
    assert places == sorted(set(places))


@pytest.mark.parametrize(
    ("tool", "parameter"), [("explore_symbol_usage", "symbol"), ("locate", ""), ("no_such_tool", "")]
)
def test_what_is_remembered_goes_to_the_tool_that_declares_so(tool: str, parameter: str) -> None:
    assert remembered_of(tool) == parameter
