"""One supervisor without I/O: what goes in, and that nothing comes out before it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from runtime.agents.reporter import Report, StagePayload
from runtime.errors import FencedError, InterruptError, StateStorageError, UnknownNameError
from runtime.hosting.command_dispatch import FIRST_WAIT_MS, Directory
from runtime.hosting.group_commit import JOBS_AT_ONCE
from runtime.hosting.host_outputs import (
    Deposed,
    DropTimers,
    LeaseNotRenewed,
    NotRecorded,
    Output,
    Recovered,
    Reply,
    ReportRecorded,
    RetryIn,
    RunChanged,
    SendOnce,
    SendStage,
    StartTimer,
    WriteDue,
)
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.record_queue import RETRY_S
from runtime.hosting.run_table import NO_QUOTAS, RunTable
from runtime.hosting.supervisor_host import TAKEN_UP_AT_ONCE, SupervisorHost
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import Address, MessageId, RunId, StageKey, StageName
from runtime.run.envelope import InterruptResponse, Request
from runtime.store.run_log import Entry
from runtime.supervision.commands import CancelStage, GiveGrant
from runtime.supervision.events import (
    ActorLost,
    BudgetRequested,
    CancelRequested,
    StageStarted,
    StageSucceeded,
    TimerFired,
)
from runtime.testing import PipelineBuilder
from tests.runtime.hosting.test_together import MoodyLog

ONE, TWO = RunId("r-1"), RunId("r-2")
A = Address("agent-a")
PIPELINE = PipelineBuilder().stage("a", default_next="b").stage("b").build()
PLACES = Directory(
    lambda _config, stage, _key: Address(f"agent-{stage}"),
    lambda address: StageName(address.removeprefix("agent-")) if address.startswith("agent-") else None,
)

Kind = TypeVar("Kind")


def only(outputs: list[Output], kind: type[Kind]) -> list[Kind]:
    return [output for output in outputs if isinstance(output, kind)]


class Kit:
    """A host over a moody log; what it asks for, and time, are in the hands of the test."""

    def __init__(self, log: MoodyLog | None = None, quotas: Quotas = NO_QUOTAS, takes_up: bool = False) -> None:
        self.log = log or MoodyLog()
        self.clock = FakeClock()
        self.leases = 0
        self.lease_error: StateStorageError | None = None
        self.table = RunTable({"sample": PIPELINE}, self.log, self.clock, quotas, owner="me")
        self.host = SupervisorHost(self.table, PLACES, self._renew)
        self.begun = self.host.begin(takes_up)

    def _renew(self) -> None:
        self.leases += 1
        if self.lease_error is not None:
            raise self.lease_error

    def write(self) -> list[Output]:
        """Write until nothing is left to write."""
        done: list[Output] = []
        while True:
            outputs = self.host.write(0)
            done += outputs
            if not only(outputs, WriteDue):
                return done

    def submit(self, run_id: RunId = ONE) -> SendStage:
        self.host.submit("door", Request("sample", "?"), run_id)
        (send,) = only(self.write(), SendStage)
        return send

    def report(self, key: StageKey, *payloads: StagePayload, number: int = 1, **fields: Any) -> list[Output]:
        report = Report(key, fields.pop("agent", A), fields.pop("life", "x"), payloads, **fields)
        return self.host.on_report(MessageId(f"report-{number}"), report)

    def kinds(self, run_id: RunId = ONE) -> list[str]:
        return [type(event.payload).__name__ for event in self.log.events(run_id)]


# --- recorded first


def test_a_request_is_replied_to_and_its_stage_is_sent_once_it_is_recorded() -> None:
    kit = Kit()
    assert kit.host.submit("door", Request("sample", "?"), ONE) == [WriteDue()]
    assert kit.log.writes == 0
    send, timer, changed, reply = kit.write()
    assert isinstance(send, SendStage)
    assert (send.message_id, send.address, send.run_id) == (f"run:{ONE}/1/0/1", A, ONE)
    assert isinstance(timer, StartTimer)
    assert (changed, reply) == (RunChanged(ONE), Reply("door", ONE))
    assert kit.log.writes == 1


def test_a_report_is_acknowledged_after_it_is_recorded_and_after_what_follows_is_sent() -> None:
    kit = Kit()
    key = kit.submit().command.key
    assert kit.report(key, StageSucceeded(key, {})) == [WriteDue()]
    assert kit.kinds() == ["RunRequested"]
    outputs = kit.write()
    frames = [type(output) for output in outputs if isinstance(output, SendStage | ReportRecorded)]
    assert frames == [SendStage, ReportRecorded]
    assert kit.kinds() == ["RunRequested", "StageSucceeded"]


def test_what_led_to_frames_comes_back_with_them() -> None:
    kit = Kit()
    key = kit.submit().command.key
    origin = object()
    kit.host.on_report(MessageId("m"), Report(key, A, "x", (StageSucceeded(key, {}),)), origin)
    outputs = kit.write()
    assert [output.origin for output in outputs if isinstance(output, SendStage | ReportRecorded)] == [origin, origin]


def test_several_messages_have_one_write_and_each_its_own_reply() -> None:
    kit = Kit()
    assert kit.host.submit("first", Request("sample", "?"), ONE) == [WriteDue()]
    assert kit.host.submit("second", Request("no such", "?"), TWO) == []
    assert kit.host.submit("third", Request("sample", "?"), RunId("r-3")) == []
    replies = {reply.token: type(reply.error) for reply in only(kit.write(), Reply)}
    assert replies == {"first": type(None), "second": UnknownNameError, "third": type(None)}
    assert kit.log.writes == 1


def test_callers_of_one_write_are_told_before_the_next_is_made() -> None:
    kit = Kit()
    for number in range(JOBS_AT_ONCE + 1):
        kit.host.submit(number, Request("sample", "?"), RunId(f"r-x{number}"))
    outputs = kit.host.write(0)
    assert len(only(outputs, Reply)) == JOBS_AT_ONCE
    assert outputs[-1] == WriteDue()
    assert [reply.token for reply in only(kit.host.write(0), Reply)] == [JOBS_AT_ONCE]


def test_what_comes_after_a_write_has_a_write_of_its_own() -> None:
    kit = Kit()
    for number in range(3):
        assert kit.host.submit(number, Request("sample", "?"), RunId(f"r-{number}")) == [WriteDue()]
        assert len(only(kit.write(), Reply)) == 1


def test_the_request_of_a_caller_who_went_is_not_carried_out() -> None:
    kit = Kit()
    kit.host.submit("door", Request("sample", "?"), ONE)
    kit.host.withdraw("door")
    assert kit.write() == []
    assert kit.log.events(ONE) == []


# --- reports


def test_a_report_that_comes_twice_is_recorded_once_and_acknowledged_twice() -> None:
    kit = Kit()
    key = kit.submit().command.key
    kit.report(key, StageStarted(key))
    assert kit.report(key, StageStarted(key)) == [], "a copy of it is under way"
    assert len(only(kit.write(), ReportRecorded)) == 1
    assert only(kit.report(key, StageStarted(key)), ReportRecorded) != []
    assert kit.kinds() == ["RunRequested", "StageStarted"]


@pytest.mark.parametrize("mood", ["fail", "lie"])
def test_a_report_that_could_not_be_recorded_is_not_acknowledged_and_counts_when_it_comes_again(mood: str) -> None:
    kit = Kit()
    key = kit.submit().command.key
    kit.log.mood = mood
    kit.report(key, StageSucceeded(key, {}))
    outputs = kit.write()
    (failure,) = only(outputs, NotRecorded)
    assert (failure.report_id, only(outputs, ReportRecorded), only(outputs, SendStage)) == ("report-1", [], [])
    kit.report(key, StageSucceeded(key, {}))
    outputs = kit.write()
    assert (len(only(outputs, ReportRecorded)), len(only(outputs, SendStage))) == (1, 1)
    assert kit.kinds() == ["RunRequested", "StageSucceeded"]


def test_what_was_recorded_after_all_is_gone_on_with_although_its_sender_is_gone() -> None:
    kit = Kit()
    key = kit.submit().command.key
    kit.log.mood = "lie"
    kit.report(key, StageSucceeded(key, {}))
    (retry,) = only(kit.write(), RetryIn)
    assert retry.delay_s == RETRY_S
    assert kit.host.on_retry(retry.number) == [WriteDue()]
    (send,) = only(kit.write(), SendStage)
    assert send.command.stage == "b"
    assert kit.host.on_retry(retry.number) == [], "it is tried once"


def test_any_report_of_an_attempt_acknowledges_that_it_was_told_to_run() -> None:
    kit = Kit()
    send = kit.submit()
    assert kit.host.next_due_ms() == FIRST_WAIT_MS
    assert kit.host.due(FIRST_WAIT_MS - 1) == []
    assert kit.host.due(FIRST_WAIT_MS) == [send]
    assert kit.host.awaits(send.message_id)
    kit.report(send.command.key, StageStarted(send.command.key))
    assert kit.host.awaits(send.message_id)
    kit.write()
    assert not kit.host.awaits(send.message_id)
    assert kit.host.next_due_ms() is None


def test_a_grant_is_sent_once() -> None:
    kit = Kit()
    key = kit.submit().command.key
    kit.report(key, BudgetRequested(key, 0, 1))
    (told,) = only(kit.write(), SendOnce)
    assert isinstance(told.command, GiveGrant)
    assert kit.host.next_due_ms() is None


# --- attempts that are lost


def test_what_a_process_held_is_issued_again_when_another_is_in_its_place() -> None:
    kit = Kit()
    key = kit.submit().command.key
    kit.host.on_incarnation(A, "x")
    kit.report(key, StageStarted(key))
    kit.write()
    assert kit.host.on_incarnation(A, "y") == [WriteDue()]
    (again,) = only(kit.write(), SendStage)
    assert (again.command.key.hop, again.command.key.attempt) == (1, 2)
    assert kit.host.on_incarnation(A, "y") == []
    assert kit.kinds()[-1] == "ActorLost"


def test_the_incarnation_of_somebody_who_is_no_agent_loses_nothing() -> None:
    kit = Kit()
    kit.submit()
    for incarnation in ("x", "y"):
        assert kit.host.on_incarnation(Address("bus"), incarnation) == []


def test_an_attempt_that_an_agent_refuses_to_begin_again_is_lost() -> None:
    kit = Kit()
    key = kit.submit().command.key
    kit.report(key, was_refused=True)
    outputs = kit.write()
    assert [report.report_id for report in only(outputs, ReportRecorded)] == ["report-1"]
    assert [send.command.key.attempt for send in only(outputs, SendStage)] == [2]


def test_a_late_word_of_a_process_that_is_over_loses_the_attempt() -> None:
    kit = Kit()
    kit.host.on_incarnation(A, "x")
    kit.host.on_incarnation(A, "y")
    key = kit.submit().command.key
    kit.report(key, StageStarted(key))
    assert [send.command.key.attempt for send in only(kit.write(), SendStage)] == [2]


@pytest.mark.parametrize("mood", ["fail", "lie"])
def test_a_loss_that_could_not_be_recorded_is_tried_until_it_is(mood: str) -> None:
    kit = Kit()
    key = kit.submit().command.key
    kit.report(key, StageStarted(key))
    kit.write()
    kit.host.on_incarnation(A, "x")
    kit.log.mood = mood
    kit.host.on_incarnation(A, "y")
    outputs = kit.write()
    assert only(outputs, SendStage) == []
    assert [failure.report_id for failure in only(outputs, NotRecorded)] == [None]
    (retry,) = only(outputs, RetryIn)
    kit.host.on_retry(retry.number)
    assert [send.command.key.attempt for send in only(kit.write(), SendStage)] == [2]
    assert kit.kinds().count("ActorLost") == 1


def test_a_stage_that_the_bus_cannot_hand_to_anybody_has_failed() -> None:
    kit = Kit()
    send = kit.submit()
    kit.host.on_refused(send.address, send.command.key)
    kit.write()
    assert "nobody is expected there" in str(kit.table.envelope(ONE).terminal_detail)
    assert not kit.host.awaits(send.message_id)


# --- timers and callers


@pytest.mark.parametrize("mood", ["fail", "lie"])
def test_a_timer_that_could_not_be_recorded_is_tried_until_it_is(mood: str) -> None:
    kit = Kit()
    kit.host.submit("door", Request("sample", "?"), ONE)
    (timer,) = only(kit.write(), StartTimer)
    kit.log.mood = mood
    kit.host.on_timer(timer.run_id, timer.command.timer_id)
    outputs = kit.write()
    assert [failure.run_id for failure in only(outputs, NotRecorded)] == [ONE]
    (retry,) = only(outputs, RetryIn)
    kit.host.on_retry(retry.number)
    kit.write()
    assert kit.kinds() == ["RunRequested", TimerFired.__name__]


def test_a_cancelled_run_calls_its_stage_off_and_drops_its_timers() -> None:
    kit = Kit()
    send = kit.submit()
    kit.host.demand("door", ONE, CancelRequested("enough"))
    outputs = kit.write()
    assert [type(told.command) for told in only(outputs, SendOnce)] == [CancelStage]
    assert only(outputs, DropTimers) == [DropTimers(ONE)]
    assert not kit.host.awaits(send.message_id)


def test_a_caller_is_told_why_something_was_refused() -> None:
    kit = Kit()
    kit.submit()
    kit.host.demand("door", TWO, CancelRequested(""))
    kit.host.answer("desk", ONE, "q", "local", InterruptResponse("yes"))
    kit.host.fork("shed", ONE, 9)
    errors = {reply.token: type(reply.error) for reply in only(kit.write(), Reply)}
    assert errors == {"door": UnknownNameError, "desk": InterruptError, "shed": UnknownNameError}


def test_what_a_caller_was_told_that_it_failed_is_gone_on_with_when_it_was_recorded_after_all() -> None:
    kit = Kit()
    kit.submit()
    kit.log.mood = "lie"
    kit.host.demand("door", ONE, CancelRequested("enough"))
    outputs = kit.write()
    assert [type(reply.error) for reply in only(outputs, Reply)] == [StateStorageError]
    (retry,) = only(outputs, RetryIn)
    kit.host.on_retry(retry.number)
    assert len(only(kit.write(), DropTimers)) == 1


def test_a_request_that_failed_is_left_to_its_caller_who_asks_again_under_the_same_id() -> None:
    kit = Kit()
    kit.log.mood = "lie"
    kit.host.submit("door", Request("sample", "?"), ONE)
    assert [type(output) for output in kit.write()] == [Reply]
    assert kit.submit().command.stage == "a"


# --- admission


@pytest.mark.parametrize("ends", ["report", "cancel"])
def test_after_each_record_waiting_runs_begin_as_far_as_there_is_room(ends: str) -> None:
    kit = Kit(quotas=Quotas(running=1))
    send = kit.submit()
    kit.host.submit("door", Request("sample", "?"), TWO)
    assert only(kit.write(), SendStage) == []
    if ends == "cancel":
        kit.host.demand("door", ONE, CancelRequested(""))
    else:
        kit.report(send.command.key, StageSucceeded(send.command.key, {}))
        (last,) = only(kit.write(), SendStage)
        kit.report(last.command.key, StageSucceeded(last.command.key, {}), number=2)
    assert [begun.run_id for begun in only(kit.write(), SendStage)] == [TWO]


def test_an_admission_that_could_not_be_recorded_is_tried_again() -> None:
    kit = Kit(quotas=Quotas(running=1))
    kit.submit()
    kit.host.submit("door", Request("sample", "?"), TWO)
    kit.write()
    kit.host.demand("door", ONE, CancelRequested(""))
    kit.host.write(0)
    kit.log.mood = "fail"
    outputs = kit.host.write(0)
    assert only(outputs, SendStage) == []
    (retry,) = only(outputs, RetryIn)
    kit.host.on_retry(retry.number)
    assert [begun.run_id for begun in only(kit.write(), SendStage)] == [TWO]


def test_a_heartbeat_renews_the_lease_and_survives_a_log_that_is_away() -> None:
    kit = Kit()
    assert kit.host.on_heartbeat() == []
    kit.lease_error = StateStorageError("away")
    assert [type(output) for output in kit.host.on_heartbeat()] == [LeaseNotRenewed]
    assert kit.leases == 2
    assert kit.submit().run_id == ONE


# --- taking up, and being taken over from


@pytest.mark.parametrize(
    ("runs", "writes"), [(0, 0), (TAKEN_UP_AT_ONCE - 1, 1), (TAKEN_UP_AT_ONCE, 1), (TAKEN_UP_AT_ONCE + 1, 2)]
)
def test_runs_of_the_log_are_taken_up_a_hundred_with_one_write(runs: int, writes: int) -> None:
    former = Kit()
    for number in range(runs):
        former.host.submit(number, Request("sample", "?"), RunId(f"r-{number:03}"))
    former.write()
    before = former.log.writes
    kit = Kit(former.log, takes_up=True)
    assert kit.begun == [WriteDue()]
    outputs = kit.write()
    assert (kit.log.writes - before, len(only(outputs, SendStage)), len(only(outputs, Recovered))) == (writes, runs, 1)


def test_who_asks_or_reports_before_the_runs_are_taken_up_waits_for_that() -> None:
    former = Kit()
    key = former.submit().command.key
    kit = Kit(former.log, takes_up=True)
    kit.host.submit("door", Request("sample", "?"), TWO)
    kit.report(key, StageStarted(key))
    kit.log.mood = "fail"
    outputs = kit.write()
    assert (only(outputs, Reply), only(outputs, ReportRecorded), only(outputs, Recovered)) == ([], [], [])
    (retry,) = only(outputs, RetryIn)
    kit.host.on_retry(retry.number)
    outputs = kit.write()
    assert (len(only(outputs, Recovered)), len(only(outputs, Reply)), len(only(outputs, ReportRecorded))) == (1, 1, 1)


def test_the_request_of_a_caller_who_went_before_the_runs_were_taken_up_is_not_carried_out() -> None:
    former = Kit()
    former.submit()
    kit = Kit(former.log, takes_up=True)
    kit.host.submit("door", Request("sample", "?"), TWO)
    kit.host.withdraw("door")
    kit.write()
    assert kit.log.events(TWO) == []


def test_who_has_nothing_to_take_up_is_ready_at_once() -> None:
    assert Kit().begun == [Recovered()]


def test_a_deposed_host_says_so_and_nothing_more() -> None:
    kit = Kit()
    send = kit.submit()
    kit.log.take_over("somebody else")
    key = send.command.key
    kit.report(key, StageSucceeded(key, {}))
    kit.host.submit("door", Request("sample", "?"), TWO)
    outputs = kit.write()
    assert [type(output) for output in outputs] == [Deposed]
    assert isinstance(only(outputs, Deposed)[0].error, FencedError)
    kit.report(key, StageSucceeded(key, {}), number=2)
    assert (kit.write(), kit.host.due(10**6)) == ([], [])
    assert kit.host.on_heartbeat() == kit.host.on_timer(ONE, "t") == kit.host.on_incarnation(A, "z") == []


def test_a_host_whose_lease_was_taken_learns_so_at_its_heartbeat() -> None:
    kit = Kit()
    kit.lease_error = FencedError("taken over", epoch=1)
    assert [type(output) for output in kit.host.on_heartbeat()] == [Deposed]


class OddLog(MoodyLog):
    """A log with a bug; `is_odd` switches it on."""

    is_odd = False

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        if self.is_odd:
            raise ValueError("odd")
        super().append_all(entries, epoch)


def test_what_fails_for_another_reason_than_the_log_is_told_and_not_tried_again() -> None:
    log = OddLog()
    kit = Kit(log)
    send = kit.submit()
    log.is_odd = True
    kit.host.on_incarnation(send.address, "x")
    kit.host.on_incarnation(send.address, "y")
    outputs = kit.write()
    assert [type(failure.error) for failure in only(outputs, NotRecorded)] == [ValueError]
    assert only(outputs, RetryIn) == []
    assert ActorLost.__name__ not in kit.kinds()
