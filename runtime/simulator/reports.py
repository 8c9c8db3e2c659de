"""Defines the messages of users to a supervisor; those of agents are `runtime.agents.reporter.Report`."""

from __future__ import annotations

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse


class Answer(msgspec.Struct, frozen=True):
    """Carries a user's answer to an interrupt of a run."""

    run_id: RunId
    interrupt_id: str
    user_id: str
    response: InterruptResponse
