"""A capability of one agent that asks its model and, in its first attempt, kills its process right after the answer."""

from __future__ import annotations

import os
import signal
from typing import Any

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageInput, StageResult
from runtime.llm.messages import Message
from runtime.run.stage_view import StageView
from runtime.tools.registry import ToolRegistry


async def _reason(context: StageContext, view: StageView, _given: StageInput) -> dict[str, Any]:
    assert context.llm is not None
    said = await context.llm.generate([Message("user", view.raw_input)])
    if context.key.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"said": said.text}


async def _as_it_is(_context: StageContext, _view: StageView, output: dict[str, Any]) -> StageResult:
    return StageResult(output)


CAPABILITY = Capability(
    id="modelled",
    pipelines=("modelled",),
    agents={"a": AgentHooks(reasoners={"llm": _reason}, post_process=_as_it_is)},
    tools=ToolRegistry([]),
    open_services=dict,
)
