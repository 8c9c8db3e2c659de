"""The only head node of an attached cluster is killed with a question under way: its run ends on the next cluster."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.doors.program import TREE, WITHOUT_VECTORS, Program, wait_until
from tests.doors.ray_head import RayHead

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

GONE = "nothing answers at the Ray address"
QUESTION = "Where are letters sorted?"
# Ray's own patience with a head that is gone, and what a busy machine adds to it.
TOLD_WITHIN_S = 100.0


def attached_to(head: RayHead) -> dict[str, str]:
    address = f"127.0.0.1:{head.gcs_port}"
    attached = {"JEEVES_RAY__MODE": "attach", "JEEVES_RAY__ADDRESS": address, "RAY_AUTH_MODE": "disabled"}
    return {**TREE, **WITHOUT_VECTORS, **attached}


def test_a_run_whose_head_node_was_killed_ends_once_on_the_next_cluster(
    ray_jeeves: Program, repo: Path, tmp_path: Path
) -> None:
    state = {"JEEVES_STATE_DIR": str(tmp_path / "state")}

    def runs() -> list[str]:
        return ray_jeeves.run("runs", "list", env=state).out.splitlines()

    with RayHead({**os.environ, **TREE}) as head:
        env = attached_to(head) | state
        assert ray_jeeves.run("up", env=env, timeout_s=200).status == 0
        # A question that needs a person leaves a run that is not over.
        asked = ray_jeeves.run("ask", "why?", "--repo", str(repo), "--wait", env=env, timeout_s=100)
        assert asked.status == 4, asked.err
        process = ray_jeeves.start("ask", QUESTION, "--repo", str(repo), env=env)
        wait_until(lambda: len(runs()) == 2, timeout_s=60)
        os.killpg(head.pid, signal.SIGKILL)
        out, err = process.communicate(timeout=TOLD_WITHIN_S)
        assert process.returncode == 0 or "ask again" in err, (out, err)
        # Until Ray gives up, processes go on with what needs no head.
        ask_again = ("ask", QUESTION, "--repo", str(repo))
        wait_until(lambda: GONE in ray_jeeves.run(*ask_again, env=env).err, timeout_s=TOLD_WITHIN_S)
        before = runs()
    with RayHead({**os.environ, **TREE}) as head:
        env = attached_to(head) | state
        assert ray_jeeves.run("up", env=env, timeout_s=200).status == 0
        wait_until(lambda: sum("completed" in line for line in runs()) == len(before) - 1, timeout_s=60)
        (waiting,) = (line.split()[0] for line in runs() if "completed" not in line)
        resumed = ray_jeeves.run("runs", "resume", waiting, "--text", "letters", env=env, timeout_s=100)
        assert resumed.status == 0, resumed.err
        assert len(runs()) == len(before)
        assert all("completed" in line for line in runs())
        assert ray_jeeves.run("down", env=env).status == 0
