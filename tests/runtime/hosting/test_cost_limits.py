"""Costs of model calls against the limits of a day and of one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import RateLimitedError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.limits_service import Limits, LimitsService, SpentBy
from runtime.primitives.clock import FakeClock
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
