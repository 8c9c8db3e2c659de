"""Requests that schemathesis makes from the OpenAPI document: no answer breaks what the document says.

Rates are lifted and capacity is free, since the runs are driven in this process. Of the dev extra; without it skipped.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import sys
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.primitives.clock import SystemClock
from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_store
from serve.http.access.admission import route_at
from tests.doors.http_site import MESSAGES, Site, open_site, routed, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_200),
    pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not installed: pip install '.[dev]'"),
]

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = int(os.environ.get("CASE_EXAMPLES", "100"))
LEAST_CASES = 2_000
WAITING, HELD, OVER = 60, 30, 10
SESSIONS = [f"s{number}" for number in range(WAITING, WAITING + OVER)]
OPTIONS = (
    *("--checks", "all", "--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure"),
    *("--suppress-health-check", "all", "--request-timeout", "10", "--seed", "1", "--no-color", "--warnings", "off"),
    # Of the form of texts, docs/http.md says what no schema says for each of them: none holds U+0000.
    *("--generation-allow-x00", "false", "--generation-database", "none"),
)


class Statuses:
    """Counts the statuses of each route that are sent."""

    def __init__(self) -> None:
        self.sent: dict[str, Counter[int]] = defaultdict(Counter)
        self._numbers = itertools.count()

    def around(self, app: ASGIApp) -> ASGIApp:
        api = routed(app)

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    route = route_at(api, scope)
                    self.sent[route or "no route"][message["status"]] += 1
                await send(message)

            await app({**scope, "headers": [self._keyed(*header) for header in scope["headers"]]}, receive, noted)

        return counted

    def _keyed(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        """Give each question a key of its own: one that stands for another body is refused whatever the schema says."""
        if name == b"idempotency-key" and re.fullmatch(rb"[ -~]{1,200}", value):
            return name, value + str(next(self._numbers)).encode()
        return name, value

    def total(self, *but: int) -> int:
        return sum(number for counts in self.sent.values() for status, number in counts.items() if status not in but)

    def without_success(self) -> list[str]:
        return sorted(name for name, counts in self.sent.items() if not any(200 <= status < 300 for status in counts))

    def broken(self) -> dict[str, dict[int, int]]:
        found = {name: {s: n for s, n in counts.items() if s >= 500} for name, counts in self.sent.items()}
        return {name: counts for name, counts in found.items() if counts}

    def __str__(self) -> str:
        lines = [f"{name}: {dict(sorted(counts.items()))}" for name, counts in sorted(self.sent.items())]
        past = self.total(401) / max(1, self.total())
        return "\n".join([*lines, f"{self.total()} cases, {past:.0%} of them past authentication"])


async def begun_runs(site: Site, token: str) -> list[str]:
    """Begin runs that wait for an answer, that are under way, and that are over."""
    bearer = f"Bearer {token}"
    found: list[str] = []
    for number in range(WAITING + OVER):
        body = (
            {"message": "why", "wait": True} if number < WAITING else {"message": "Where?", "session_id": f"s{number}"}
        )
        reply = await site.call("POST", MESSAGES, body, Authorization=bearer)
        found.append(str(reply.run_id))
    held = [
        asyncio.create_task(
            site.call("POST", MESSAGES, {"message": "hold"}, Authorization=bearer, Idempotency_Key=f"held-{number}")
        )
        for number in range(HELD)
    ]
    await until(lambda: len(site.log.unfinished()) == WAITING + HELD)
    for task in held:
        task.cancel()
    return found + [run.run_id for run in site.log.unfinished() if run.run_id not in found]


async def schemathesis(site: Site, token: str, runs: list[str], folder: Path) -> tuple[int, str]:
    """Run schemathesis against a site; its exit status, and what it printed."""
    url = f"http://127.0.0.1:{site.port}"
    program = (sys.executable, "-m", "schemathesis.cli", "--config-file", str(ROOT / "tests/doors/schemathesis.toml"))
    hooks = {
        "SCHEMATHESIS_HOOKS": "tests.doors.schemathesis_hooks",
        "CASE_RUNS": ",".join(runs),
        "CASE_SESSIONS": ",".join(SESSIONS),
    }
    process = await asyncio.create_subprocess_exec(
        *(*program, "run", f"{url}/openapi.json", "--url", url, "-H", f"Authorization: Bearer {token}"),
        *(*OPTIONS, "--max-examples", str(EXAMPLES)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, **hooks, "PYTHONPATH": str(ROOT)},
    )
    told, _ = await process.communicate()
    return process.returncode or 0, told.decode("utf-8", "replace")


async def test_no_case_of_schemathesis_breaks_the_document(tmp_path: Path) -> None:
    statuses = Statuses()
    async with open_site(
        tmp_path / "state",
        told={"tokens_required": True, "tools": ("locate",)},
        around=statuses.around,
        answer_timeout_s=5,
    ) as site:
        stores = open_store(site.store, SystemClock())
        token = stores.part(TOKENS).create("ann", ("ask", "watch", "operate")).text
        stores.close()
        runs = await begun_runs(site, token)
        statuses.sent.clear()
        status, told = await schemathesis(site, token, runs, tmp_path)
        site.hold.set()
    sys.stdout.write(f"{told[-12_000:]}\n{statuses}\n")
    assert token not in told
    assert status == 0
    assert statuses.broken() == {}
    assert statuses.without_success() == []
    assert statuses.total() >= LEAST_CASES
    assert statuses.total(401) >= statuses.total() / 2
