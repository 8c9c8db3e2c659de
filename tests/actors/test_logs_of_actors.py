"""The level and format of the settings reach every actor of a system, and records name their run and stage."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from runtime.primitives.structured_logs import LogOptions, configure_logs
from runtime.run.envelope import Request
from tests.conformance.hosts import PIPELINES, ClusterUp, RayHost, run_through

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(120)]


def lines_in(state_dir: Path) -> list[dict[str, Any]]:
    files = (state_dir / "ray").glob("session_*/logs/worker-*.err")
    lines = [line for file in files for line in file.read_text(errors="replace").splitlines()]
    return [json.loads(line) for line in lines if line.startswith('{"time"')]


async def test_every_actor_logs_as_the_settings_say(tmp_path: Path) -> None:
    root, before = logging.getLogger(), list(logging.getLogger().handlers)
    configure_logs(LogOptions("debug", "json"), "tests", tmp_path / "driver.log")
    try:
        with ClusterUp(tmp_path / "state", (PIPELINES[0],)) as system:
            await system.ready()
            script = {"b": [{"give": {"needed": 1}}]}
            ended = await run_through(RayHost(system), Request("line", "why?", metadata={"script": script}))
            assert ended.reason == "completed"
    finally:
        for handler in [each for each in root.handlers if each not in before]:
            root.removeHandler(handler)
        for package in ("runtime", "actors", "serve"):
            logging.getLogger(package).setLevel(logging.NOTSET)
    found = lines_in(tmp_path / "state")
    stages = {line["stage"] for line in found if line["event"] == "stage.succeeded"}
    assert stages == {"a", "b", "c"}
    assert all(line["run_id"] for line in found if line["event"] == "stage.succeeded")
    assert {"CommBusActor", "AgentActor", "SupervisorActor", "IndexActor", "StoreActor"} <= {
        line["process"] for line in found
    }
    assert any(line["process"] == "CommBusActor" and line.get("run_id") for line in found)
