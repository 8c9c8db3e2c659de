"""What people say to a supervisor; what agents say is `runtime.agents.reporter.Report`."""

from __future__ import annotations

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse


class Answer(msgspec.Struct, frozen=True):
    """A person's answer to a question of a run."""

    run_id: RunId
    interrupt_id: str
    user_id: str
    response: InterruptResponse
