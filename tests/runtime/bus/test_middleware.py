"""Chains of middleware, and each middleware that is shipped."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from runtime.bus.builtin_middleware import (
    DEFAULT_CHAIN,
    REMEMBERED_MESSAGES,
    CircuitBreaker,
    Deduplication,
    Logging,
    Metrics,
    Tracing,
    build_chain,
)
from runtime.bus.circuit_breaker import BreakerRules
from runtime.bus.frames import Header, Kind
from runtime.bus.middleware import CONTINUE, Chain, Drop, Halted, Middleware, Outcome, Replace, Stop, Verdict
from runtime.errors import CircuitOpenError, MessageStoppedError, SettingsError
from runtime.primitives.clock import FakeClock
from runtime.primitives.counters import LabelledCounter, Sample
from runtime.primitives.ids import Address, MessageId, RunId, new_message_id


def header(kind: Kind = "query", type_: str = "t", message_id: str | None = None, **fields: Any) -> Header:
    return Header(MessageId(message_id or new_message_id()), kind, type_, Address("sender"), **fields)


class Noted(Middleware):
    """Writes down what it sees, and gives the verdict that it was made with."""

    def __init__(self, name: str, seen: list[str], verdict: Verdict | Exception = CONTINUE) -> None:
        self.name = name  # type: ignore[misc]
        self._seen = seen
        self._verdict = verdict

    def before(self, header: Header) -> Verdict:
        self._seen.append(f"{self.name} before {header.trace_id}")
        if isinstance(self._verdict, Exception):
            raise self._verdict
        return self._verdict

    def after(self, header: Header, outcome: Outcome) -> None:
        self._seen.append(f"{self.name} after {outcome}")
        if isinstance(self._verdict, Exception):
            raise self._verdict


def chain_of(seen: list[str], **verdicts: Verdict | Exception) -> Chain:
    return Chain([Noted(name, seen, verdict) for name, verdict in verdicts.items()])


def error_of(passed: Header | Halted) -> MessageStoppedError:
    assert isinstance(passed, Halted)
    assert passed.error is not None
    return passed.error


@pytest.mark.parametrize("outcome", ["answered", "failed", "timeout"])
def test_before_runs_in_order_and_after_in_reverse_also_when_the_handler_failed(outcome: Outcome) -> None:
    seen: list[str] = []
    chain = chain_of(seen, a=CONTINUE, b=CONTINUE, c=CONTINUE)
    query = header()
    assert chain.before(query) is query
    chain.after(query, outcome)
    assert seen == [
        *("a before None", "b before None", "c before None"),
        *(f"c after {outcome}", f"b after {outcome}", f"a after {outcome}"),
    ]


def test_a_replaced_header_is_what_the_next_ones_see() -> None:
    seen: list[str] = []
    query = header(message_id="m")
    passed = chain_of(seen, a=Replace(header(message_id="m", trace_id="new")), b=CONTINUE).before(query)
    assert isinstance(passed, Header)
    assert passed.trace_id == "new"
    assert seen == ["a before None", "b before new"]


@pytest.mark.parametrize(
    "other",
    [
        header(message_id="n"),
        header("command", message_id="m"),
        Header(MessageId("m"), "query", "t", Address("another")),
    ],
    ids=["message id", "kind", "source"],
)
def test_a_replaced_header_must_stay_the_same_message(other: Header, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        passed = chain_of([], a=Replace(other)).before(header(message_id="m"))
    assert error_of(passed).message.startswith("'t' was stopped by a: it changed")


def test_a_stop_says_by_whom_and_why_and_only_those_before_it_hear_of_the_end() -> None:
    seen: list[str] = []
    passed = chain_of(seen, a=CONTINUE, b=CONTINUE, guard=Stop("not today"), c=CONTINUE).before(header())
    error = error_of(passed)
    assert (error.message, error.values) == (
        "'t' was stopped by guard: not today",
        {"type": "t", "by": "guard", "reason": "not today"},
    )
    assert seen == ["a before None", "b before None", "guard before None", "b after stopped", "a after stopped"]


def test_a_dropped_copy_goes_no_further_and_nobody_hears_of_it() -> None:
    seen: list[str] = []
    assert chain_of(seen, a=CONTINUE, b=Drop(), c=CONTINUE).before(header()) == Halted("b", None)
    assert seen == ["a before None", "b before None"]


def test_a_middleware_that_breaks_stops_the_message_rather_than_let_it_pass_unseen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.CRITICAL):
        passed = chain_of([], a=ZeroDivisionError("by zero")).before(header())
    assert error_of(passed).message == "'t' was stopped by a: it failed with ZeroDivisionError: by zero"


def test_a_middleware_that_breaks_afterwards_keeps_no_other_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []
    with caplog.at_level(logging.ERROR):
        chain_of(seen, a=CONTINUE, b=ZeroDivisionError()).after(header(), "answered")
    assert seen == ["b after answered", "a after answered"]
    assert "middleware.failed" in caplog.text


def test_an_added_middleware_comes_last() -> None:
    seen: list[str] = []
    chain = chain_of(seen, a=CONTINUE)
    chain.add(Noted("b", seen))
    chain.before(header())
    assert seen == ["a before None", "b before None"]


@pytest.mark.parametrize(("others", "known"), [(2, True), (3, False), (4, False)])
def test_a_doubled_message_is_known_for_as_many_messages_as_are_remembered(others: int, known: bool) -> None:
    deduplication = Deduplication(remember=3)
    once = header()
    deduplication.before(once)
    for _ in range(others):
        assert deduplication.before(header("event")) == CONTINUE
    assert (deduplication.before(once) == Drop()) is known
    assert deduplication.stats() == {"remembered": 3, "doubled": int(known)}


@pytest.mark.parametrize(
    ("outcome", "again"), [("refused", True), ("full", True), ("stopped", True), ("failed", False)]
)
def test_a_message_that_went_nowhere_may_come_again(outcome: Outcome, again: bool) -> None:
    deduplication = Deduplication()
    once = header()
    deduplication.before(once)
    deduplication.after(once, outcome)
    assert (deduplication.before(once) == CONTINUE) is again


def test_a_message_without_a_trace_begins_one() -> None:
    assert Tracing().before(header(message_id="m")) == Replace(header(message_id="m", trace_id="m"))
    assert Tracing().before(header(trace_id="there")) == CONTINUE


@pytest.mark.parametrize(("outcome", "level"), [("answered", "DEBUG"), ("failed", "WARNING"), ("timeout", "WARNING")])
def test_each_outcome_is_logged_with_its_run(outcome: Outcome, level: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        Logging().after(header(run_id=RunId("r-1")), outcome)
    (record,) = caplog.records
    fields = vars(record)
    assert (record.levelname, record.message) == (level, "message.outcome")
    assert (fields["run_id"], fields["type"], fields["outcome"]) == ("r-1", "t", outcome)


def test_messages_are_counted_by_kind_type_and_outcome() -> None:
    metrics = Metrics()
    for outcome in ("answered", "answered", "failed"):
        metrics.after(header(), outcome)
    assert metrics.messages.samples() == [
        Sample({"kind": "query", "type": "t", "outcome": "answered"}, 2),
        Sample({"kind": "query", "type": "t", "outcome": "failed"}, 1),
    ]
    assert [sample["value"] for sample in metrics.stats()["jeeves_bus_messages"]] == [2, 1]


def test_a_label_takes_a_bounded_number_of_values_and_the_rest_is_counted_as_other() -> None:
    counter = LabelledCounter("n", "help", ("type",), max_values=2)
    for value in "abcdab":
        counter.add(value)
    assert {sample.labels["type"]: sample.value for sample in counter.samples()} == {"a": 2, "b": 2, "other": 2}


class Guarded:
    """A breaker in a chain, asked and told in one step."""

    def __init__(self, **rules: Any) -> None:
        self.clock = FakeClock(1_000_000)
        self.breaker = CircuitBreaker(self.clock, BreakerRules(**rules))

    def pass_one(self, outcome: Outcome, type_: str = "t", kind: Kind = "query") -> bool:
        query = header(kind, type_)
        if self.breaker.before(query) != CONTINUE:
            return False
        self.breaker.after(query, outcome)
        return True


@pytest.mark.parametrize("outcome", ["failed", "timeout"])
def test_failures_and_timeouts_in_a_row_open_the_breaker_of_their_type_alone(outcome: Outcome) -> None:
    guarded = Guarded(failure_threshold=2)
    assert [guarded.pass_one(outcome) for _ in range(3)] == [True, True, False]
    assert guarded.pass_one("answered", "another")
    assert guarded.breaker.stats() == {"t": {"state": "open", "failures": 2, "refused": 1}}


@pytest.mark.parametrize("outcome", ["refused", "cancelled", "stopped", "full"])
def test_a_missing_handler_or_an_asker_who_gave_up_opens_nothing(outcome: Outcome) -> None:
    guarded = Guarded(failure_threshold=1)
    assert all(guarded.pass_one(outcome) for _ in range(5))


@pytest.mark.parametrize("outcome", ["answered", "rejected"])
def test_an_answer_resets_the_count_even_when_it_says_that_the_question_was_wrong(outcome: Outcome) -> None:
    guarded = Guarded(failure_threshold=2)
    assert all(guarded.pass_one(ending) for ending in ("failed", outcome, "failed", outcome))
    assert guarded.breaker.stats() == {}


@pytest.mark.parametrize("kind", ["event", "command"])
def test_events_and_commands_are_not_guarded(kind: Kind) -> None:
    guarded = Guarded(failure_threshold=1)
    assert all(guarded.pass_one("failed", kind=kind) for _ in range(3))


def test_excluded_types_and_a_threshold_of_zero_are_not_guarded() -> None:
    excluded = Guarded(failure_threshold=1, excluded=frozenset({"t"}))
    never = Guarded(failure_threshold=0)
    assert all(guarded.pass_one("failed") for guarded in (excluded, never) for _ in range(9))


async def test_an_open_breaker_says_when_it_will_be_probed_and_one_probe_closes_it() -> None:
    guarded = Guarded(failure_threshold=1, reset_timeout_s=10)
    guarded.pass_one("failed")
    await guarded.clock.advance(4)
    verdict = guarded.breaker.before(header())
    assert isinstance(verdict, Stop)
    error = verdict.error
    assert isinstance(error, CircuitOpenError)
    assert error.message == "'t' failed 1 times in a row; it is tried again in 6 s"
    assert error.values["probe_at_ms"] == 1_000_000 + 10_000
    await guarded.clock.advance(6)
    assert guarded.pass_one("answered")
    assert guarded.pass_one("answered")
    assert guarded.breaker.stats() == {}


def test_a_chain_is_built_from_plain_data() -> None:
    specs: list[dict[str, Any]] = [
        {"use": "circuit_breaker", "failure_threshold": 1, "excluded": ["free"]},
        {"use": "metrics"},
    ]
    chain = build_chain(specs, FakeClock())
    for type_ in ("t", "free"):
        query = header("query", type_)
        chain.before(query)
        chain.after(query, "failed")
    assert isinstance(chain.before(header()), Halted)
    assert isinstance(chain.before(header("query", "free")), Header)
    assert set(chain.stats()) == {"circuit_breaker", "metrics"}


def test_a_breaker_spares_what_the_builder_exempts_whatever_the_options_say() -> None:
    chain = build_chain([{"use": "circuit_breaker", "failure_threshold": 1}], FakeClock(), exempt=("journal.find",))
    for type_ in ("t", "journal.find"):
        query = header("query", type_)
        chain.before(query)
        chain.after(query, "failed")
    assert isinstance(chain.before(header()), Halted)
    assert isinstance(chain.before(header("query", "journal.find")), Header)


def test_the_default_chain_has_everything_and_drops_copies_first() -> None:
    names = [spec["use"] for spec in DEFAULT_CHAIN]
    assert names == ["deduplication", "tracing", "logging", "metrics", "circuit_breaker"]
    chain = build_chain(DEFAULT_CHAIN, FakeClock())
    once = header()
    chain.before(once)
    assert chain.before(once) == Halted("deduplication", None)
    assert REMEMBERED_MESSAGES == 20_000


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"use": "tea"}, "no middleware is named 'tea'; known: deduplication, tracing"),
        ({}, "no middleware is named 'None'"),
        ({"use": "metrics", "loud": True}, "middleware 'metrics': it takes no options, not loud"),
        ({"use": "circuit_breaker", "failure_threshold": "many"}, "middleware 'circuit_breaker': Expected `int`"),
        ({"use": "circuit_breaker", "threshold": 1}, "unknown field `threshold`"),
        ({"use": "circuit_breaker", "reset_timeout_s": -1}, "0 or more"),
        ({"use": "deduplication", "remember": None}, "middleware 'deduplication': Expected `int`"),
    ],
)
def test_a_fault_in_the_description_of_a_chain_is_named(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        build_chain([spec], FakeClock())
