"""Several systems on one cluster that stays: each is found by its name, and ended without the others."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.settings import RaySettings
from tests.doors.program import Program, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(600)]

PATIENCE_S = 240.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A cluster that outlives all commands: the settings and variables with which it is joined."""
    from actors.cluster import start_local

    with start_local(RaySettings(), tmp_path_factory.mktemp("cluster")) as started:
        yield {
            "JEEVES_RAY__MODE": "attach",
            "JEEVES_RAY__ADDRESS": started.address,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(started.token_path),
        }


def namespaces() -> set[str]:
    """The namespaces of the actors on the cluster that are Jeeves' own."""
    import ray

    there = ray.util.list_named_actors(all_namespaces=True)
    return {entry["namespace"] for entry in there if entry["namespace"].startswith("jeeves")}


def listed(program: Program) -> list[dict[str, Any]]:
    """The runs that a program lists."""
    runs: list[dict[str, Any]] = json.loads(program.run("runs", "list", "--json").answers().out)
    return runs


def test_systems_share_a_cluster_and_each_is_found_and_ended_by_its_name(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    repo = write_files(tmp_path / "repo", FILES)
    jeeves = Program(tmp_path / "state", **cluster)
    for name in ("a", "b"):
        jeeves.run("up", "--system", name, timeout_s=PATIENCE_S).answers()
    assert namespaces() == {"jeeves-a", "jeeves-b"}
    told = jeeves.run("status", "--system", "a", "--json").answers().document
    pid = told["pid"]
    assert (set(told["systems"]), told["systems"]["a"]) == ({"a", "b"}, pid)
    jeeves.ask(QUESTION, repo, "--system", "b").answers()

    elsewhere = Program(tmp_path / "elsewhere", **cluster)
    refused = elsewhere.run("up", "--system", "a", timeout_s=PATIENCE_S)
    refused.complains(1, "system named 'a' runs on this cluster already", "jeeves down --system a", "--system")
    # A question of other settings gets a system of its own beside them.
    elsewhere.ask(QUESTION, repo, "--system", "a", timeout_s=PATIENCE_S).answers()
    wait_until(lambda: namespaces() == {"jeeves-a", "jeeves-b"}, 60)
    ours, theirs = ({run["run_id"] for run in listed(program)} for program in (jeeves, elsewhere))
    assert ours and theirs and ours.isdisjoint(theirs)

    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: jeeves.run("status", "--system", "a").status == 1)
    left = jeeves.run("status", "--system", "a")
    assert left.out.startswith("not up here, but on the cluster: ")
    assert "a (on the cluster)" in left.out
    jeeves.ask(QUESTION, repo, "--system", "a", timeout_s=PATIENCE_S).answers()
    ended = jeeves.run("down", "--system", "a", timeout_s=PATIENCE_S).answers()
    assert ended.out.startswith("down: system a on ")
    wait_until(lambda: namespaces() == {"jeeves-b"}, 60)
    jeeves.ask(QUESTION, repo, "--system", "b").answers()
    jeeves.run("down", "--system", "b", timeout_s=PATIENCE_S).answers()
    wait_until(lambda: namespaces() == set(), 60)


MODELS = """
deployments: {main: {backend: vllm, model: tiny, accelerator: cpu, max_model_len: 8192}}
roles: {default: {deployment: main}}
"""


@pytest.fixture
def applications(cluster: dict[str, str]) -> Iterator[Callable[[], set[str]]]:
    """What Ray Serve runs: a model as `jeeves serve` deploys it, though without an engine, and somebody's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own, at import
        from ray import serve as ray_serve

    class Anything:
        pass

    ray_serve.start(proxy_location="Disabled")
    deployment = ray_serve.deployment(ray_actor_options={"num_cpus": 0})(Anything)
    for name in ("model-main", "model-of-somebody"):
        ray_serve.run(deployment.bind(), name=name, route_prefix=None)
    yield lambda: set(ray_serve.status().applications)
    stop: Callable[[], None] = ray_serve.shutdown
    stop()


def test_the_last_system_ends_the_models_of_its_settings_and_nobody_elses(
    cluster: dict[str, str], tmp_path: Path, applications: Callable[[], set[str]]
) -> None:
    (tmp_path / "models.yaml").write_text(MODELS, encoding="utf-8")
    jeeves = Program(tmp_path / "state", **cluster, JEEVES_MODELS__FILE=str(tmp_path / "models.yaml"))
    for name in ("m", "n"):
        jeeves.run("up", "--system", name, timeout_s=PATIENCE_S).answers()
    jeeves.run("down", "--system", "m", timeout_s=PATIENCE_S).answers()
    assert applications() == {"model-main", "model-of-somebody"}
    jeeves.run("down", "--system", "n", timeout_s=PATIENCE_S).answers()
    assert applications() == {"model-of-somebody"}


def test_the_models_of_a_system_whose_process_was_killed_end_with_its_actors(
    cluster: dict[str, str], tmp_path: Path, applications: Callable[[], set[str]]
) -> None:
    (tmp_path / "models.yaml").write_text(MODELS, encoding="utf-8")
    jeeves = Program(tmp_path / "state", **cluster, JEEVES_MODELS__FILE=str(tmp_path / "models.yaml"))
    jeeves.run("up", "--system", "m", timeout_s=PATIENCE_S).answers()
    os.kill(jeeves.run("status", "--system", "m", "--json").answers().document["pid"], signal.SIGKILL)
    wait_until(lambda: jeeves.run("status", "--system", "m").status == 1)
    jeeves.run("down", "--system", "m", timeout_s=PATIENCE_S).answers()
    assert applications() == {"model-of-somebody"}


def test_what_cannot_be_a_name_is_refused(jeeves: Program) -> None:
    jeeves.run("status", "--system", "../a").complains(2, "'../a' cannot be the name of a system")
    jeeves.run("status", env={"JEEVES_SYSTEM": "A"}).complains(2, "JEEVES_SYSTEM")
