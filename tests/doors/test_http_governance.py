"""How the system fares, over HTTP: one document for all parts, and one for each tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.primitives.clock import SystemClock
from runtime.tools.health import ERRORS_TO_OPEN, MIN_CALLS
from runtime.tools.tool_host import CountedCall
from tests.doors.event_stream_client import streamed
from tests.doors.http_site import REPO, Site, open_site, until

HEALTH = "/api/v1/governance/health"
TOOLS = "/api/v1/governance/tools"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


def calls(site: Site, durations_ms: range, *, fail: bool = False, repo: str = REPO, tool: str = "grep") -> None:
    now_ms = SystemClock().now_ms()
    status: Any = "error" if fail else "ok"
    site.tool_metrics.record(repo, [CountedCall(tool, status, took, now_ms, fail) for took in durations_ms])


async def health(site: Site) -> dict[str, Any]:
    reply = await site.call("GET", HEALTH)
    assert reply.status == 200
    document: dict[str, Any] = reply.json
    return document


async def test_a_system_that_is_well_says_so_of_every_part(site: Site) -> None:
    told = await health(site)
    assert told["status"] == "healthy"
    assert told["parts"] == {"supervisor": "answers", "bus": "answers", "store": "answers"}
    assert told["agents"] == {"store": "connected"}
    assert told["breakers"] == {"bus": {}, "models": {}, "tools": {}}
    assert told["queues"] == {"parked_frames": 0, "dead_letters": 0, "queries_under_way": 0, "models": {}}
    assert told["bounds"]["runs_under_way"] == 0


async def test_bounds_in_use_are_told(site: Site) -> None:
    asking = asyncio.create_task(site.ask("hold this"))
    await until(site.log.unfinished)
    async with streamed(site, "hold that") as stream:
        parts = stream.parts()
        await anext(parts)
        site.places = {"small": (2, 3, 1)}
        told = await health(site)
        assert told["bounds"]["questions"] == {"used": 1, "of": 256}
        assert told["bounds"]["event_streams"] == {"used": 1, "of": 256}
        assert told["bounds"]["runs_under_way"] >= 1
        assert told["queues"]["models"] == {"small": {"used": 2, "of": 3, "waiting": 1}}
    site.hold.set()
    await asking


async def test_parts_that_do_not_answer_are_told_in_the_document(site: Site) -> None:
    site.away = {"agent:sample.look": "dead"}
    told = await health(site)
    assert (told["status"], told["agents"]["agent:sample.look"]) == ("down", "dead")
    assert "agent:sample.look" in told["parts"]["bus"]
    site.is_dead = True
    told = await health(site)
    assert (told["status"], told["parts"]["supervisor"]) == ("down", "the supervisor is gone")
    assert (told["agents"], told["queues"]["parked_frames"]) == ({}, None)


async def test_an_open_breaker_makes_it_degraded(site: Site) -> None:
    site.chain = {"circuit_breaker": {"memory.recall": {"state": "open"}, "session.turns": {"state": "closed"}}}
    told = await health(site)
    assert (told["status"], told["breakers"]["bus"]) == ("degraded", {"memory.recall": "open"})


async def test_a_tool_is_told_with_its_calls_failures_and_latencies(site: Site) -> None:
    calls(site, range(1, 101))
    calls(site, range(500, 502), fail=True)
    told = (await site.call("GET", f"{TOOLS}/grep")).json
    assert (told["tool"], told["health"]) == ("grep", "healthy")
    assert told["latest"] == {"calls": 102, "failures": 2}
    assert told["latency_ms"] == {"mean": 59, "p50": 51, "p95": 97, "max": 501}
    assert told["total"] == {"calls": 102, "usable": 100}
    assert told["quarantine"] == {"open_in": 0, "probe_at_ms": None}


async def test_a_tool_whose_breaker_is_open_is_in_quarantine(site: Site) -> None:
    calls(site, range(ERRORS_TO_OPEN), fail=True)
    told = (await site.call("GET", f"{TOOLS}/grep")).json
    assert (told["quarantine"]["open_in"], told["health"]) == (1, "unhealthy")
    assert told["quarantine"]["probe_at_ms"] > SystemClock().now_ms() - 1_000
    shown = await health(site)
    assert (shown["status"], shown["breakers"]["tools"]) == ("degraded", {"grep": "open"})
    assert shown["tools"] == {"grep": "unhealthy"}


async def test_a_tool_that_was_not_called_is_unknown_and_one_that_is_none_is_not_found(site: Site) -> None:
    told = (await site.call("GET", f"{TOOLS}/read")).json
    assert (told["health"], told["latest"], told["total"]["calls"]) == ("unknown", {"calls": 0, "failures": 0}, 0)
    (await site.call("GET", f"{TOOLS}/nonsense")).is_problem(404, "unknown_name", "grep, read")


async def test_calls_on_repositories_of_others_count_for_health_and_not_for_the_sums(site: Site) -> None:
    calls(site, range(MIN_CALLS), repo="/elsewhere")
    told = (await site.call("GET", f"{TOOLS}/grep")).json
    assert (told["latest"]["calls"], told["total"]["calls"]) == (MIN_CALLS, 0)
