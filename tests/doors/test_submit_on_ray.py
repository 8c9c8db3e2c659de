"""A batch as a job of a real Ray cluster: submitted twice, stopped half-way, and submitted again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.program import TREE, WITHOUT_VECTORS, Program, wait_until

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

LINES = 240


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def job_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the job API of a head node."""
    port, folder = free_port(), tmp_path_factory.mktemp("r")
    options = ["--port", str(free_port()), "--dashboard-port", str(port), "--dashboard-host", "127.0.0.1"]
    sizes = ["--num-cpus", "2", "--object-store-memory", "100000000", "--temp-dir", str(folder)]
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    with (folder.parent / "ray.log").open("wb") as log:
        head = subprocess.Popen(
            [*command, *options, *sizes], stdout=log, stderr=log, env=environment, start_new_session=True
        )
        yield f"http://127.0.0.1:{port}"
        os.killpg(head.pid, signal.SIGTERM)
        try:
            head.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(head.pid, signal.SIGKILL)
            head.wait()


def test_a_job_submitted_twice_and_stopped_half_way_answers_each_line_once(
    job_api: str, ray_jeeves: Program, repo: Path, tmp_path: Path
) -> None:
    lines = [{"id": f"q{n}", "question": f"Where are letters sorted? {n}", "repo": str(repo)} for n in range(LINES)]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    variables = {**TREE, **WITHOUT_VECTORS, "JEEVES_STATE_DIR": str(tmp_path / "of_jobs")}
    options = ["--address", job_api, "--python", sys.executable]
    options += [part for name, value in variables.items() for part in ("--env", f"{name}={value}")]
    work = [str(source), "--out", str(out), "--concurrency", "1"]

    def submit(*more: str) -> str:
        done = ray_jeeves.run("submit", "batch", *options, *more, *work, timeout_s=400)
        assert done.status == 0, done.err
        return done.err

    wait_until(lambda: ray_jeeves.run("submit", "list", "--address", job_api).status == 0, timeout_s=120)
    told = submit("--no-follow")
    assert "is submitted" in told
    job = told.split()[1]
    assert "is under way already" in submit("--no-follow")
    wait_until(lambda: out.is_file() and out.read_bytes().count(b"\n") >= 2, timeout_s=240)
    assert ray_jeeves.run("submit", "stop", job, "--address", job_api).out == f"job {job} is being stopped\n"
    assert "STOPPED" in wait_for_end(ray_jeeves, job_api)
    kept = out.read_text().splitlines()
    assert 2 <= len(kept) < LINES
    assert "succeeded" in submit()
    after = out.read_text().splitlines()
    assert after[: len(kept)] == kept
    assert Counter(json.loads(line)["id"] for line in after) == Counter(line["id"] for line in lines)


def wait_for_end(jeeves: Program, address: str) -> str:
    """What the list of jobs says once none is under way."""
    listed: list[str] = []

    def has_ended() -> bool:
        listed.append(jeeves.run("submit", "list", "--address", address).out)
        return "RUNNING" not in listed[-1]

    wait_until(has_ended, timeout_s=60)
    return listed[-1]
