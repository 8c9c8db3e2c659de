"""What is done about a tool call that takes too long: once more with less to look at, then it is left out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.agents.retries import reduced, with_retries
from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.codebase.citation import ToolResult
from runtime.tools.registry import ToolRegistry
from runtime.tools.result import Attempt
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, pipeline

LATE = ToolResult("timeout", error="too long")
FOUND = ToolResult("ok", {"results": []}, (cited("a.py", 1),), (Attempt("ranked_chunks", "ok", 1),))


class Calls:
    """Answers the calls in turn, and notes what was asked."""

    def __init__(self, *results: ToolResult) -> None:
        self._results = list(results)
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, arguments: dict[str, Any]) -> ToolResult:
        self.asked.append(arguments)
        return self._results.pop(0)


def strategies(result: ToolResult) -> list[tuple[str, str]]:
    return [(attempt.strategy, attempt.status) for attempt in result.attempts]


async def test_what_took_too_long_is_asked_for_less_and_the_result_says_so() -> None:
    calls = Calls(LATE, FOUND)
    result = await with_retries("locate", {"query": "x", "max_results": 20}, calls, 2)
    assert calls.asked == [{"query": "x", "max_results": 20}, {"query": "x", "max_results": 5}]
    assert strategies(result) == [("as_asked", "timeout"), ("reduced_scope", "ok"), ("ranked_chunks", "ok")]
    assert (result.status, result.truncated, result.citations) == ("partial", True, FOUND.citations)
    assert "asked for less" in str(result.error)


async def test_what_takes_too_long_again_is_left_out() -> None:
    calls = Calls(LATE, LATE)
    result = await with_retries("map_module", {"path": "."}, calls, 2)
    assert len(calls.asked) == 2
    assert result.status == "timeout"
    assert strategies(result) == [("as_asked", "timeout"), ("reduced_scope", "timeout"), ("skipped", "timeout")]


async def test_what_has_nothing_to_leave_out_is_skipped_at_once() -> None:
    calls = Calls(LATE)
    result = await with_retries("git_status", {}, calls, 2)
    assert strategies(result) == [("as_asked", "timeout"), ("skipped", "timeout")]


@pytest.mark.parametrize(("max_retries", "asked"), [(0, 1), (1, 2), (2, 2)])
async def test_the_bound_of_retries_is_kept(max_retries: int, asked: int) -> None:
    calls = Calls(LATE, FOUND)
    await with_retries("locate", {"query": "x"}, calls, max_retries)
    assert len(calls.asked) == asked


@pytest.mark.parametrize("status", ["ok", "partial", "empty", "not_found", "denied", "error", "unsupported"])
async def test_nothing_but_a_timeout_is_tried_again_here(status: Any) -> None:
    given = ToolResult(status)
    assert await with_retries("locate", {"query": "x"}, Calls(given), 2) is given


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.exposed], ids=lambda tool: tool.name)
def test_less_is_never_more_and_fits_the_tool(tool: Any) -> None:
    smallest = {"max_results": 1, "max_depth": 1, "max_commits": 1, "max_lines": 1, "origin": False}
    own = {name: value for name, value in smallest.items() if name in tool.parameters.__struct_fields__}
    needed = {name: "x" for name in ("query", "symbol") if name in tool.parameters.__struct_fields__}
    less = reduced(tool.name, {**needed, **own})
    assert less is None or all(less[name] <= value for name, value in own.items())
    if (less := reduced(tool.name, needed)) is not None:
        tool.read_arguments(less)


async def test_a_run_whose_search_hangs_goes_on_with_the_rest_and_tells_all_attempts(relay: AnalysisHarness) -> None:
    def hangs(subject: Any, parameters: Any) -> ToolResult:
        return LATE

    tools = ToolRegistry(msgspec.structs.replace(t, run=hangs) if t.name == "locate" else t for t in CAPABILITY.tools)
    desk = relay.variant(msgspec.structs.replace(CAPABILITY, tools=tools), pipeline())
    envelope = await desk.run("Who calls deliver_parcel in relay/van.py?")
    assert envelope.terminal_reason == "completed"
    tried = envelope.goals.finished_rounds[0].synthesis["attempts"]
    steps = {
        step: [attempt["strategy"] for attempt in attempts]
        for step, attempts in tried.items()  # type: ignore[attr-defined]
    }
    assert steps["find"] == ["as_asked", "reduced_scope", "skipped"]
    assert steps["map0"]
    assert [c["file"] for c in envelope.outputs["integration"]["citations"]]


RETRIES = ("broadened", "parent:", "lines_or_partial_symbol", "imports_and_text", "partial_symbol", "fuzzy_path")


@pytest.mark.parametrize("permitted", [0, 1, 2])
async def test_the_tools_of_a_run_keep_to_its_bound_of_retries(relay: AnalysisHarness, permitted: int) -> None:
    envelope = await relay.run("Who calls zzqxw_abc in zzqxw.py?", limits={"max_retries_per_step": permitted})
    steps = [attempts for done in envelope.goals.finished_rounds for attempts in done.synthesis["attempts"].values()]  # type: ignore[attr-defined]
    made = [[a["strategy"] for a in attempts if a["strategy"].startswith(RETRIES)] for attempts in steps]
    assert max(map(len, made)) == min(permitted, 2)


async def test_a_call_that_is_made_again_after_a_timeout_is_a_retry_itself(relay: AnalysisHarness) -> None:
    seen: list[int] = []

    def late_at_first(subject: Any, parameters: Any) -> ToolResult:
        seen.append(subject.max_retries)
        return LATE

    tools = ToolRegistry(
        msgspec.structs.replace(t, run=late_at_first) if t.name == "map_module" else t for t in CAPABILITY.tools
    )
    await relay.variant(msgspec.structs.replace(CAPABILITY, tools=tools)).run("What does relay/van.py do?")
    assert seen[:2] == [2, 1]
