"""What the reading tools of the MCP door cost on an index that is there, against reading and hashing the sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tool_registry import code_tools
from tests.benchmarks.conftest import Report
from tests.benchmarks.test_bench_code_analysis import read_and_hash, root

__all__ = ["root"]

TOOLS = {tool.name: tool for tool in code_tools()}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("explore_symbol_usage", {"symbol": "Router.add_route"}),
    ("explore_symbol_usage", {"symbol": "get"}),
    ("find_symbol", {"name": "Router"}),
    ("locate", {"query": "where are cookies parsed"}),
    ("get_file_symbols", {"path": "routing.py"}),
    ("map_module", {"path": "."}),
    ("trace_entry_point", {"entry": "Router.app"}),
    ("read_code", {"symbol": "Router"}),
    ("grep_search", {"pattern": "receive"}),
    ("grep_search", {"pattern": "receive", "further": ["add_route", "Middleware", "url_path_for"]}),
    ("grep_search", {"pattern": r"async def \w+_send", "regex": True}),
    ("map_module", {"path": "middleware"}),
    ("find_related", {"path": "routing.py"}),
)


@pytest.fixture(scope="module")
def codebase(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codebase]:
    path = tmp_path_factory.mktemp("bench-tools") / "index.sqlite"
    refresh(root, path)
    opened = Codebase.open(root, path)
    yield opened
    opened.close()


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_a_call_of_a_reading_tool(
    benchmark: Any,
    held_against: Report,
    root: Path,
    codebase: Codebase,
    tool: str,
    arguments: dict[str, Any],
) -> None:
    parameters = msgspec.convert(arguments, TOOLS[tool].parameters)
    result = benchmark(lambda: TOOLS[tool].run(codebase, parameters))
    assert result.usable
    held_against(lambda: read_and_hash(root), "call", 1, named="reading and hashing the files")
