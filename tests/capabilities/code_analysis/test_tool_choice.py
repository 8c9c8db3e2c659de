"""Tools that fail: what is planned without them, and what the answer says of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.agents.tool_choice import avoided_tools
from runtime.primitives.clock import SystemClock
from runtime.tools.tool_host import CountedCall
from tests.capabilities.code_analysis.support import AnalysisHarness

TOOLS = ("locate", "explore_symbol_usage", "trace_entry_point", "explain_code_history", "read_code")


def row(tool: str, health: str = "healthy", breaker: str = "closed") -> dict[str, Any]:
    return {"tool": tool, "health": health, "breaker": breaker}


@pytest.mark.parametrize(
    ("measured", "avoided"),
    [
        ([], []),
        ([row("locate"), row("explore_symbol_usage", "degraded")], []),
        ([row("explore_symbol_usage", "unhealthy")], ["explore_symbol_usage"]),
        ([row("explore_symbol_usage", "unhealthy"), row("locate", "unhealthy")], []),
        ([row("explore_symbol_usage", "unhealthy"), row("locate", breaker="open")], ["locate"]),
        ([row("explain_code_history", "unhealthy")], []),
        ([row("explain_code_history", "unhealthy", "open")], ["explain_code_history"]),
        ([row("explain_code_history", "unhealthy", "half_open")], []),
        ([row("not_a_tool_of_ours", "unhealthy", "open")], []),
    ],
)
def test_open_tools_are_left_out_and_unhealthy_ones_where_another_can_do_it(
    measured: list[dict[str, Any]], avoided: list[str]
) -> None:
    assert list(avoided_tools(measured, TOOLS)) == avoided


async def asked(root: Path, state: Path, failing: str, question: str) -> tuple[AnalysisHarness, dict[str, Any]]:
    harness = await AnalysisHarness.open(root, state)
    now_ms = SystemClock().now_ms()
    calls = [CountedCall(failing, "error", 10, now_ms, is_failure=True)] * 5
    harness.tool_metrics.record(str(harness.repository["root"]), calls)
    return harness, await harness.ask(question)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "orders.py").write_text("def place_order(item):\n    return [item]\n\n\ndef main():\n    place_order(1)\n")
    return root


async def test_a_tool_whose_breaker_is_open_is_not_planned_and_the_answer_says_so(shop: Path, tmp_path: Path) -> None:
    harness, document = await asked(shop, tmp_path / "state", "explore_symbol_usage", "Who calls place_order?")
    assert harness.last is not None
    planned = {step["tool"] for step in harness.last.outputs["planner"]["steps"]}
    assert planned and "explore_symbol_usage" not in planned
    assert "explore_symbol_usage was not used, since it failed five times in five minutes" in document["answer"]


async def test_a_tool_that_failed_elsewhere_is_planned_here(shop: Path, tmp_path: Path) -> None:
    harness = await AnalysisHarness.open(shop, tmp_path / "state")
    calls = [CountedCall("explore_symbol_usage", "error", 10, SystemClock().now_ms(), is_failure=True)] * 5
    harness.tool_metrics.record("/another/repository", calls)
    await harness.ask("Who calls place_order?")
    assert harness.last is not None
    assert "explore_symbol_usage" in {step["tool"] for step in harness.last.outputs["planner"]["steps"]}


async def test_the_calls_of_a_run_are_counted_for_its_repository(shop: Path, tmp_path: Path) -> None:
    harness = await AnalysisHarness.open(shop, tmp_path / "state")
    await harness.ask("Who calls place_order?")
    counted = {metric.tool: metric for metric in harness.tool_metrics.of(str(harness.repository["root"]))}
    assert counted["locate"].calls >= 1
    assert {metric.breaker for metric in counted.values()} == {"closed"}
    # The planner's own look at the tools is of no repository.
    assert {tool.tool for tool in harness.tool_metrics.health()} == {*counted, "list_tools"}
