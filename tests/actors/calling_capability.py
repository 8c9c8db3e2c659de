"""A capability of two agents that each ask their model once."""

from __future__ import annotations

from typing import Any

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageInput, StageResult
from runtime.llm.messages import Message
from runtime.run.stage_view import StageView
from runtime.tools.registry import ToolRegistry


async def _reason(context: StageContext, view: StageView, _given: StageInput) -> dict[str, Any]:
    assert context.llm is not None
    said = await context.llm.generate([Message("user", view.raw_input)])
    return {"said": said.text}


async def _as_it_is(_context: StageContext, _view: StageView, output: dict[str, Any]) -> StageResult:
    return StageResult(output)


HOOKS = AgentHooks(reasoners={"llm": _reason}, post_process=_as_it_is)
CAPABILITY = Capability(
    id="calling",
    pipelines=("calling",),
    agents={"a": HOOKS, "b": HOOKS},
    tools=ToolRegistry([]),
    open_services=dict,
)
