"""How often pages may be opened: a person with several tabs is not refused, and a browser that floods is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from runtime.errors import RateLimitedError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.limits_service import Limits, LimitsService, SpentBy
from runtime.hosting.limits.rate_limits import PAGE_RATES, PAGES, RateLimits
from runtime.primitives.clock import FakeClock
from runtime.settings import LimitSettings, PageRateSettings
from runtime.testing import START_MS
from serve.http.access.callers import counted_endpoint
from serve.http.dashboard.addresses import ASK, DASHBOARD, SYSTEM
from tests.doors.dashboard_forms import Visitor, text_of
from tests.doors.http_site import RUNS, Site, open_site

CALLER = "address:loopback"
NONE_AT_ALL = RateLimits(per_minute=0)
THREE = RateLimits(per_minute=60, per_hour=None, per_day=None, burst=3)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(("opened", "statuses"), [(2, [200] * 2), (3, [200] * 3), (4, [200] * 3 + [429])])
async def test_pages_have_rates_of_their_own(site: Site, opened: int, statuses: list[int]) -> None:
    site.rates = LimitsService(Limits(rates=NONE_AT_ALL, page_rates=THREE), FakeClock(START_MS))
    visitor = Visitor(site)
    replies = [await visitor.read((DASHBOARD, SYSTEM)[number % 2]) for number in range(opened)]
    assert [reply.status for reply in replies] == statuses
    if opened == 4:
        assert "Too many requests" in text_of(replies[-1])
        assert replies[-1].headers["retry-after"] == "1"


async def test_a_form_counts_as_what_it_does_and_pages_take_nothing_from_it(site: Site) -> None:
    clock = FakeClock(START_MS)
    once = RateLimits(per_minute=60, burst=1)
    site.rates = LimitsService(Limits(rates=once, page_rates=THREE), clock)
    visitor = Visitor(site)
    fields = {"form_token": await visitor.form_token(), "question": "Where?", "key": "a"}
    assert (await visitor.read()).status == 200
    assert (await visitor.send(ASK, fields)).status == 303
    assert (await visitor.send(ASK, fields)).status == 429
    assert (await site.call("GET", RUNS)).status == 429
    assert (await visitor.read()).status == 200


async def test_a_person_who_looks_through_twenty_runs_is_not_refused() -> None:
    clock = FakeClock(START_MS)
    service = LimitsService(Limits(), clock)
    for _ in range(20):
        for route in ("dashboard_run", "dashboard_run_live"):
            service.take(CALLER, counted_endpoint(route))
        await clock.advance(0.7)


@pytest.mark.parametrize("at_once", [119, 120, 121])
async def test_as_many_pages_as_the_settings_say_open_at_once(at_once: int) -> None:
    service = LimitsService(Limits(), FakeClock(START_MS))
    opened = 0
    for _ in range(at_once):
        try:
            service.take(CALLER, PAGES)
            opened += 1
        except RateLimitedError:
            break
    assert opened == min(at_once, 120)


def test_the_settings_say_what_holds_without_them() -> None:
    assert msgspec.convert(PageRateSettings().model_dump(), RateLimits) == PAGE_RATES
    told = LimitSettings.model_validate({"page_rates": {"burst": 7}}).model_dump(exclude={"max_question_chars"})
    assert msgspec.convert(told, Limits).page_rates == msgspec.structs.replace(PAGE_RATES, burst=7)


@pytest.mark.parametrize(
    ("endpoint", "is_refused"), [("chat", True), ("fork", True), ("runs", False), ("cancel", False), (PAGES, False)]
)
def test_who_has_used_up_a_quota_begins_no_run_but_looks_and_cancels(endpoint: str, is_refused: bool) -> None:
    service = LimitsService(Limits(quotas=Quotas(cost_per_day=10)), FakeClock(START_MS))
    service.spend([SpentBy(CALLER, 1, 1, 10)])
    if is_refused:
        with pytest.raises(RateLimitedError, match="have cost"):
            service.take(CALLER, endpoint)
    else:
        service.take(CALLER, endpoint)
