"""Runs of every kind, carried out and recorded, whose agents do the same whenever they are asked the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from runtime.agents.capability import StageContext, StageResult
from runtime.errors import ToolFailedError
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptRequest, InterruptResponse
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import StageView
from runtime.testing import PipelineBuilder, Script
from runtime.tools.registry import Tool
from runtime.tools.result import ToolResult
from tests.runtime.hosting.hosted import Hosted

Step = Callable[[StageContext, StageView], Awaitable[StageResult]]


class NoParameters(msgspec.Struct, frozen=True):
    """A tool that takes nothing."""


LOOK = Tool("look", "Looks.", NoParameters, lambda subject, parameters: ToolResult("ok"))
TOOLS = {"has_tools": True, "tool_access": "read", "allowed_tools": ["look"]}


class Recorded:
    """A run that is over, and what it was run on."""

    def __init__(self, kit: Hosted, run_id: RunId) -> None:
        self.kit = kit
        self.run_id = run_id

    @property
    def events(self) -> int:
        """How many events its log has."""
        return len(self.kit.log.events(self.run_id))


async def looping() -> Recorded:
    """A loop that is good in its third round, counted by the edge that it takes."""

    async def judge(_context: StageContext, view: StageView) -> StageResult:
        return StageResult({"good": view.edges.get("judge->work", 0) == 2})

    config = (
        PipelineBuilder(max_iterations=2)
        .stage("work", default_next="judge")
        .stage("judge")
        .rule("good", False, "work", ["work"])
    )
    return await _recorded(config.build(), {"work": [{"n": 1}], "judge": [judge]})


async def at_the_limit() -> Recorded:
    """A loop that is never good; the final stage says so."""
    config = PipelineBuilder(max_iterations=1, final_stage="sum").stage("work", default_next="judge")
    config.stage("judge").rule("good", False, "work").stage("sum")
    return await _recorded(config.build(), {"work": [{}], "judge": [{"good": False}], "sum": [{"partial": True}]})


async def racing() -> Recorded:
    """Two branches race, and their winner fans out over three items, each with a call of a tool."""

    async def slow(context: StageContext, view: StageView) -> StageResult:
        await context.clock.sleep(5)
        return StageResult({"list": []})

    async def look(context: StageContext, view: StageView) -> StageResult:
        await context.tools.call("look", None, {})
        return StageResult({"item": view.item})

    config = PipelineBuilder.parallel().stage("quick").stage("slow")
    config.stage("pick", requires=["quick", "slow"], join_strategy="any")
    config.stage("each", requires=["pick"], foreach="outputs.pick.list", foreach_concurrency=2, **TOOLS)
    config.stage("sum", requires=["each"])
    scripts: Mapping[str, Script] = {
        "quick": [{}],
        "slow": [slow],
        "pick": [{"list": ["x", "y", "z"]}],
        "each": [look],
        "sum": [{"done": True}],
    }
    return await _recorded(config.build(), scripts)


async def retried() -> Recorded:
    """A stage that works in its second attempt, and one that fails for good and has an error route."""

    async def second_time(context: StageContext, _view: StageView) -> StageResult:
        if context.key.attempt == 1:
            raise ToolFailedError("busy", recoverable=True)
        return StageResult({"ok": True})

    config = PipelineBuilder().stage("try", max_retries=1, default_next="break")
    config.stage("break", error_next="mend", default_next="mend").stage("mend")
    scripts: Mapping[str, Script] = {"try": [second_time], "break": [ToolFailedError("broken")], "mend": [{"x": 1}]}
    return await _recorded(config.build(), scripts)


async def answered() -> Recorded:
    """A stage asks, is answered and goes on; the next wants a yes, and gets it."""

    async def ask(_context: StageContext, view: StageView) -> StageResult:
        response = view.interrupt.response if view.interrupt else None
        if response is None:
            return StageResult({}, interrupt=InterruptRequest("clarification", "Which?"))
        return StageResult({"which": response.text})

    async def policy(*_given: Any) -> PolicyVerdict:
        return PolicyVerdict("requires_confirmation", "Really?")

    config = PipelineBuilder().stage("ask", default_next="act").stage("act", has_policies=True).build()
    kit = Hosted(config, {"ask": [ask], "act": [{"acted": True}]}, {"act": policy})
    run_id = await kit.submit(wait=True)
    await kit.runner.answer(run_id, f"{run_id}-q1", "local", InterruptResponse("that one"))
    await kit.clock.advance(0)
    await kit.runner.answer(run_id, f"{run_id}-q2", "local", InterruptResponse(approved=True))
    await kit.settle(run_id)
    return Recorded(kit, run_id)


async def _recorded(config: PipelineConfig, scripts: Mapping[str, Script]) -> Recorded:
    kit = Hosted(config, scripts, tools=[LOOK])
    run_id = await kit.submit()
    await kit.settle(run_id, 1)
    return Recorded(kit, run_id)


KINDS: dict[str, Callable[[], Awaitable[Recorded]]] = {
    "looping": looping,
    "at the limit": at_the_limit,
    "racing": racing,
    "retried": retried,
    "answered": answered,
}
