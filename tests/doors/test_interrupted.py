"""Questions that are cut off: a caller who leaves cancels the run, a killed process leaves it to the next system."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.store.opening import open_run_log, run_log_names
from runtime.store.options import StoreOptions
from runtime.supervision.events import RunRequested, StageStarted
from tests.doors.program import Program, wait_until
from tests.doors.sample_repo import QUESTION

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


@pytest.fixture
def silent_model(tmp_path: Path) -> Iterator[Path]:
    """A model file whose endpoint takes every question and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        deployment = {"backend": "openai", "base_url": url, "model": "m", "max_model_len": 16_384}
        file = tmp_path / "models.yaml"
        told = {"deployments": {"main": deployment}, "roles": {"default": {"deployment": "main"}}}
        file.write_text(json.dumps(told), encoding="utf-8")
        yield file


def runs(state_dir: Path) -> list[tuple[str, Any]]:
    """Every run of the store, with the name of its log."""
    store, found = StoreOptions(folder=str(state_dir)), []
    for name in run_log_names(store):
        log = open_run_log(store, name, readonly=True)
        found += [(name, row) for row in log.runs(100)]
        log.close()
    return found


def events(state_dir: Path, log_name: str, run_id: str) -> list[Any]:
    log = open_run_log(StoreOptions(folder=str(state_dir)), log_name, readonly=True)
    try:
        return [event.payload for event in log.events(RunId(run_id))]
    finally:
        log.close()


def asking(jeeves: Program, repo: Path, model: Path, *args: str) -> tuple[subprocess.Popen[str], str, str]:
    """A question whose run is in the middle of a stage: the process, the log and the id of the run."""
    before = {row.run_id for _, row in runs(jeeves.state_dir)} if jeeves.state_dir.exists() else set()
    process = jeeves.start("ask", QUESTION, "--repo", repo, "--models", model, *args)

    def begun() -> tuple[str, str] | None:
        for name, row in runs(jeeves.state_dir) if (jeeves.state_dir / "runs").exists() else ():
            started = [each for each in events(jeeves.state_dir, name, row.run_id) if isinstance(each, StageStarted)]
            if row.run_id not in before and len(started) > 1:
                return name, row.run_id
        return None

    found = wait_until(begun)
    assert found is not None
    return process, *found


def end_of_run_after(jeeves: Program, repo: Path, model: Path, number: int) -> tuple[int, bool, str | None]:
    """Asks, sends a signal; the exit status of the command, and whether and how the run ended."""
    process, _, run_id = asking(jeeves, repo, model)
    process.send_signal(number)
    process.communicate(timeout=60)
    ((_, row),) = runs(jeeves.state_dir)
    assert row.run_id == run_id
    return process.returncode, row.finished, row.terminal_reason


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_caller_who_leaves_has_the_run_cancelled(
    jeeves: Program, repo: Path, silent_model: Path, number: int, status: int
) -> None:
    assert end_of_run_after(jeeves, repo, silent_model, number) == (status, True, "user_cancelled")


@pytest.mark.ray
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_caller_who_leaves_has_the_run_of_a_system_of_its_own_cancelled(
    ray_jeeves: Program, repo: Path, silent_model: Path, number: int, status: int
) -> None:
    assert end_of_run_after(ray_jeeves, repo, silent_model, number) == (status, True, "user_cancelled")


def test_a_living_process_owns_its_run_and_a_killed_one_leaves_it_open(
    jeeves: Program, repo: Path, silent_model: Path
) -> None:
    first, first_log, first_run = asking(jeeves, repo, silent_model)
    second, second_log, _ = asking(jeeves, repo, silent_model, "--wait")
    assert (first_log, second_log) == ("local", "local-2")
    first.kill()
    first.communicate()
    log = open_run_log(StoreOptions(folder=str(jeeves.state_dir)), "local", readonly=True)
    wait_until(lambda: log.lease(SystemClock().now_ms()) is None, 20)
    assert [row.run_id for row in log.unfinished()] == [first_run]
    log.close()
    living = open_run_log(StoreOptions(folder=str(jeeves.state_dir)), "local-2", readonly=True)
    assert living.lease(SystemClock().now_ms()) is not None
    (kept,) = living.unfinished()
    (asked,) = [each for each in events(jeeves.state_dir, "local-2", kept.run_id) if isinstance(each, RunRequested)]
    assert asked.request.is_durable
    living.close()
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=60)


@pytest.mark.ray
def test_the_warm_system_adopts_the_run_of_a_killed_question_and_ends_it(
    jeeves: Program, repo: Path, silent_model: Path
) -> None:
    process, _, run_id = asking(jeeves, repo, silent_model)
    process.kill()
    process.communicate()
    warm = {"JEEVES_RAY__MODE": "local"}
    try:
        jeeves.run("up", env=warm).answers()
        wait_until(lambda: all(row.finished for _, row in runs(jeeves.state_dir)), 60)
        shown = jeeves.run("runs", "show", run_id, env=warm).answers().document
        assert (shown["terminal_reason"], shown["lifecycle"]) == ("completed", "terminated")
    finally:
        jeeves.run("down", env=warm)
