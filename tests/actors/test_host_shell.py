"""Acknowledgements on their way from a supervisor to its agents: which share a frame, and which do not wait."""

from __future__ import annotations

import contextvars

import pytest

from actors.host_shell import LAST_REPORTS_GATHERED_FOR_S, HostShell
from runtime.agents.reporter import RECORDED, recorded_reports
from runtime.bus.frames import Frame, SendOutcome, decode_frame
from runtime.bus.memory_bus import MemoryBus, settle
from runtime.bus.request_handlers import OnFrame
from runtime.hosting.command_dispatch import Directory
from runtime.hosting.host_outputs import ReportRecorded
from runtime.hosting.run_table import RunTable
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.primitives.ids import Address, MessageId, RunId, StageName
from runtime.store.run_log import MemoryRunLog

A, B = Address("a"), Address("b")


class Told:
    """Two agents that note the acknowledgements that they get, and the shell that sends them."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.frames: dict[Address, list[list[MessageId]]] = {A: [], B: []}
        for address in self.frames:
            self.bus.join(address, frames={RECORDED: self._note_for(address)})
        endpoint = self.bus.join(Address("supervisor"))
        table = RunTable({}, MemoryRunLog(), self.bus.clock)
        directory = Directory(lambda *_: A, lambda _: StageName("a"))
        self.shell = HostShell(SupervisorHost(table, directory), endpoint, self.bus.clock, 1, lambda _: None)

    def _note_for(self, address: Address) -> OnFrame:
        async def note(frame: Frame) -> None:
            self.frames[address].append(recorded_reports(frame))

        return note


def recorded(number: int, address: Address = A, is_last: bool = True) -> ReportRecorded:
    return ReportRecorded(MessageId(str(number)), address, RunId(f"r-{number}"), contextvars.copy_context(), is_last)


async def test_reports_that_ended_their_attempts_are_acknowledged_in_one_frame_for_each_agent() -> None:
    told = Told()
    told.shell.act([recorded(1), recorded(2, B)])
    await settle()
    told.shell.act([recorded(3), recorded(4)])
    await told.bus.clock.advance(LAST_REPORTS_GATHERED_FOR_S)
    assert told.frames == {A: [["1", "3", "4"]], B: [["2"]]}
    told.shell.act([recorded(5)])
    await told.bus.clock.advance(LAST_REPORTS_GATHERED_FOR_S)
    assert told.frames[A][1:] == [["5"]]


async def test_an_agent_to_which_nothing_can_be_sent_does_not_hold_back_what_the_others_are_told() -> None:
    told = Told()
    deliver = told.bus.deliver

    def deliver_to_b(data: bytes) -> SendOutcome:
        return "unreachable" if decode_frame(data).header.target == A else deliver(data)

    told.bus.deliver = deliver_to_b  # type: ignore[method-assign]
    told.shell.act([recorded(1), recorded(2, B)])
    await told.bus.clock.advance(LAST_REPORTS_GATHERED_FOR_S)
    assert told.frames == {A: [], B: [["2"]]}


async def test_reports_of_attempts_that_go_on_are_acknowledged_at_once() -> None:
    told = Told()
    told.shell.act([recorded(1), recorded(2, is_last=False)])
    await settle()
    assert told.frames[A] == [["2"]]


@pytest.mark.parametrize("is_last", [True, False])
async def test_a_closed_shell_acknowledges_nothing_more(is_last: bool) -> None:
    told = Told()
    told.shell.act([recorded(1, is_last=is_last)])
    told.shell.close()
    await told.bus.clock.advance(10 * LAST_REPORTS_GATHERED_FOR_S)
    assert told.frames[A] == []
