"""A capability whose ten agents do nothing, so that a pipeline of them costs what its hops cost."""

from __future__ import annotations

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageResult
from runtime.run.stage_view import StageView

NAMES = tuple("abcdefghij")


async def _nothing(_context: StageContext, _view: StageView) -> StageResult:
    return StageResult({})


CAPABILITY = Capability(
    id="idle", pipelines=("seq7", "diamond8"), agents={name: AgentHooks(process=_nothing) for name in NAMES}
)
