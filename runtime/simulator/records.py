"""A run read again from the disk: its log, its end, and everything that followed from it."""

from __future__ import annotations

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope
from runtime.simulator.scenarios import PlannedRun
from runtime.simulator.simulated_system import System
from runtime.supervision.commands import ClientEvent, Emit, Finish, RunStage
from runtime.supervision.events import Event
from runtime.supervision.replay import decisions


class Record(msgspec.Struct, frozen=True):
    """What the log of a run says: its end, what callers were shown, what agents were told, how often it ended."""

    planned: PlannedRun
    log: list[Event]
    envelope: Envelope
    shown: list[ClientEvent]
    issued: list[RunStage]
    finishes: int

    @property
    def run_id(self) -> RunId:
        """The run."""
        return self.planned.run_id


def read(system: System, planned: PlannedRun) -> Record | None:
    """The record of a run; None when nothing of it is on the disk."""
    log = system.disk.kept(planned.run_id)
    shown: list[ClientEvent] = []
    issued: list[RunStage] = []
    finishes = 0
    envelope = None
    for _, _, decision in decisions(system.config, log):
        envelope = decision.state.envelope
        for command in decision.commands:
            if isinstance(command, Emit):
                shown.append(command.event)
            elif isinstance(command, RunStage):
                issued.append(command)
            elif isinstance(command, Finish):
                finishes += 1
    return None if envelope is None else Record(planned, log, envelope, shown, issued, finishes)
