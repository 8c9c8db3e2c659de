"""Stages that write outside their run: a retried stage finds in the journal what it has done already."""

from __future__ import annotations

import msgspec

from runtime.agents.capability import StageContext, StageResult
from runtime.primitives.ids import StageKey
from runtime.run.stage_view import StageView
from runtime.testing import PipelineBuilder
from runtime.tools.registry import Tool
from runtime.tools.result import ToolResult
from tests.runtime.hosting.hosted import Hosted

WRITER = {"has_tools": True, "tool_access": "write", "allowed_tools": ["write"]}


class Line(msgspec.Struct, frozen=True):
    text: str


class Paper:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def tool(self) -> Tool:
        def write(_subject: object, line: Line) -> ToolResult:
            self.lines.append(line.text)
            return ToolResult("ok", data={"lines": len(self.lines)})

        return Tool("write", "writes", Line, write, "write")


async def test_a_stage_that_fails_after_it_wrote_does_not_write_again_when_it_is_retried() -> None:
    paper = Paper()

    async def write_then_fail_once(context: StageContext, _view: StageView) -> StageResult:
        written = await context.tools.call("write", None, {"text": "a"})
        if context.key.attempt == 1:
            raise ValueError("after the ink has flowed")
        return StageResult({"lines": written.data["lines"]})

    config = PipelineBuilder().stage("a", max_retries=1, **WRITER).build()
    kit = Hosted(config, {"a": [write_then_fail_once]}, tools=[paper.tool()])
    envelope = await kit.settle(await kit.submit())
    assert (envelope.terminal_reason, envelope.outputs["a"]) == ("completed", {"lines": 1})
    assert paper.lines == ["a"]


async def test_a_new_visit_of_the_stage_writes_anew() -> None:
    paper = Paper()

    async def write(context: StageContext, _view: StageView) -> StageResult:
        written = await context.tools.call("write", None, {"text": "a"})
        return StageResult({"again": written.data["lines"] < 3})

    rules = [{"condition": "again", "value": True, "target": "a"}]
    builder = PipelineBuilder(edge_limits=[{"from": "a", "to": "a", "max_count": 5}])
    kit = Hosted(builder.stage("a", routing_rules=rules, **WRITER).build(), {"a": [write]}, tools=[paper.tool()])
    envelope = await kit.settle(await kit.submit())
    assert envelope.terminal_reason == "completed"
    assert paper.lines == ["a", "a", "a"]


async def test_an_attempt_that_another_process_has_begun_is_lost_and_issued_again() -> None:
    paper = Paper()

    async def write(context: StageContext, _view: StageView) -> StageResult:
        await context.tools.call("write", None, {"text": f"attempt {context.key.attempt}"})
        return StageResult({})

    kit = Hosted(PipelineBuilder().stage("a", **WRITER).build(), {"a": [write]}, tools=[paper.tool()])
    run_id = await kit.runner.submit(kit.request())
    kit.journal.begin(StageKey(run_id, 1), "a process that is gone")
    envelope = await kit.settle(run_id)
    assert envelope.terminal_reason == "completed"
    assert paper.lines == ["attempt 2"]
