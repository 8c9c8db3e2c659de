"""What an agent says of its stages is recorded once in effect and in order, whatever the bus does to its frames."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agents.reporter import GATHERED_FOR_S, RECORDED, REPORT, Report, Reporter, StagePayload, decode_report
from runtime.bus.frames import Frame
from runtime.bus.outbox import Inbox, Outbox
from runtime.bus.reliable_sender import ReliableSender
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.supervision.events import BudgetRequested, StageStarted, StageSucceeded, ToolCalled
from tests.runtime.bus.memory_bus import MemoryBus, settle

AGENT, SUPERVISOR = Address("agent"), Address("supervisor")
RUN = RunId("r-1")


def key(hop: int = 1) -> StageKey:
    return StageKey(RUN, hop)


class Office:
    """A reporter, and a supervisor that keeps what it hears; `is_silent`: it hears nothing."""

    def __init__(self, dice: random.Random | None = None, most_under_way: int = 100) -> None:
        self.bus = MemoryBus()
        self.clock = self.bus.clock
        self.dice = dice
        self.supervisor = self.bus.join(SUPERVISOR, frames={REPORT: self.hear})
        self.agent = self.bus.join(AGENT, frames={RECORDED: self.recorded})
        sender = ReliableSender(self.agent, self.clock, Outbox(capacity=most_under_way, first_wait_ms=1_000))
        self.reporter = Reporter(sender, self.clock, AGENT, "life", lambda run_id: SUPERVISOR, most_under_way)
        self.sender = sender
        self.inbox = Inbox()
        self.reports: list[tuple[StagePayload, ...]] = []
        self.is_silent = False
        self._deliver = self.bus.deliver
        if dice is not None:
            self.bus.deliver = self.deliver_badly  # type: ignore[method-assign]

    @property
    def kept(self) -> list[StagePayload]:
        return [payload for report in self.reports for payload in report]

    async def hear(self, frame: Frame) -> None:
        report_id = frame.header.correlation_id
        assert report_id is not None
        if self.is_silent:
            return
        with self.inbox.in_hand(report_id) as is_first:
            if not is_first:
                return
            if not self.inbox.is_duplicate(report_id):
                if self.dice is not None:
                    await self.clock.sleep(self.dice.choice([0, 0.5, 2.5]))
                    if self.dice.random() < 0.2:
                        return  # it could not be recorded
                self.reports.append(decode_report(frame.body).payloads)
                self.inbox.note(report_id)
        await self.supervisor.command(AGENT, RECORDED, b"", RUN, report_id)

    async def recorded(self, frame: Frame) -> None:
        assert frame.header.correlation_id is not None
        self.reporter.recorded(frame.header.correlation_id)

    def deliver_badly(self, data: bytes) -> Any:
        assert self.dice is not None
        fate = self.dice.choice(["deliver", "deliver", "drop", "double", "late"])
        if fate in {"deliver", "double"}:
            self._deliver(data)
        if fate in {"double", "late"}:
            self._later = [*getattr(self, "_later", []), asyncio.ensure_future(self._deliver_late(data))]
        return "accepted"

    async def _deliver_late(self, data: bytes) -> None:
        assert self.dice is not None
        await self.clock.sleep(self.dice.uniform(0.01, 6))
        for address, frame in self.bus.dispatcher.dispatch(data).deliver or ():
            self.bus.hand_over([(address, frame)])


async def test_what_a_short_stage_does_is_one_report_in_order() -> None:
    office = Office()
    said: list[StagePayload] = [StageStarted(key()), ToolCalled(key(), "search", "ok"), StageSucceeded(key(), {})]
    for payload in said:
        office.reporter.report(payload)
    await settle()
    assert office.reports == [tuple(said)]


@pytest.mark.parametrize(("waited_s", "reports"), [(-0.001, 0), (0, 1), (0.001, 1)])
async def test_that_a_stage_has_begun_waits_for_twenty_milliseconds(waited_s: float, reports: int) -> None:
    office = Office()
    office.reporter.report(StageStarted(key()))
    await office.clock.advance(0)
    await office.clock.advance(GATHERED_FOR_S + waited_s)
    assert len(office.reports) == reports


async def test_what_happens_while_a_report_is_under_way_goes_as_one_when_that_is_recorded() -> None:
    office = Office()
    office.is_silent = True
    office.reporter.report(BudgetRequested(key(), 1, 0, 0))
    office.reporter.report(BudgetRequested(key(), 2, 0, 0))
    office.reporter.report(StageSucceeded(key(), {}))
    await settle()
    office.is_silent = False
    await office.clock.advance(1)
    assert [len(report) for report in office.reports] == [1, 2]
    assert len(office.sender) == 0


async def test_an_attempt_that_was_refused_is_reported_until_that_is_recorded() -> None:
    office = Office()
    office.is_silent = True
    office.reporter.refuse(key())
    await settle()
    office.is_silent = False
    await office.clock.advance(1)
    assert (office.reports, len(office.sender)) == ([()], 0)


def test_the_incarnation_travels_under_its_old_name() -> None:
    wired = msgspec.to_builtins(Report(key(), AGENT, "first", ()))
    assert wired["life"] == "first"


async def test_stages_do_not_wait_for_one_another() -> None:
    office = Office()
    office.is_silent = True
    office.reporter.report(StageSucceeded(key(1), {}))
    await settle()
    office.is_silent = False
    office.reporter.report(StageSucceeded(key(2), {}))
    await settle()
    assert office.kept == [StageSucceeded(key(2), {})]


async def test_a_word_of_a_report_that_nobody_sent_or_that_was_recorded_before_changes_nothing() -> None:
    office = Office()
    office.reporter.report(StageSucceeded(key(), {}))
    await settle()
    office.reporter.recorded(MessageId("life.1"))
    office.reporter.recorded(MessageId("of another life.1"))
    await settle()
    assert len(office.reports) == 1


async def test_reports_of_the_same_life_have_ids_of_their_own_and_so_have_those_of_other_lives() -> None:
    office = Office()
    for hop in range(3):
        office.reporter.report(StageSucceeded(key(hop), {}))
    await settle()
    ids = [frame.header.correlation_id for frame in office.bus.sent if frame.header.type == REPORT]
    assert ids == ["life.1", "life.2", "life.3"]


@pytest.mark.parametrize(("stages", "at_once"), [(2, 2), (3, 3), (4, 3), (9, 3)])
async def test_what_the_courier_would_send_only_once_is_held_back_until_there_is_room(
    stages: int, at_once: int
) -> None:
    office = Office(most_under_way=3)
    office.is_silent = True
    for hop in range(stages):
        office.reporter.report(StageSucceeded(key(hop), {}))
    await settle()
    assert len(office.sender) == at_once
    office.is_silent = False
    await office.clock.advance(10)
    assert office.kept == [StageSucceeded(key(hop), {}) for hop in range(stages)]
    assert len(office.sender) == 0


async def test_a_stage_that_speaks_often_does_not_keep_those_back_that_wait_for_room() -> None:
    office = Office(most_under_way=1)
    office.is_silent = True
    for hop in (1, 1, 2):
        office.reporter.report(BudgetRequested(key(hop), 1, 0, 0))
    office.is_silent = False
    await office.clock.advance(5)
    assert [payload.key.hop for payload in office.kept] == [1, 2, 1]


@given(seed=st.integers(0, 2**32 - 1), most_under_way=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_whatever_is_dropped_doubled_or_late_every_word_is_recorded_once_and_in_order(
    seed: int, most_under_way: int
) -> None:
    asyncio.run(_say_on_a_bad_bus(random.Random(seed), most_under_way))


async def _say_on_a_bad_bus(dice: random.Random, most_under_way: int) -> None:
    office = Office(dice, most_under_way)
    said: dict[int, list[StagePayload]] = {hop: [] for hop in range(1, 4)}
    for number in range(12):
        hop = dice.randint(1, 3)
        kinds: list[StagePayload] = [
            StageStarted(key(hop)),
            ToolCalled(key(hop), f"tool-{number}", "ok"),
            BudgetRequested(key(hop), number, 0, 0),
        ]
        payload: StagePayload = kinds[dice.randrange(3)]
        said[hop].append(payload)
        office.reporter.report(payload)
        await office.clock.advance(dice.choice([0, 0.01, 1, 4]))
    for _ in range(400):
        await office.clock.advance(5)
        if len(office.kept) == 12 and not len(office.sender):
            break
    for hop, payloads in said.items():
        assert [payload for payload in office.kept if payload.key.hop == hop] == payloads
    assert len(office.sender) == 0
