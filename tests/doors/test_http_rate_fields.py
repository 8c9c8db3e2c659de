"""How many more requests a caller has, in the header of each answer, and queries that an endpoint does not read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.limits_service import Limits, LimitsService, SpentBy
from runtime.hosting.limits.rate_limits import RateLimits, RateState
from runtime.primitives.clock import FakeClock
from runtime.testing import START_MS
from serve.http.access.rate_fields import rate_fields
from tests.doors.http_site import RUNS, Site, open_site
from tests.doors.test_http_openapi import OPERATIONS

CALLER = "address:loopback"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


async def test_each_answer_tells_what_is_left_and_the_refusal_when_there_is_more(site: Site) -> None:
    clock = FakeClock(START_MS)
    site.rates = LimitsService(Limits(rates=RateLimits(3, 1_000, None, None)), clock)
    left = []
    for _ in range(3):
        reply = await site.call("GET", RUNS)
        assert reply.headers["ratelimit-policy"] == '"minute";q=3;w=60, "hour";q=1000;w=3600'
        left.append(reply.headers["ratelimit"])
        await clock.advance(1)
    assert left == ['"minute";r=2;t=60', '"minute";r=1;t=59', '"minute";r=0;t=58']
    for _ in range(2):  # what is refused counts nothing
        refused = await site.call("GET", RUNS)
        refused.is_problem(429, "rate_limited", "57 s")
        assert (refused.headers["ratelimit"], refused.headers["retry-after"]) == ('"minute";r=0;t=57', "57")
    await clock.advance(57)
    assert (await site.call("GET", RUNS)).headers["ratelimit"] == '"minute";r=0;t=1'


async def test_errors_and_answers_below_v1_tell_it_too_and_open_endpoints_do_not(site: Site) -> None:
    site.rates = LimitsService(Limits(rates=RateLimits(60, None, None, 5)), FakeClock(START_MS))
    assert (await site.call("GET", f"{RUNS}/nothing")).headers["ratelimit"] == '"burst";r=4;t=1'
    assert (await site.call("GET", f"{RUNS}?limit=no")).headers["ratelimit"] == '"burst";r=3;t=1'
    assert (await site.call("GET", "/v1/models")).headers["ratelimit"] == '"burst";r=2;t=1'
    assert (await site.call("HEAD", RUNS)).headers["ratelimit"] == '"burst";r=1;t=1'
    assert (await site.call("GET", RUNS)).headers["ratelimit-policy"] == '"minute";q=60;w=60, "burst";q=5;w=5'
    for path in ("/health", "/ready", "/metrics", "/openapi.json"):
        assert not {"ratelimit", "ratelimit-policy"} & set((await site.call("GET", path)).headers)


def test_a_principal_without_rates_and_one_over_its_daily_cost_have_no_fields() -> None:
    service = LimitsService(Limits(quotas=Quotas(cost_per_day=10)), FakeClock(START_MS))
    assert rate_fields(service.take("user:ann", "chat")) == []
    service.spend([SpentBy(CALLER, 1, 1, 10)])
    with pytest.raises(Exception, match="have cost") as refused:
        service.take(CALLER, "chat")
    assert "rates" not in refused.value.values  # type: ignore[attr-defined]


async def test_a_limit_of_none_at_all_and_a_bucket_that_fills_are_told() -> None:
    clock = FakeClock(START_MS)
    service = LimitsService(Limits(rates=RateLimits(None, 0, None, None)), clock)
    with pytest.raises(Exception, match="asks too often") as refused:
        service.take(CALLER, "chat")
    assert refused.value.values["rates"] == [  # type: ignore[attr-defined]
        {"name": "hour", "allowed": 0, "span_s": 3_600, "remaining": 0, "reset_s": 3_600}
    ]
    bucket = LimitsService(Limits(rates=RateLimits(30, None, None, 2)), clock)
    states = [bucket.take(CALLER, "chat")[-1] for _ in range(2)]
    await clock.advance(3)
    states.append(bucket.take(CALLER, "chat")[-1])
    assert [(state.remaining, state.reset_s) for state in states] == [(1, 2), (0, 2), (0, 1)]
    assert states[0] == RateState("burst", 2, 4, 1, 2)


@pytest.mark.parametrize(("method", "path"), [*OPERATIONS, ("GET", "/openapi.json")])
async def test_no_endpoint_ignores_a_field_of_the_query_that_it_does_not_read(
    site: Site, method: str, path: str
) -> None:
    body: dict[str, str] | None = {} if method == "POST" else None
    reply = await site.call(
        method, path.format(run_id="r", session_id="s", seq=3, interrupt_id="q", model="m", name="n") + "?dys=1", body
    )
    if path.startswith("/v1/"):
        assert (reply.status, reply.json["error"]["code"]) == (400, "bad_input")
        assert "there is no dys" in reply.json["error"]["message"]
    else:
        reply.is_problem(422, "bad_input", "there is no dys")


async def test_a_query_is_refused_by_its_unknown_fields_and_read_with_its_known_ones(site: Site) -> None:
    refused = await site.call("GET", "/api/v1/usage?run_id=r-1&hours=2&%6Cimit=&x=" + "y" * 500)
    refused.is_problem(422, "bad_input", "no run_id, limit, x;", "reads hours, session_id")
    assert refused.json["values"] == {"known": ["hours", "session_id"], "unknown": ["run_id", "limit", "x"]}
    many = await site.call("GET", "/ready?" + "&".join(f"f{number}=1" for number in range(200)))
    many.is_problem(422, "bad_input", "no f0, f1, f2, f3, f4; this endpoint reads no field")
    assert (await site.call("GET", "/api/v1/usage?hours=2&")).status == 200
    assert (await site.call("GET", "/health?")).status == 200


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/api/v1/runs?limit=1&limit=2", "give limit once, not 2 times"),
        ("/api/v1/runs?limit=1&%6Cimit=1", "give limit once, not 2 times"),
        ("/api/v1/usage?hours=2&hours=&hours=3", "give hours once, not 3 times"),
    ],
)
async def test_a_field_of_the_query_that_is_repeated_is_refused(site: Site, path: str, told: str) -> None:
    (await site.call("GET", path)).is_problem(422, "bad_input", told)
