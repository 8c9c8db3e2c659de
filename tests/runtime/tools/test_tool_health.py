"""Health and breakers of tools: every limit at one less, equal and one more; and what holds for all sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from runtime.database.sqlite_database import SqliteDatabase
from runtime.errors import RepositoryError, ToolArgumentsError, ToolFailedError
from runtime.memory.tool_metrics import TOOL_METRICS
from runtime.primitives.clock import FakeClock
from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from runtime.tools.breakers import MAX_BREAKERS, ToolBreakers
from runtime.tools.executor import BREAKER_OPEN, ToolExecutor
from runtime.tools.health import (
    CLOSED,
    ERROR_WINDOW_MS,
    ERRORS_TO_OPEN,
    JUDGED_CALLS,
    JUDGED_MS,
    MIN_CALLS,
    RESET_MS,
    CallOutcome,
    ToolBreaker,
    admit,
    breaker_after,
    health_of,
    record,
    state_at,
)
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult
from runtime.tools.tool_host import ToolHost

NOW_MS = 10_000_000


def calls(successes: int, errors: int, duration_ms: int = 1, at_ms: int = NOW_MS) -> list[CallOutcome]:
    return [CallOutcome(at_ms, number >= successes, duration_ms) for number in range(successes + errors)]


@pytest.mark.parametrize(("count", "health"), [(MIN_CALLS - 1, "unknown"), (MIN_CALLS, "healthy"), (6, "healthy")])
def test_a_tool_is_judged_from_its_fifth_call_on(count: int, health: str) -> None:
    assert health_of(calls(count, 0), NOW_MS) == health


@pytest.mark.parametrize(
    ("errors", "health"),
    [(4, "healthy"), (5, "healthy"), (6, "degraded"), (19, "degraded"), (20, "degraded"), (21, "unhealthy")],
)
def test_health_follows_from_the_share_of_successes(errors: int, health: str) -> None:
    assert health_of(calls(100 - errors, errors), NOW_MS) == health


@pytest.mark.parametrize(
    ("mean_ms", "health"),
    [
        *((1_999, "healthy"), (2_000, "healthy"), (2_001, "degraded")),
        *((4_999, "degraded"), (5_000, "degraded"), (5_001, "unhealthy")),
    ],
)
def test_health_follows_from_the_mean_time_of_a_call(mean_ms: int, health: str) -> None:
    assert health_of(calls(10, 0, mean_ms), NOW_MS) == health


@pytest.mark.parametrize(("age_ms", "health"), [(JUDGED_MS - 1, "unhealthy"), (JUDGED_MS, "unhealthy")])
def test_calls_of_the_last_quarter_of_an_hour_count(age_ms: int, health: str) -> None:
    assert health_of(calls(0, 9, at_ms=NOW_MS - age_ms), NOW_MS) == health


def test_older_calls_and_those_before_the_last_200_do_not_count() -> None:
    assert health_of(calls(0, 9, at_ms=NOW_MS - JUDGED_MS - 1), NOW_MS) == "unknown"
    assert health_of([*calls(0, 900), *calls(JUDGED_CALLS, 0)], NOW_MS) == "healthy"
    assert health_of([*calls(0, 900), *calls(JUDGED_CALLS - 11, 0)], NOW_MS) == "degraded"


@pytest.mark.parametrize(
    ("errors", "span_ms", "state"),
    [
        (ERRORS_TO_OPEN - 1, 0, "closed"),
        (ERRORS_TO_OPEN, 0, "open"),
        (ERRORS_TO_OPEN, ERROR_WINDOW_MS - 1, "open"),
        (ERRORS_TO_OPEN, ERROR_WINDOW_MS, "open"),
        (ERRORS_TO_OPEN, ERROR_WINDOW_MS + 1, "closed"),
    ],
)
def test_five_errors_within_five_minutes_open_a_breaker(errors: int, span_ms: int, state: str) -> None:
    breaker = CLOSED
    for number in range(errors):
        at_ms = NOW_MS if number == 0 else NOW_MS + span_ms
        breaker = record(breaker, number, "error", at_ms)
        breaker = record(breaker, number, "success", at_ms)  # successes in between do not matter
    assert breaker.state == state


@pytest.mark.parametrize(("after_ms", "admitted"), [(RESET_MS - 1, False), (RESET_MS, True), (RESET_MS + 1, True)])
def test_an_open_breaker_admits_one_probe_when_it_is_due(after_ms: int, admitted: bool) -> None:
    opened = ToolBreaker("open", probe_at_ms=NOW_MS + RESET_MS)
    probing, is_admitted = admit(opened, 7, NOW_MS + after_ms)
    assert is_admitted == admitted
    assert state_at(opened, NOW_MS + after_ms) == ("half_open" if admitted else "open")
    if admitted:
        assert admit(probing, 8, NOW_MS + after_ms)[1] is False


@pytest.mark.parametrize(("ending", "state"), [("success", "closed"), ("error", "open"), ("neither", "half_open")])
def test_the_probe_decides_and_other_calls_do_not(ending: Any, state: str) -> None:
    probing, _ = admit(ToolBreaker("open", probe_at_ms=NOW_MS), 7, NOW_MS)
    assert record(probing, 6, ending, NOW_MS) == probing
    after = record(probing, 7, ending, NOW_MS + 1)
    assert after.state == state
    # A probe that showed nothing makes room for the next at once.
    assert admit(after, 8, NOW_MS + 1)[1] is (ending != "error")


@given(some.lists(some.tuples(some.integers(0, 400_000), some.booleans()), max_size=60))
def test_a_breaker_is_open_only_after_five_errors_and_its_probe_never_waits_longer_than_a_minute(
    steps: list[tuple[int, bool]],
) -> None:
    now_ms, outcomes = 0, []
    for passed_ms, is_error in steps:
        now_ms += passed_ms
        outcomes.append(CallOutcome(now_ms, is_error))
        breaker = breaker_after(outcomes)
        errors = sum(outcome.is_error for outcome in outcomes)
        assert breaker.state == "closed" or (errors >= ERRORS_TO_OPEN and breaker.probe_at_ms <= now_ms + RESET_MS)
        assert len(breaker.errors_ms) <= ERRORS_TO_OPEN


def test_breakers_of_other_scopes_and_tools_are_others_and_their_number_is_bounded() -> None:
    breakers = ToolBreakers(FakeClock())
    for scope in ("hostile", *(str(number) for number in range(MAX_BREAKERS))):
        for _ in range(ERRORS_TO_OPEN):
            breakers.record("look", scope, breakers.admit("look", scope).number, "error")
    assert not breakers.admit("look", "5").is_admitted
    assert breakers.admit("look", "mine").is_admitted
    assert breakers.admit("other", "5").is_admitted
    assert breakers.admit("look", "hostile").is_admitted  # forgotten


class Text(msgspec.Struct, frozen=True):
    """What to look for."""

    text: str


class Repository:
    """A subject with a scope."""

    def __init__(self, name: str) -> None:
        self.tool_scope = name


ENDINGS: dict[str, Any] = {
    "raises": ValueError("odd"),
    "fails": ToolFailedError("no answer"),
    "no_path": RepositoryError("no file a.py"),
    "bad": ToolArgumentsError("a pattern has 1 to 9 characters"),
    "empty": ToolResult("empty"),
    "told_bad": ToolResult("error", at_fault="request"),
    "told_failed": ToolResult("error"),
    "ok": ToolResult("ok"),
}


def look(_subject: object, given: Text) -> ToolResult:
    ending = ENDINGS[given.text]
    if isinstance(ending, Exception):
        raise ending
    return ending  # type: ignore[no-any-return]


def executor(host: ToolHost) -> ToolExecutor:
    tools = ToolRegistry([Tool("look", "Looks.", Text, look)])
    return ToolExecutor(tools, frozenset({"look"}), StageBudget(Grant(tool_calls=99)), host=host)


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        *((each, True) for each in ("raises", "fails", "told_failed")),
        *((each, False) for each in ("bad", "no_path", "empty", "told_bad", "ok")),
    ],
)
async def test_only_errors_of_the_tool_itself_open_its_breaker(text: str, opens: bool) -> None:
    host = ToolHost(FakeClock())
    calls = executor(host)
    for _ in range(ERRORS_TO_OPEN):
        assert BREAKER_OPEN not in str((await calls.call("look", Repository("r"), {"text": text})).error)
    sixth = await calls.call("look", Repository("r"), {"text": text})
    assert (sixth.status == "denied") == opens
    assert (await calls.call("look", Repository("other"), {"text": "ok"})).status == "ok"


async def test_an_argument_of_the_wrong_type_does_not_count_at_all() -> None:
    host = ToolHost(FakeClock())
    for _ in range(9):
        assert (await executor(host).call("look", Repository("r"), {"text": 5})).status == "error"
    assert host.take_counted() == {}


@pytest.mark.parametrize("subject", [object(), None, "text"])
async def test_calls_of_a_tool_whose_subject_has_no_scope_are_counted_and_judged(
    subject: object, tmp_path: Path
) -> None:
    clock = FakeClock()
    host, shown = ToolHost(clock), TOOL_METRICS.open(SqliteDatabase(tmp_path / "tools.sqlite", "normal"), clock)
    calls = executor(host)
    for _ in range(ERRORS_TO_OPEN):
        await calls.call("look", subject, {"text": "raises"})
    assert (await calls.call("look", subject, {"text": "ok"})).status == "denied"
    for scope, counted in host.take_counted().items():
        assert scope == ""
        shown.record(scope, counted)
    (look,) = shown.health()
    assert (look.tool, look.health, look.calls, look.failures, look.open_in) == ("look", "unhealthy", 5, 5, 1)


async def test_a_refused_call_names_the_time_of_the_next_try_and_costs_no_tool_call() -> None:
    clock = FakeClock()
    host = ToolHost(clock)
    budget = StageBudget(Grant(tool_calls=99))
    tools = ToolRegistry([Tool("look", "Looks.", Text, look)])
    calls = ToolExecutor(tools, frozenset({"look"}), budget, host=host)
    for _ in range(ERRORS_TO_OPEN):
        await calls.call("look", Repository("r"), {"text": "raises"})
    await clock.advance(20)
    refused = await calls.call("look", Repository("r"), {"text": "ok"})
    assert refused.error == f"tool 'look' {BREAKER_OPEN}; the next try may be made in 40 s"
    assert (budget.tool_calls, len(host.take_counted()["r"])) == (5, 5)
    await clock.advance(40)
    assert (await calls.call("look", Repository("r"), {"text": "ok"})).status == "ok"
    assert (await calls.call("look", Repository("r"), {"text": "raises"})).status == "error"
