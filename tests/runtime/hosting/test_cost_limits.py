"""Costs of model calls against the limits of a day and of one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.errors import RateLimitedError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.limits_service import Limits, LimitsService, SpentBy
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.settings import load_settings
from runtime.testing import START_MS
from serve.wiring import limits_of
from tests.runtime.hosting.test_limits_service import CLIENT, usage_log
from tests.runtime.hosting.test_quotas import FIRST, SECOND, Table

CENT = 10_000


@pytest.mark.parametrize(("cost_micro", "goes_on"), [(CENT - 1, True), (CENT, False), (CENT + 1, False)])
@pytest.mark.parametrize("waits", [True, False])
def test_a_run_ends_by_its_bound_when_it_has_cost_what_one_run_may(cost_micro: int, goes_on: bool, waits: bool) -> None:
    table = Table(Quotas(run_cost=CENT))
    table.submit(FIRST, wait=waits)
    table.succeed(FIRST, llm_calls=1, cost_micro=cost_micro)
    envelope = table.envelope(FIRST)
    assert envelope.usage.cost_micro == cost_micro
    assert envelope.lifecycle == ("running" if goes_on else "terminated")
    if not goes_on:
        assert envelope.terminal_reason == "max_tokens_exceeded"
        told = {CENT: "0.01", CENT + 1: "0.010001"}[cost_micro]
        assert envelope.terminal_detail == f"the run has cost {told}, limit 0.01"
        assert set(envelope.outputs) == {"a"}


def test_what_one_run_has_cost_stops_no_other() -> None:
    table = Table(Quotas(run_cost=CENT))
    table.submit(FIRST)
    table.submit(SECOND)
    table.succeed(FIRST, llm_calls=1, cost_micro=2 * CENT)
    assert (table.lifecycle(FIRST), table.lifecycle(SECOND)) == ("terminated", "running")


def test_the_costs_of_several_stages_are_added() -> None:
    table = Table(Quotas(run_cost=CENT), final_stage="b")
    table.submit(FIRST)
    table.succeed(FIRST, llm_calls=1, cost_micro=CENT - 1)
    table.succeed(FIRST, llm_calls=1, cost_micro=1)
    assert table.envelope(FIRST).usage.cost_micro == CENT
    assert table.lifecycle(FIRST) == "terminated"


@pytest.mark.parametrize("reported", [-1, 10**15])
def test_a_cost_that_cannot_be_is_a_fault_of_the_agent(reported: int) -> None:
    table = Table(Quotas())
    table.submit(FIRST)
    table.succeed(FIRST, llm_calls=1, cost_micro=reported)
    assert 0 <= table.envelope(FIRST).usage.cost_micro <= 10**14
    assert "cannot have spent" in table.envelope(FIRST).errors[0]


@pytest.mark.parametrize(("cost_micro", "goes_on"), [(CENT - 1, True), (CENT, False), (CENT + 1, False)])
def test_the_costs_of_a_day_have_a_quota(cost_micro: int, goes_on: bool) -> None:
    table = Table(Quotas(cost_per_day=CENT))
    table.submit(FIRST, wait=False)
    table.succeed(FIRST, llm_calls=1, cost_micro=cost_micro)
    assert table.lifecycle(FIRST) == ("running" if goes_on else "terminated")
    if not goes_on:
        with pytest.raises(RateLimitedError, match=r"have cost 0\.01.* within 24 hours, quota 0\.01"):
            table.submit(SECOND)


async def test_costs_of_a_day_are_kept_over_a_restart(tmp_path: Path) -> None:
    clock, limits = FakeClock(START_MS), Limits(Quotas(cost_per_day=CENT))
    with usage_log(tmp_path, clock) as log:
        service = LimitsService(limits, clock, log)
        service.spend([SpentBy(CLIENT, 1, 10, CENT - 1)])
        service.take(CLIENT, "chat")
        service.spend([SpentBy(CLIENT, 1, 10, 1)])
        await service.keep_now()
        again = LimitsService(limits, clock, log)
        assert log.totals(0)[CLIENT]["cost"] == CENT
    with pytest.raises(RateLimitedError, match=r"quota 0\.01"):
        again.take(CLIENT, "chat")


def test_limits_are_given_in_the_currency_and_counted_in_millionths(tmp_path: Path) -> None:
    (tmp_path / "jeeves.yaml").write_text(
        "limits: {quotas: {cost_per_day: 12.5, run_cost: '0.000001'}}", encoding="utf-8"
    )
    settings = load_settings(tmp_path / "jeeves.yaml", {"JEEVES_STATE_DIR": str(tmp_path)})
    again = type(settings).model_validate_json(settings.model_dump_json())
    for each in (settings, again):
        quotas = limits_of(each).quotas
        assert (quotas.cost_per_day, quotas.run_cost) == (12_500_000, 1)
    without = load_settings(None, {"JEEVES_STATE_DIR": str(tmp_path)})
    assert limits_of(without).quotas.cost_per_day is None


def begun(table: Table, number: int, **fields: Any) -> int:
    """How many of so many runs that are submitted at once are taken; the others are told to come back soon."""
    taken = 0
    for each in range(number):
        try:
            table.submit(RunId(f"r-{each}"), **fields)
            taken += 1
        except RateLimitedError as error:
            assert "that are under way may cost" in error.message
            assert error.values["retry_after_s"] == 10
    return taken


@pytest.mark.parametrize(("allowed", "taken"), [(5 * CENT - 1, 5), (5 * CENT, 5), (5 * CENT + 1, 6)])
def test_runs_at_once_count_with_the_ceiling_of_one_run(allowed: int, taken: int) -> None:
    table = Table(Quotas(cost_per_day=allowed, run_cost=CENT))
    assert begun(table, 10) == taken
    assert begun(Table(Quotas(cost_per_day=allowed, run_cost=CENT)), 10, user_id="user:ann") == 10
    table.submit(RunId("r-other"), user_id="token:other")


def test_what_a_run_has_cost_already_counts_once_and_its_rest_is_free_when_it_ends() -> None:
    table = Table(Quotas(cost_per_day=2 * CENT, run_cost=CENT))
    table.submit(FIRST)
    table.succeed(FIRST, llm_calls=1, cost_micro=CENT - 1)
    table.submit(SECOND)
    with pytest.raises(RateLimitedError, match=r"may cost the 0\.010001 that are left of the quota 0\.02"):
        table.submit(RunId("r-3"))
    table.succeed(FIRST, llm_calls=1)
    assert table.lifecycle(FIRST) == "terminated"
    table.submit(RunId("r-3"))


def test_without_a_ceiling_one_run_finds_out_and_then_the_costliest_of_the_last_ones_counts() -> None:
    table = Table(Quotas(cost_per_day=10 * CENT), final_stage="b")
    assert begun(table, 3) == 1
    table.succeed(RunId("r-0"), llm_calls=1, cost_micro=CENT)
    table.succeed(RunId("r-0"), llm_calls=1, cost_micro=CENT)
    assert table.lifecycle(RunId("r-0")) == "terminated"
    for number in range(1, 5):
        table.submit(RunId(f"r-{number}"))
    with pytest.raises(RateLimitedError, match="under way"):
        table.submit(RunId("r-5"))


def test_a_run_that_waits_for_its_user_reserves_nothing_and_a_fork_is_a_run_like_others() -> None:
    table = Table(Quotas(cost_per_day=CENT))
    table.submit(FIRST)
    with pytest.raises(RateLimitedError, match="under way"):
        table.runs.fork(FIRST, 1)
    table.succeed(FIRST, question="Which?")
    table.submit(SECOND)


def finished(table: Table, run_id: str, cost_micro: int, user_id: str) -> None:
    """A run of a user that has cost so much when it ends."""
    table.submit(RunId(run_id), user_id=user_id)
    table.succeed(RunId(run_id), llm_calls=1, cost_micro=cost_micro)
    if table.lifecycle(RunId(run_id)) == "running":
        table.succeed(RunId(run_id))
    assert table.lifecycle(RunId(run_id)) == "terminated"


@pytest.mark.parametrize("run_cost", [None, CENT])
@pytest.mark.parametrize("others", [19, 20, 60])
def test_the_costliest_of_a_users_own_last_runs_counts_however_many_others_end(
    run_cost: int | None, others: int
) -> None:
    table = Table(Quotas(cost_per_day=12 * CENT, run_cost=run_cost))
    finished(table, "r-own", 3 * CENT, "u")
    for number in range(others):
        finished(table, f"r-other-{number}", 1, "user:ann")
    assert begun(table, 10) == 3


@pytest.mark.parametrize(("own", "taken"), [(0, 2), (19, 2), (20, 8)])
def test_the_costliest_of_the_last_runs_of_anybody_counts_too(own: int, taken: int) -> None:
    table = Table(Quotas(cost_per_day=8 * CENT, run_cost=CENT))
    finished(table, "r-other", 4 * CENT, "user:ann")
    for number in range(own):
        finished(table, f"r-own-{number}", 0, "u")
    assert begun(table, 10) == taken


@pytest.mark.parametrize(("runs", "taken"), [(19, 3), (20, 9)])
def test_the_last_twenty_runs_of_a_user_count(runs: int, taken: int) -> None:
    table = Table(Quotas(cost_per_day=12 * CENT, run_cost=CENT))
    finished(table, "r-own", 3 * CENT, "u")
    for number in range(runs):
        finished(table, f"r-cheap-{number}", 0, "u")
    assert begun(table, 10) == taken


def test_each_run_under_way_goes_over_the_day_by_one_stage_at_most() -> None:
    table = Table(Quotas(cost_per_day=4 * CENT, run_cost=2 * CENT))
    assert begun(table, 10, wait=False) == 2
    table.succeed(RunId("r-0"), llm_calls=1, cost_micro=4 * CENT)
    table.succeed(RunId("r-1"), llm_calls=1, cost_micro=CENT)
    assert {table.lifecycle(run_id) for run_id in (RunId("r-0"), RunId("r-1"))} == {"terminated"}
    with pytest.raises(RateLimitedError, match=r"have cost 0\.05 within 24 hours, quota 0\.04"):
        table.submit(RunId("r-late"))
