"""Replays a run from the disk: its log, its final state, and the commands that followed from it."""

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
    """Holds a replayed run: its log, its last envelope, client events, issued stages, and number of finishes."""

    planned: PlannedRun
    log: list[Event]
    envelope: Envelope
    shown: list[ClientEvent]
    issued: list[RunStage]
    finishes: int

    @property
    def run_id(self) -> RunId:
        """The id of the run."""
        return self.planned.run_id


def read(system: System, planned: PlannedRun) -> Record | None:
    """Replay the log of a run; return None if the disk has no events of it."""
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
