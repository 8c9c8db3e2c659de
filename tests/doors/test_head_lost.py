"""The only head node of an attached cluster is killed with a question under way: its run ends on the next cluster.

So with the store in files, and on a PostgreSQL server, which nothing tells that its clients are gone for good.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import ray

from tests.doors.program import TREE, WITHOUT_VECTORS, Program, wait_until
from tests.doors.ray_head import RayHead
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

GONE = "nothing answers at the Ray address"
QUESTION = "Where are letters sorted?"
# Ray's own patience with a head that is gone, and what a busy machine adds to it.
TOLD_WITHIN_S = 100.0


def attached_to(head: RayHead) -> dict[str, str]:
    address = f"127.0.0.1:{head.gcs_port}"
    attached = {"JEEVES_RAY__MODE": "attach", "JEEVES_RAY__ADDRESS": address, "RAY_AUTH_MODE": "disabled"}
    return {**TREE, **WITHOUT_VECTORS, **attached}


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The settings of a store, each kind once; what is made on the server is dropped."""
    if request.param == "sqlite":
        yield {}
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    yield {"JEEVES_STORE__BACKEND": "postgres", "JEEVES_STORE__DSN": server.dsn}
    with psycopg.connect(server.dsn, autocommit=True) as db:
        for (name,) in db.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'jeeves_')").fetchall():
            db.execute(f'DROP SCHEMA "{name}" CASCADE')


def ends_of(run_id: str, program: Program, env: dict[str, str]) -> int:
    """How often a run has ended, as its log has it."""
    told = program.run("runs", "watch", run_id, "--json", env=env)
    return sum(json.loads(line)["type"] == "run.finished" for line in told.out.splitlines())


def test_a_run_whose_head_node_was_killed_ends_once_on_the_next_cluster(
    ray_jeeves: Program, repo: Path, tmp_path: Path, store: dict[str, str]
) -> None:
    state = {"JEEVES_STATE_DIR": str(tmp_path / "state"), **store}

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
    assert [ends_of(line.split()[0], ray_jeeves, TREE | state) for line in runs()] == [1] * len(before)


VERSIONS = """
import json, sys
from ray._common.usage.usage_constants import CLUSTER_METADATA_KEY
from ray._private.ray_constants import KV_NAMESPACE_CLUSTER
from ray._raylet import GcsClient
told = json.dumps({"ray_version": "2.59.0", "python_version": "3.11.2"}).encode()
GcsClient(address=sys.argv[1]).internal_kv_put(CLUSTER_METADATA_KEY, told, True, KV_NAMESPACE_CLUSTER)
"""


def test_a_cluster_of_another_ray_is_refused_with_its_version_and_the_one_that_is_needed(
    ray_jeeves: Program, repo: Path, tmp_path: Path
) -> None:
    with RayHead({**os.environ, **TREE}) as head:
        command = [sys.executable, "-c", VERSIONS, f"127.0.0.1:{head.gcs_port}"]
        subprocess.run(command, env=head.environment, check=True, timeout=60)
        env = attached_to(head) | {"JEEVES_STATE_DIR": str(tmp_path / "state")}
        for arguments in (("up",), ("ask", QUESTION, "--repo", str(repo))):
            refused = ray_jeeves.run(*arguments, env=env, timeout_s=100)
            assert refused.status not in (0, 4)
            assert f"it runs Ray 2.59.0 on Python 3.11.2, this process runs Ray {ray.__version__}" in refused.err
            assert "Jeeves works with Ray 2.60.x" in refused.err
            assert "Traceback" not in refused.err
        told = ray_jeeves.run("doctor", env=env)
        assert told.status == 1
        assert (
            "it runs Ray 2.59.0 on Python 3.11.2" in told.out and "install the same versions on both sides" in told.out
        )
