from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tools.grep_search import grep_search
from tests.runtime.codebase.cited import ranges_of, verify
from tests.runtime.codebase.test_codebase_history import commit, git

EXPOSED = {
    *("locate", "explore_symbol_usage", "map_module", "trace_entry_point", "explain_code_history", "read_code"),
    *("find_related", "find_precedents", "find_dependency", "find_choices", "find_tests", "git_status", "list_tools"),
    "describe_folder",
}


@pytest.fixture
def history(shop: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    git(shop, "init", "-q", "-b", "main")
    commit(shop, "Open the shop")
    return opened(shop)


def call(codebase: Codebase, tool_name: str, /, **arguments: Any) -> ToolResult:
    tool = TOOLS.get(tool_name)
    result: ToolResult = tool.run(codebase, tool.read_arguments(arguments))
    return result


def tried(result: ToolResult) -> list[tuple[str, str]]:
    return [(attempt.strategy, attempt.status) for attempt in result.attempts]


def test_agents_are_told_of_thirteen_tools_and_there_are_thirteen_below_them() -> None:
    assert {entry["name"] for entry in TOOLS.describe()} == EXPOSED
    below = [tool for tool in TOOLS if not tool.exposed]
    assert len(below) == 13
    assert set(TOOLS.names()) == EXPOSED | {tool.name for tool in below}
    assert all(tool.description.endswith(".") for tool in below)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "src/shop/orders.py"}),
        ("glob_files", {"pattern": "*.py"}),
        ("grep_search", {"pattern": "gateway"}),
        ("tree_structure", {"path": "src"}),
        ("find_symbol", {"name": "Order.total"}),
        ("get_file_symbols", {"path": "src/shop/orders.py"}),
        ("get_imports", {"path": "src/shop/orders.py"}),
        ("get_importers", {"module": "src/shop/orders.py"}),
        ("semantic_search", {"query": "give money back to the customer"}),
        ("find_similar_files", {"path": "src/shop/orders.py"}),
        ("git_log", {}),
        ("git_blame", {"path": "README.md"}),
    ],
)
def test_each_base_tool_finds_cites_and_does_so_again(history: Codebase, name: str, arguments: dict[str, Any]) -> None:
    first, second = call(history, name, **arguments), call(history, name, **arguments)
    assert first.status == "ok", first
    assert (first.data, first.citations, tried(first)) == (second.data, second.citations, tried(second))
    assert verify(history, first.citations, ranges_of([first])) == (list(first.citations), {})
    assert first.attempts
    assert first.tokens > 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("locate", {"query": "Order"}),
        ("explore_symbol_usage", {"symbol": "Order"}),
        ("map_module", {}),
        ("trace_entry_point", {"entry": "Order.total"}),
        ("explain_code_history", {"path": "README.md"}),
        ("find_related", {"path": "src/shop/orders.py"}),
        ("git_status", {}),
        ("read_code", {"path": "README.md"}),
        ("list_tools", {}),
    ],
)
def test_each_exposed_tool_tells_what_it_tried_and_how_much_it_gave(
    history: Codebase, name: str, arguments: dict[str, Any]
) -> None:
    result = call(history, name, **arguments)
    assert (result.usable, bool(result.data)) == (True, True), result
    assert result.attempts
    assert all(attempt.strategy for attempt in result.attempts)
    assert result.tokens > 0


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("read_file", {"path": "../x"}, "denied"),
        ("read_file", {"path": "zzqxw.py"}, "not_found"),
        ("glob_files", {"pattern": "zzqxw*"}, "empty"),
        ("grep_search", {"pattern": "zzqxw"}, "empty"),
        ("grep_search", {"pattern": "(", "regex": True}, "error"),
        ("grep_search", {"pattern": "x", "scope": "/etc"}, "denied"),
        ("tree_structure", {"path": ".."}, "denied"),
        ("find_symbol", {"name": "zzqxw"}, "not_found"),
        ("get_file_symbols", {"path": "../x"}, "denied"),
        ("get_imports", {"path": "zzqxw.py"}, "not_found"),
        ("get_importers", {"module": "zzqxw"}, "empty"),
        ("semantic_search", {"query": "zzqxw"}, "empty"),
        ("semantic_search", {"query": "x", "scope": "../.."}, "denied"),
        ("find_similar_files", {"path": "../x"}, "denied"),
        ("git_log", {"path": "../x"}, "denied"),
        ("git_blame", {"path": "zzqxw.py"}, "not_found"),
        ("git_diff", {"base": "--output=stolen"}, "not_found"),
        ("git_diff", {}, "empty"),
    ],
)
def test_what_is_not_there_not_allowed_or_not_usable_is_told_apart(
    history: Codebase, name: str, arguments: dict[str, Any], status: str
) -> None:
    assert call(history, name, **arguments).status == status


def test_an_empty_search_is_broadened_and_then_moved_up(history: Codebase) -> None:
    broad = call(history, "grep_search", pattern="PAYMENTGATEWAY", scope="src/shop/payment.py")
    assert tried(broad) == [("as_asked", "empty"), ("broadened", "ok")]
    above = call(history, "grep_search", pattern="VAT_RATE", scope="src/shop/cli.py")
    assert tried(above) == [("as_asked", "empty"), ("broadened", "empty"), ("parent:src/shop", "ok")]
    assert above.data["scope"] == "src/shop"


def test_a_missing_file_or_symbol_is_looked_for_in_two_more_ways(history: Codebase) -> None:
    assert tried(call(history, "get_imports", path="src/shop/ordres.py"))[:2] == [
        ("path", "not_found"),
        ("fuzzy_path", "ok"),
    ]
    assert tried(call(history, "get_imports", path="other/place/orders.js"))[:3] == [
        ("path", "not_found"),
        ("fuzzy_path", "not_found"),
        ("index_by_name", "ok"),
    ]
    assert call(history, "find_symbol", name="refund_pay").data["symbols"][0]["symbol"].endswith("refund_payment")
    imported = call(history, "find_symbol", name="dataclasses")
    assert tried(imported) == [("symbol_index", "not_found"), ("partial_symbol", "not_found"), ("imports", "ok")]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_several_patterns_give_what_each_gives_by_itself(history: Codebase, count: int) -> None:
    further = ["gateway", "PAYMENTGATEWAY", "zzqxw", "(", "def", "return", "VAT_RATE"][:count]
    together = call(history, "grep_search", pattern="total", further=further)
    alone = [call(history, "grep_search", pattern=pattern) for pattern in ("total", *further)]
    assert [row["data"] for row in together.data["further"]] == [result.data for result in alone[1:]]
    assert [row["status"] for row in together.data["further"]] == [result.status for result in alone[1:]]
    assert {**together.data, "further": None} == {**alone[0].data, "further": None}
    assert together.citations == alone[0].citations


def test_an_expression_among_several_that_is_none_is_an_error_of_its_own(history: Codebase) -> None:
    found = call(history, "grep_search", pattern="(", regex=True, further=["def"])
    assert (found.status, found.at_fault) == ("error", "request")
    assert [row["status"] for row in found.data["further"]] == ["ok"]


@pytest.mark.parametrize("change", ["edit", "remove", "link"])
def test_a_search_sees_what_has_changed_since_the_last(history: Codebase, tmp_path: Path, change: str) -> None:
    file = history.root / "src/shop/orders.py"
    assert "src/shop/orders.py" in {hit["file"] for hit in call(history, "grep_search", pattern="class").data["hits"]}
    before = file.stat()
    if change == "edit":
        file.write_bytes(file.read_bytes().replace(b"class", b"clasz"))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert file.stat().st_size == before.st_size
    else:
        (tmp_path / "outside").mkdir()
        file.rename(tmp_path / "outside/orders.py")
        if change == "link":
            file.symlink_to(tmp_path / "outside/orders.py")
    assert "src/shop/orders.py" not in {
        hit["file"] for hit in call(history, "grep_search", pattern="class").data["hits"]
    }


@pytest.mark.parametrize(("limit", "status"), [(1, "partial"), (50, "ok")])
def test_hits_are_bounded_and_the_result_says_so(history: Codebase, limit: int, status: str) -> None:
    result = grep_search(history, "gateway", max_results=limit)
    assert (result.status, result.truncated) == (status, status == "partial")
    assert len(result.data["hits"]) <= limit


def test_patterns_with_folders_fit_whole_paths(history: Codebase) -> None:
    found = call(history, "glob_files", pattern="src/**/*.py").data["files"]
    assert "src/shop/orders.py" in {row["file"] for row in found}
    assert not any(row["file"].startswith("tests/") for row in found)


def test_what_differs_from_a_commit_is_shown_without_secrets(history: Codebase) -> None:
    (history.root / "README.md").write_text("changed\n")
    shown = call(history, "git_diff", path="README.md")
    assert (shown.status, "+changed" in shown.data["diff"]) == ("ok", True)
    assert call(history, "git_diff", path=".env").status == "denied"
