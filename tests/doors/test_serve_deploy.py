"""`serve deploy` as docs/guides/deploy.md has it, with the shipped Serve configs, on a real cluster of this machine."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.doors.page_blocks import PageShell, shell_blocks
from tests.doors.program import TREE, UNHURRIED, WITHOUT_VECTORS, Program, wait_until
from tests.doors.ray_head import RayHead
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

SERVE_CONFIG = Path("configs/serve/jeeves.yaml")
(DEPLOY,) = [block for block in shell_blocks("guides/deploy.md") if block.startswith("serve deploy")]
PROGRAM = [sys.executable, "-m", "ray.serve.scripts"]


class Deployed:
    """A head node, and the service that is deployed there."""

    def __init__(self, head: RayHead, url: str, token: str) -> None:
        self.head, self.url, self.token = head, url, token

    def serve(self, *arguments: str) -> str:
        """What the `serve` program prints."""
        done = subprocess.run(
            [*PROGRAM, *arguments], env=self.head.environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(
        self, path: str, body: dict[str, Any] | None = None, token: str | None = None, key: str | None = None
    ) -> tuple[int, Any]:
        """The status and the document that a route answers with; 0 if the connection broke."""
        headers = {"content-type": "application/json", "authorization": f"Bearer {token or self.token}"}
        if key is not None:
            headers["idempotency-key"] = key
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, None
        except (OSError, http.client.HTTPException):
            return 0, None


@contextlib.contextmanager
def deployed_twice(ray_jeeves: Program, repo: Path, tmp_path: Path) -> Iterator[Deployed]:
    """The shipped config with both of its replicas, on a head node of its own."""
    state = {"JEEVES_STATE_DIR": str(tmp_path / "state")}
    told = yaml.safe_load(SERVE_CONFIG.read_text(encoding="utf-8"))
    told["http_options"]["port"] = port = free_port()
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"http:\n  repositories: {{letters: {repo}}}\n", encoding="utf-8")
    told["applications"][0]["args"]["config"] = str(settings)
    config = tmp_path / "serve.yaml"
    config.write_text(yaml.safe_dump(told), encoding="utf-8")
    made = ray_jeeves.run("token", "create", "ann", "--scopes", "ask,watch", env=state)
    assert made.status == 0, made.err
    with RayHead({**os.environ, **TREE, **WITHOUT_VECTORS, **UNHURRIED, **state}) as head:
        deployed = Deployed(head, f"http://127.0.0.1:{port}", made.out.strip())
        page = PageShell(tmp_path, {str(SERVE_CONFIG): str(config)}, **head.environment)
        assert "jeeves" in page.run(DEPLOY, RAY_DASHBOARD_ADDRESS=head.address)
        wait_until(lambda: deployed.ask("/ready")[0] == 200, timeout_s=200)
        wait_until(lambda: "RUNNING: 2" in deployed.serve("status", "-a", head.address), timeout_s=120)
        yield deployed


def replicas_below(pid: int) -> list[int]:
    """The processes of replicas among those that a process started, directly or not."""
    parents, names = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended while it was looked at
            parents[int(entry.name)] = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            names[int(entry.name)] = (entry / "cmdline").read_text(encoding="utf-8")

    def is_below(one: int) -> bool:
        while one in parents and one != pid:
            one = parents[one]
        return one == pid

    return [one for one, name in names.items() if name.startswith("ray::ServeReplica:") and is_below(one)]


def test_a_killed_replica_costs_no_answer_and_no_second_run(ray_jeeves: Program, repo: Path, tmp_path: Path) -> None:
    questions = [f"Where are letters sorted? {number}" for number in range(12)]
    with deployed_twice(ray_jeeves, repo, tmp_path) as deployed:

        def asked(question: str) -> tuple[int, Any]:
            return deployed.ask("/api/v1/chat/messages", {"message": question}, key=question)

        with ThreadPoolExecutor(len(questions)) as pool:
            first = [pool.submit(asked, question) for question in questions]
            wait_until(lambda: (deployed.ask("/ready")[1] or {}).get("runs_under_way", 0) > 0, timeout_s=60)
            killed, *others = replicas_below(deployed.head.pid)
            assert len(others) == 1
            os.kill(killed, signal.SIGKILL)
            statuses = [future.result()[0] for future in first]
            answers = list(pool.map(lambda each: wait_until(lambda: told_by(asked(each)), timeout_s=200), questions))
        assert any(status != 200 for status in statuses), "no question was in the hands of the replica that was killed"
        assert [answer["question"] for answer in answers] == questions
        status, listed = deployed.ask("/api/v1/runs?limit=100")
        assert status == 200
        assert sorted(run["run_id"] for run in listed) == sorted(answer["run_id"] for answer in answers)
        wait_until(lambda: "RUNNING: 2" in deployed.serve("status", "-a", deployed.head.address), timeout_s=120)


def told_by(answer: tuple[int, Any]) -> Any:
    """The document of an answer, None of a refusal or a broken connection."""
    return answer[1] if answer[0] == 200 else None


def test_the_shipped_config_deploys_a_service_that_answers_by_every_replica(
    ray_jeeves: Program, repo: Path, tmp_path: Path
) -> None:
    with deployed_twice(ray_jeeves, repo, tmp_path) as deployed:
        status, document = deployed.ask("/api/v1/chat/messages", {"message": "Where are letters sorted?"})
        assert status == 200
        assert document["citations"]
        assert deployed.ask("/api/v1/runs", token="no-token")[0] == 401
        status, again = deployed.ask(f"/api/v1/runs/{document['run_id']}")
        assert (status, again["run_id"]) == (200, document["run_id"])


GPU_FILES = ("vllm_h100", "vllm_h100_tp2", "vllm_h100_tp4", "vllm_h100_tp8", "vllm_h100_replicas")
PLACE = """
import json, ray, sys
from pathlib import Path
from ray.util.placement_group import placement_group, remove_placement_group
from runtime.llm.model_file import load_models
from serve.contributions import providers
from serve.llm.resources import lacking
from serve.llm.vllm_provider import VllmDeployment, bundles
ray.init(address=sys.argv[1], log_to_driver=False)
placed = {}
for name in sys.argv[2:]:
    models = load_models(Path(f"configs/models/{name}.yaml"), contributed=providers())
    assert lacking(models, ray.cluster_resources()) == [], name
    asked = models.used_of(VllmDeployment).values()
    groups = [placement_group(bundles(each), strategy="PACK") for each in asked for _ in range(each.replicas.min)]
    ray.get([group.ready() for group in groups], timeout=60)
    placed[name] = sum(bundle.get("GPU", 0) for group in groups for bundle in group.bundle_specs)
    for group in groups:
        remove_placement_group(group)
print(json.dumps(placed))
"""


def test_the_model_files_find_their_place_on_a_cluster_that_claims_eight_gpus() -> None:
    claims = ("--num-gpus", "8", "--num-cpus", "64", "--resources", '{"accelerator_type:H100": 1}')
    with RayHead({**os.environ, **TREE}, *claims) as head:
        command = [sys.executable, "-c", PLACE, f"127.0.0.1:{head.gcs_port}", *GPU_FILES]
        done = subprocess.run(command, env=head.environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    placed = json.loads(done.stdout.splitlines()[-1])
    assert [placed[name] for name in GPU_FILES[:4]] == [1, 2, 4, 8]
    assert placed["vllm_h100_replicas"] >= 1
