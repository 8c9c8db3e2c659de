"""Runs that nobody drives and nobody waits for are closed after an hour; durable work never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.hosting.abandoned_runs import ABANDONED_AFTER_MS, close_abandoned, is_abandoned
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.run_log import MemoryRunLog
from runtime.supervision.replay import fold
from runtime.testing import PipelineBuilder

CONFIG = PipelineBuilder("line").stage("a").build()
PIPELINES = {CONFIG.name: CONFIG}
INSTANTS = st.integers(0, 2**45)


@given(
    last_at_ms=INSTANTS, since_ms=INSTANTS, age_ms=st.integers(-10, 10), durable=st.sampled_from([True, False, None])
)
def test_a_run_is_abandoned_an_hour_after_the_later_of_its_last_event_and_its_last_owner(
    last_at_ms: int, since_ms: int, age_ms: int, durable: bool | None
) -> None:
    now_ms = max(last_at_ms, since_ms) + ABANDONED_AFTER_MS + age_ms
    request = Request("line", "why?", durable=durable)
    closed = is_abandoned(request, last_at_ms, since_ms, now_ms, ABANDONED_AFTER_MS)
    assert closed is (age_ms >= 0 and durable is not True)


@pytest.mark.parametrize(
    ("durable", "wait", "is_durable"),
    [(None, False, False), (None, True, True), (False, True, False), (True, False, True)],
)
def test_requests_of_older_versions_are_durable_if_they_wait(
    durable: bool | None, wait: bool, is_durable: bool
) -> None:
    assert Request("line", "why?", wait=wait, durable=durable).is_durable is is_durable


@pytest.mark.parametrize(("early_ms", "closes"), [(1, False), (0, True), (-1, True)])
async def test_closing_is_an_event_like_any_other_and_later_systems_find_nothing_to_do(
    early_ms: int, closes: bool
) -> None:
    clock, log = FakeClock(), MemoryRunLog()
    began_ms = clock.now_ms()
    table = RunTable(PIPELINES, log, clock, owner="one")
    run_id, _ = table.submit(Request(CONFIG.name, "why?"))
    kept, _ = table.submit(Request(CONFIG.name, "why?", durable=True))
    epoch = log.take_over("two")
    now_ms = began_ms + ABANDONED_AFTER_MS - early_ms
    assert close_abandoned(log, epoch, PIPELINES, began_ms, now_ms) == ([run_id] if closes else [])
    assert [row.run_id for row in log.unfinished()] == ([kept] if closes else [run_id, kept])
    envelope = fold(CONFIG, log.events(run_id)).envelope
    if closes:
        assert (envelope.terminal_reason, str(envelope.terminal_detail)[:11]) == ("user_cancelled", "abandoned: ")
    assert close_abandoned(log, epoch, PIPELINES, began_ms, now_ms) == []


def test_a_run_under_rules_that_nobody_has_stays_as_it_is() -> None:
    clock, log = FakeClock(), MemoryRunLog()
    table = RunTable(PIPELINES, log, clock)
    run_id, _ = table.submit(Request(CONFIG.name, "why?"), RunId("r-1"))
    log._rules.clear()
    assert close_abandoned(log, log.take_over("two"), {}, 0, clock.now_ms() + 2 * ABANDONED_AFTER_MS) == []
    assert [row.run_id for row in log.unfinished()] == [run_id]
