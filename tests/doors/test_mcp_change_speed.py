"""How long the door takes over a change, beside git: submissions when warm, and the first call after passivation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.mcp_site import Site, stdio_session
from tests.doors.program import Program
from tests.doors.test_mcp_change import Call, Client, calls_of
from tests.doors.test_mcp_change import project as project

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

MAX_SUBMIT_MS = 50
MAX_RETURN_MS = 300
ROUNDS = 5
# So short that a session has left memory before its client can call again.
IDLE_S = 0.001


@pytest.fixture(params=[600.0, IDLE_S], ids=["warm", "passivated"])
def site(request: pytest.FixtureRequest, tmp_path: Path, project: Path) -> Iterator[Site]:
    environment = {"JEEVES_RAY__MODE": "in_process", "JEEVES_CODE_CHANGE__SESSION_IDLE_S": str(request.param)}
    opened = Site(stdio_session(Program(tmp_path / "state", **environment), project, "--tools", "all"))
    yield opened
    opened.close()


def timed(call: Call, times_ms: dict[str, list[float]]) -> Call:
    def run(tool: str, **arguments: Any) -> dict[str, Any]:
        began_s = time.perf_counter()
        try:
            return call(tool, **arguments)
        finally:
            times_ms.setdefault(tool, []).append((time.perf_counter() - began_s) * 1000)

    return run


def test_a_submission_without_git_and_a_call_after_passivation_are_quick(
    site: Site, project: Path, request: pytest.FixtureRequest, record_property: Any
) -> None:
    times_ms: dict[str, list[float]] = {}
    client = Client(timed(calls_of(site), times_ms), project)
    for _ in range(ROUNDS):
        # Up to the impact analysis no step needs git.
        client.start(flags=["only_explore"])
        assert client.finish()["outcome"] == "completed"
        client.call("get_session_status")
    told = {tool: round(statistics.median(times), 1) for tool, times in times_ms.items() if len(times) >= ROUNDS}
    record_property("p50_ms", told)
    is_warm = "passivated" not in request.node.name
    assert told["submit_phase"] <= (MAX_SUBMIT_MS if is_warm else MAX_RETURN_MS), told
