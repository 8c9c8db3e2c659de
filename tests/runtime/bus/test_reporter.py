"""What an agent says of its stages is recorded once in effect and in order, whatever the bus does to its frames."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agents.reporter import (
    GATHERED_FOR_S,
    RECORDED,
    REPORT,
    Report,
    Reporter,
    StagePayload,
    decode_report,
    encode_recorded,
    recorded_reports,
)
from runtime.bus.frames import Frame
from runtime.bus.memory_bus import MemoryBus, settle
from runtime.bus.outbox import Inbox, Outbox
from runtime.bus.reliable_sender import ReliableSender
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.supervision.events import BudgetRequested, StageStarted, StageSucceeded, ToolCalled

AGENT, SUPERVISOR = Address("agent"), Address("supervisor")
RUN = RunId("r-1")


def key(hop: int = 1) -> StageKey:
    return StageKey(RUN, hop)


class ReporterHarness:
    """A reporter, and a supervisor that keeps what it hears; `is_silent`: it hears nothing."""

    def __init__(self, dice: random.Random | None = None, max_in_flight: int = 100) -> None:
        self.bus = MemoryBus()
        self.clock = self.bus.clock
        self.dice = dice
        self.supervisor = self.bus.join(SUPERVISOR, frames={REPORT: self.hear})
        self.agent = self.bus.join(AGENT, frames={RECORDED: self.recorded})
        sender = ReliableSender(self.agent, self.clock, Outbox(capacity=max_in_flight, first_wait_ms=1_000))
        self.reporter = Reporter(sender, self.clock, AGENT, "life", lambda run_id: SUPERVISOR, max_in_flight)
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
        for report_id in recorded_reports(frame):
            self.reporter.recorded(report_id)

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
    harness = ReporterHarness()
    said: list[StagePayload] = [StageStarted(key()), ToolCalled(key(), "search", "ok"), StageSucceeded(key(), {})]
    for payload in said:
        harness.reporter.report(payload)
    await settle()
    assert harness.reports == [tuple(said)]


@pytest.mark.parametrize(("waited_s", "reports"), [(-0.001, 0), (0, 1), (0.001, 1)])
async def test_that_a_stage_has_begun_waits_for_twenty_milliseconds(waited_s: float, reports: int) -> None:
    harness = ReporterHarness()
    harness.reporter.report(StageStarted(key()))
    await harness.clock.advance(0)
    await harness.clock.advance(GATHERED_FOR_S + waited_s)
    assert len(harness.reports) == reports


async def test_what_happens_while_a_report_is_under_way_goes_as_one_when_that_is_recorded() -> None:
    harness = ReporterHarness()
    harness.is_silent = True
    harness.reporter.report(BudgetRequested(key(), 1, 0, 0))
    harness.reporter.report(BudgetRequested(key(), 2, 0, 0))
    harness.reporter.report(StageSucceeded(key(), {}))
    await settle()
    harness.is_silent = False
    await harness.clock.advance(1)
    assert [len(report) for report in harness.reports] == [1, 2]
    assert len(harness.sender) == 0


async def test_an_attempt_that_was_refused_is_reported_until_that_is_recorded() -> None:
    harness = ReporterHarness()
    harness.is_silent = True
    harness.reporter.refuse(key())
    await settle()
    harness.is_silent = False
    await harness.clock.advance(1)
    assert (harness.reports, len(harness.sender)) == ([()], 0)


def test_the_incarnation_travels_under_its_old_name() -> None:
    wired = msgspec.to_builtins(Report(key(), AGENT, "first", ()))
    assert wired["life"] == "first"


async def test_one_acknowledgement_may_be_about_many_reports() -> None:
    harness = ReporterHarness()
    harness.is_silent = True
    for hop in range(1, 4):
        harness.reporter.report(StageSucceeded(key(hop), {}))
    await settle()
    first, *others = [MessageId(f"life.{number}") for number in range(1, 4)]
    await harness.supervisor.command(AGENT, RECORDED, encode_recorded(others), RUN, first)
    await settle()
    assert len(harness.sender) == 0


async def test_stages_that_begin_while_others_gather_are_reported_at_the_end_of_the_next_span() -> None:
    harness = ReporterHarness()
    for hop in range(1, 4):
        harness.reporter.report(StageStarted(key(hop)))
        await harness.clock.advance(GATHERED_FOR_S / 4)
    await harness.clock.advance(GATHERED_FOR_S / 4)
    assert harness.kept == [StageStarted(key(1))]
    await harness.clock.advance(GATHERED_FOR_S)
    assert harness.kept == [StageStarted(key(hop)) for hop in range(1, 4)]
    harness.reporter.report(StageStarted(key(4)))
    await harness.clock.advance(GATHERED_FOR_S)
    assert harness.kept[-1] == StageStarted(key(4))


async def test_stages_do_not_wait_for_one_another() -> None:
    harness = ReporterHarness()
    harness.is_silent = True
    harness.reporter.report(StageSucceeded(key(1), {}))
    await settle()
    harness.is_silent = False
    harness.reporter.report(StageSucceeded(key(2), {}))
    await settle()
    assert harness.kept == [StageSucceeded(key(2), {})]


async def test_a_word_of_a_report_that_nobody_sent_or_that_was_recorded_before_changes_nothing() -> None:
    harness = ReporterHarness()
    harness.reporter.report(StageSucceeded(key(), {}))
    await settle()
    harness.reporter.recorded(MessageId("life.1"))
    harness.reporter.recorded(MessageId("of another life.1"))
    await settle()
    assert len(harness.reports) == 1


async def test_reports_of_the_same_life_have_ids_of_their_own_and_so_have_those_of_other_lives() -> None:
    harness = ReporterHarness()
    for hop in range(3):
        harness.reporter.report(StageSucceeded(key(hop), {}))
    await settle()
    ids = [frame.header.correlation_id for frame in harness.bus.sent if frame.header.type == REPORT]
    assert ids == ["life.1", "life.2", "life.3"]


@pytest.mark.parametrize(("stages", "at_once"), [(2, 2), (3, 3), (4, 3), (9, 3)])
async def test_what_the_sender_would_send_only_once_is_held_back_until_there_is_room(stages: int, at_once: int) -> None:
    harness = ReporterHarness(max_in_flight=3)
    harness.is_silent = True
    for hop in range(stages):
        harness.reporter.report(StageSucceeded(key(hop), {}))
    await settle()
    assert len(harness.sender) == at_once
    harness.is_silent = False
    await harness.clock.advance(10)
    assert harness.kept == [StageSucceeded(key(hop), {}) for hop in range(stages)]
    assert len(harness.sender) == 0


async def test_a_stage_that_speaks_often_does_not_keep_those_back_that_wait_for_room() -> None:
    harness = ReporterHarness(max_in_flight=1)
    harness.is_silent = True
    for hop in (1, 1, 2):
        harness.reporter.report(BudgetRequested(key(hop), 1, 0, 0))
    harness.is_silent = False
    await harness.clock.advance(5)
    assert [payload.key.hop for payload in harness.kept] == [1, 2, 1]


@given(seed=st.integers(0, 2**32 - 1), max_in_flight=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_whatever_is_dropped_doubled_or_late_every_word_is_recorded_once_and_in_order(
    seed: int, max_in_flight: int
) -> None:
    asyncio.run(_say_on_a_bad_bus(random.Random(seed), max_in_flight))


async def _say_on_a_bad_bus(dice: random.Random, max_in_flight: int) -> None:
    harness = ReporterHarness(dice, max_in_flight)
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
        harness.reporter.report(payload)
        await harness.clock.advance(dice.choice([0, 0.01, 1, 4]))
    for _ in range(400):
        await harness.clock.advance(5)
        if len(harness.kept) == 12 and not len(harness.sender):
            break
    for hop, payloads in said.items():
        assert [payload for payload in harness.kept if payload.key.hop == hop] == payloads
    assert len(harness.sender) == 0
