"""What agents and people say to a supervisor."""

from __future__ import annotations

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.supervision.events import BudgetRequested, StageFailed, StageStarted, StageSucceeded, ToolCalled

StagePayload = StageStarted | ToolCalled | BudgetRequested | StageSucceeded | StageFailed


class Report(msgspec.Struct, frozen=True, gc=False):
    """What an agent says of a stage, and in which of its lives."""

    agent: str
    life: int
    payload: StagePayload


class Answer(msgspec.Struct, frozen=True):
    """A person's answer to a question of a run."""

    run_id: RunId
    interrupt_id: str
    user_id: str
    response: InterruptResponse
