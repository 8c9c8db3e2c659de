"""Every status that a route gives is named by the OpenAPI document, and each one that is named can come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import OverloadedError
from runtime.hosting.limits.limits_service import Limits, LimitsService
from runtime.hosting.limits.rate_limits import RateLimits
from runtime.primitives.clock import SystemClock
from runtime.run.bearer_tokens import new_token
from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site, until

SLOW = 0.2
ONE = f"{RUNS}/{{run_id}}"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path, head_timeout_s=SLOW, body_timeout_s=SLOW, max_streams=1) as opened:
        yield opened


COMPLETIONS = "/v1/chat/completions"
MODELS = "/v1/models"
OUTPUT = f"{ONE}/outputs/{{seq}}"
# The event that tells of the end of the first stage.
FIRST_END = 3
USAGE = "/api/v1/usage"
SESSIONS = f"{MESSAGES.rpartition('/')[0]}/sessions"
GOVERNANCE = "/api/v1/governance"

BODIES: dict[str, Any] = {
    MESSAGES: {"message": "Where?"},
    COMPLETIONS: {"model": "sample", "messages": [{"role": "user", "content": "Where?"}]},
    f"{ONE}/fork": {"at": 1},
    f"{ONE}/resume": {"text": "that"},
    f"{ONE}/interrupts/{{interrupt_id}}": {"text": "that"},
}
TOO_LARGE = b" " * 1_000_001


class Walker:
    """Asks one operation for each of its answers."""

    def __init__(self, site: Site, method: str, path: str) -> None:
        self.site, self.method, self.path = site, method, path

    @property
    def keyed(self) -> list[str]:
        """The runs under way that have a key."""
        return [run.run_id for run in self.site.log.unfinished() if run.run_id.startswith("k-")]

    async def get(self, **headers: str) -> Reply:
        """The ordinary request; for a run that waits."""
        body = BODIES.get(self.path, {}) if self.method == "POST" else None
        return await self.site.call(self.method, await self.filled(), body, **headers)

    async def filled(self) -> str:
        if "{run_id}" not in self.path:
            if "{session_id}" in self.path:
                await self.site.ask("Where?", session_id="s")
            return self.path.format(model="sample", session_id="s", name="grep")
        if self.path.endswith("/pause"):
            asking = asyncio.create_task(self.site.ask("hold this", key="paused"))
            await until(lambda: self.keyed)
            asking.cancel()
            run_id: str | None = self.keyed[0]
        else:
            run_id = (await self.site.ask("why", wait=True)).run_id
        return self.path.format(run_id=run_id, interrupt_id=f"{run_id}-q1", seq=FIRST_END)

    async def sent(self, body: Any, **headers: str) -> Reply:
        return await self.site.call(self.method, await self.filled(), body, **headers)

    async def with_error(self, error: Exception) -> Reply:
        path = await self.filled()
        self.site.bug = error
        try:
            return await self.site.call(self.method, path, BODIES.get(self.path, {}) if self.method == "POST" else None)
        finally:
            self.site.bug = None

    async def good(self) -> Reply:
        return await self.get()

    async def bad_request(self) -> Reply:
        return await self.get(Host="")

    async def foreign_origin(self) -> Reply:
        return await self.get(Origin="http://evil.example")

    async def no_such_token(self) -> Reply:
        return await self.get(Authorization="Bearer jeeves_nobody")

    async def not_there(self) -> Reply:
        if self.path == MESSAGES:
            return await self.sent({"message": "x", "repo": "nowhere"})
        if self.path == COMPLETIONS:
            return await self.sent({**BODIES[COMPLETIONS], "model": "other"})
        path = self.path.format(run_id="r-none", interrupt_id="q", model="other", session_id="none", name="none", seq=1)
        return await self.site.call(self.method, path, BODIES.get(self.path, {}) if self.method == "POST" else None)

    async def late(self) -> Reply:
        return Reply(await self.site.sends(f"{self.method} {self.path} HTTP/1.1\r\n".encode()))

    async def conflict(self) -> Reply:
        """A run whose state does not allow it: of another system, in a log that cannot be read under its rules."""
        if "{session_id}" in self.path:
            return await self._in_use()
        if self.path.endswith("/answer"):
            run_id = await self._running()
        elif self.method == "GET":
            run_id = await self._unreadable()
        else:
            run_id = (await self.site.ask("Where?")).run_id or ""
            if self.path.endswith("/fork"):
                run_id = await self._unreadable()
        path = self.path.format(run_id=run_id, interrupt_id="q", seq=FIRST_END)
        return await self.site.call(self.method, path, BODIES.get(self.path, {}) if self.method == "POST" else None)

    async def _in_use(self) -> Reply:
        """A session that a run under way is in."""
        await self.site.ask("why", session_id="s", wait=True)
        return await self.site.call(self.method, self.path.format(session_id="s"))

    async def _running(self) -> str:
        asking = asyncio.create_task(self.site.ask("hold this", key="running"))
        await until(lambda: self.keyed)
        asking.cancel()
        return self.keyed[0]

    async def _unreadable(self) -> str:
        from runtime.primitives.ids import RunId
        from runtime.run.envelope import Request
        from runtime.store.opening import open_run_log
        from runtime.supervision.events import Event, RunRequested

        log = open_run_log(self.site.store, "one-off-0-1")
        log.append(
            "gone",
            Event(
                RunId("r-unreadable"),
                1,
                1,
                RunRequested(Request("gone", "?", user_id="address:loopback"), config_hash="x"),
            ),
        )
        log.close()
        return "r-unreadable"

    async def no_length(self) -> Reply:
        path = self.path.format(run_id="r-1", interrupt_id="q")
        told = {"Content_Length": "", "Transfer_Encoding": "chunked"}
        return await self.site.call("POST", path, b"0\r\n\r\n", **told)

    async def too_large(self) -> Reply:
        return await self.sent(TOO_LARGE)

    async def no_json(self) -> Reply:
        return await self.sent({}, Content_Type="text/plain")

    async def foreign_host(self) -> Reply:
        return await self.get(Host="evil.example")

    async def unusable(self) -> Reply:
        if self.method != "POST":
            path = await self.filled()
            wrong = {"events": "after=-1", "usage": "hours=0"}.get(self.path.rpartition("/")[2], "limit=0")
            return await self.site.call(self.method, f"{path}?{wrong}")
        return await self.sent({"colour": "red"})

    async def limited(self) -> Reply:
        path, none = await self.filled(), RateLimits(per_minute=0)
        self.site.rates = LimitsService(Limits(rates=none), SystemClock())
        try:
            return await self.site.call(self.method, path, BODIES.get(self.path, {}) if self.method == "POST" else None)
        finally:
            self.site.rates = None

    async def large_head(self) -> Reply:
        return await self.get(X="y" * 40_000)

    async def broken(self) -> Reply:
        untouched = {"/health", "/metrics", "/api/v1/repositories", USAGE, RUNS, f"{GOVERNANCE}/tools/{{name}}"}
        if self.path in untouched or self.path.startswith(MODELS):
            return Reply(b"HTTP/1.1 500 Internal Server Error\r\n\r\n")  # nothing in them is ours to break from outside
        return await self.with_error(RuntimeError("a bug"))

    async def unavailable(self) -> Reply:
        if self.path in (RUNS, USAGE):
            (Path(self.site.store.folder) / "runs" / "damaged.sqlite").write_bytes(b"no database" * 100)
            return await self.get()
        of_nothing_else = ("/metrics", "/api/v1/repositories", MODELS, GOVERNANCE)
        if self.path.startswith(of_nothing_else):
            (Path(self.site.store.folder) / "tokens.sqlite").write_bytes(b"no database" * 100)
            return await self.get(Authorization=f"Bearer {new_token().text}")
        return await self.with_error(OverloadedError("full", retry_after_s=7))

    async def takes_long(self) -> Reply:
        async with open_site(Path(self.site.store.folder) / "slow", answer_timeout_s=0.05) as slow:
            if self.path == COMPLETIONS:
                messages = [{"role": "user", "content": "hold this"}]
                return await slow.call("POST", COMPLETIONS, {"model": "sample", "messages": messages})
            return await slow.ask("hold this")


# What is refused before the path of the request is known has one form for all.
BEFORE_THE_PATH = {408, 431}

WAYS: dict[int, Callable[[Walker], Awaitable[Reply]]] = {
    200: Walker.good,
    201: Walker.good,
    400: Walker.bad_request,
    401: Walker.no_such_token,
    403: Walker.foreign_origin,
    404: Walker.not_there,
    408: Walker.late,
    409: Walker.conflict,
    411: Walker.no_length,
    413: Walker.too_large,
    415: Walker.no_json,
    421: Walker.foreign_host,
    422: Walker.unusable,
    429: Walker.limited,
    431: Walker.large_head,
    500: Walker.broken,
    503: Walker.unavailable,
    504: Walker.takes_long,
}

OPERATIONS = [
    *(
        ("POST", MESSAGES),
        ("GET", "/api/v1/repositories"),
        ("GET", RUNS),
        ("GET", ONE),
        ("GET", f"{ONE}/answer"),
        ("GET", f"{ONE}/events"),
        ("GET", OUTPUT),
    ),
    *(("POST", f"{ONE}/cancel"), ("POST", f"{ONE}/pause"), ("POST", f"{ONE}/resume"), ("POST", f"{ONE}/fork")),
    *(("POST", f"{ONE}/interrupts/{{interrupt_id}}"), ("GET", "/health"), ("GET", "/ready"), ("GET", "/metrics")),
    *(("POST", COMPLETIONS), ("GET", MODELS), ("GET", f"{MODELS}/{{model}}")),
    *(("GET", SESSIONS), ("GET", f"{SESSIONS}/{{session_id}}"), ("DELETE", f"{SESSIONS}/{{session_id}}")),
    ("GET", USAGE),
    *(("GET", f"{GOVERNANCE}/health"), ("GET", f"{GOVERNANCE}/tools/{{name}}")),
]


async def described(site: Site) -> dict[tuple[str, str], set[int]]:
    paths = (await site.call("GET", "/openapi.json")).json["paths"]
    return {
        (method.upper(), path): {int(status) for status in told["responses"]}
        for path, methods in paths.items()
        for method, told in methods.items()
    }


async def test_the_document_has_every_operation(site: Site) -> None:
    assert set(await described(site)) == set(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_the_statuses_of_an_operation_are_those_that_it_gives(site: Site, method: str, path: str) -> None:
    named = (await described(site))[(method, path)]
    given = set()
    for status, way in WAYS.items():
        if status in named:
            reply = await way(Walker(site, method, path))
            assert reply.status == status, (status, reply.status, reply.body[:300])
            given.add(reply.status)
            if status >= 400 and reply.body:
                has_own_form = path.startswith("/v1/") and status not in BEFORE_THE_PATH
                form = "application/json" if has_own_form else "application/problem+json"
                assert reply.headers["content-type"] == form
    assert given == named
