"""The gRPC door on Ray Serve: a real proxy, a real replica, and a client of docs/guides/grpc.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from serve.grpc.statuses import DETAILS_KEY
from serve.grpc.v1 import jeeves_pb2 as pb
from tests.doors.grpc_site import STUBS
from tests.doors.page_blocks import PageShell, shell_blocks
from tests.doors.program import TREE, UNHURRIED, WITHOUT_VECTORS, Program, wait_until
from tests.doors.ray_head import RayHead
from tests.doors.sample_repo import FILES, write_files
from tests.doors.test_serve_deploy import replicas_below
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

SERVE_CONFIG = Path("configs/serve/jeeves_grpc.yaml")
DEPLOY, _ = shell_blocks("guides/grpc.md")
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "grpc.md"
OPTIONS = [("grpc.enable_http_proxy", 0), ("grpc.enable_retries", 0)]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Code = grpc.StatusCode


class Door:
    """A service with one replica that was deployed on a head node of its own, and a client of its proxy."""

    def __init__(self, head: RayHead, config: Path, token: str) -> None:
        self.head, self.config, self.token = head, config, token
        told = yaml.safe_load(config.read_text(encoding="utf-8"))
        self.http_port, self.port = told["http_options"]["port"], told["grpc_options"]["port"]
        self.metadata = [("authorization", f"Bearer {token}"), ("application", "jeeves")]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}", options=OPTIONS)
        self.stub: Any = STUBS.JeevesStub(self.channel)

    def call(self, name: str, request: Any, timeout_s: float = 120) -> Any:
        return getattr(self.stub, name)(request, metadata=self.metadata, timeout=timeout_s)

    def refused(self, name: str, request: Any, metadata: Any = None) -> tuple[grpc.StatusCode, str]:
        """The status of a failed call, and the code of its problem."""
        with pytest.raises(grpc.RpcError) as caught:
            call = getattr(self.stub, name)(request, metadata=self.metadata if metadata is None else metadata)
            list(call)
        trailing = dict(caught.value.trailing_metadata() or ())
        status = pb.Status.FromString(trailing.get(DETAILS_KEY, b""))
        problem = pb.Problem()
        for detail in status.details:
            detail.Unpack(problem)
        return caught.value.code(), problem.code

    def is_up(self) -> bool:
        try:
            self.call("List", pb.ListRequest())
        except grpc.RpcError:
            return False
        return True

    def runs(self) -> list[Any]:
        found: list[Any] = json.loads(self.call("List", pb.ListRequest(limit=500)).runs_json)
        return found


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("grpc")
    state = {"JEEVES_STATE_DIR": str(folder / "state")}
    told = yaml.safe_load(SERVE_CONFIG.read_text(encoding="utf-8"))
    told["http_options"]["port"], told["grpc_options"]["port"] = free_port(), free_port()
    settings = folder / "settings.yaml"
    repo = write_files(folder / "letters", FILES)
    settings.write_text(f"http:\n  repositories: {{letters: {repo}}}\n", encoding="utf-8")
    told["applications"][0]["args"]["config"] = str(settings)
    told["applications"][0]["deployments"][0]["num_replicas"] = 1
    config = folder / "serve.yaml"
    config.write_text(yaml.safe_dump(told), encoding="utf-8")
    made = Program(folder / "state").run("token", "create", "ann", "--scopes", "ask,watch", env=state)
    with RayHead({**os.environ, **TREE, **WITHOUT_VECTORS, **UNHURRIED, **state}) as head:
        wait_until(lambda: deploys(head, config), timeout_s=180)
        opened = Door(head, config, made.out.strip())
        wait_until(opened.is_up, timeout_s=300)
        yield opened
        opened.channel.close()


def deploys(head: RayHead, config: Path) -> bool:
    """Whether `serve deploy` of the guide was taken; the first one may come before the node's dashboard can take it."""
    page = PageShell(config.parent, {str(SERVE_CONFIG): str(config)}, **head.environment)
    return "taken" in page.run(f"{DEPLOY.strip()} && echo taken || true", RAY_DASHBOARD_ADDRESS=head.address)


def question(text: str, key: str) -> Any:
    return pb.RunRequest(message=text, idempotency_key=key)


def test_the_client_of_the_guide_prints_what_it_says(door: Door) -> None:
    blocks = _BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    ((_, script),) = [block for block in blocks if block[0] == "python"]
    ((_, told),) = [block for block in blocks if block[0] == "text"]
    script = script.replace("Bearer TOKEN", f"Bearer {door.token}").replace(":9000", f":{door.port}")
    environment = os.environ | TREE | {"no_grpc_proxy": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.stdout, done.returncode) == (told, 0), done.stderr


def test_a_refusal_keeps_its_details_through_the_proxy(door: Door) -> None:
    for name, request in (("Get", pb.GetRequest(run_id="r-none")), ("Stream", pb.StreamRequest(run_id="r-none"))):
        assert door.refused(name, request) == (Code.NOT_FOUND, "unknown_name")
        assert door.refused(name, request, []) == (Code.UNAUTHENTICATED, "no_token")
        wrong = [("authorization", "Bearer jeeves_no_token")]
        assert door.refused(name, request, wrong) == (Code.UNAUTHENTICATED, "invalid_token")


def test_a_message_of_10_mb_and_one_with_unknown_fields_are_refused(door: Door) -> None:
    large = pb.RunRequest(message="x" * 10_000_000)
    assert door.refused("Run", large) == (Code.RESOURCE_EXHAUSTED, "body_too_large")
    unknown = pb.RunRequest.FromString(b"\x0a\x01x\xa2\x06\x01y")
    assert door.refused("Run", unknown) == (Code.INVALID_ARGUMENT, "bad_input")
    assert door.is_up()


def test_a_client_that_goes_away_loses_nothing_and_resumes_after_its_last_event(door: Door) -> None:
    start = pb.StreamRequest(start=question("Where are letters sorted? Again", "gone"))
    call = door.call("Stream", start)
    first = next(call).event
    call.cancel()
    with pytest.raises(grpc.RpcError) as late:
        door.call("Run", question("Where are letters sorted? Late", "late"), timeout_s=0.05)
    assert late.value.code() == Code.DEADLINE_EXCEEDED
    *events, last = door.call("Stream", pb.StreamRequest(start=start.start, after_seq=first.seq))
    numbers = [part.event.seq for part in events if part.event.seq]
    assert numbers == list(range(first.seq + 1, first.seq + 1 + len(numbers)))
    assert last.run.terminal_reason == "completed"
    end = events[-1].event.seq
    at_end = door.call("Stream", pb.StreamRequest(run_id=last.run.run_id, after_seq=end))
    assert [part.WhichOneof("part") for part in at_end] == ["run"]
    beyond = pb.StreamRequest(run_id=last.run.run_id, after_seq=end + 1)
    assert door.refused("Stream", beyond) == (Code.INVALID_ARGUMENT, "bad_input")
    assert door.call("Run", question("Where are letters sorted? Late", "late")).terminal_reason == "completed"
    assert len({run["run_id"] for run in door.runs()}) == len(door.runs())


def test_the_kernel_calls_run_nothing(door: Door) -> None:
    before = len(door.runs())
    request = json.dumps({"pipeline": "code_analysis", "raw_input": "Where?", "user_id": "u"})
    envelope = door.call("CreateEnvelope", pb.Document(json=request))
    assert json.loads(door.call("CanContinue", envelope).json)["can_continue"] is True
    assert json.loads(door.call("Validate", envelope).json)["valid"] is True
    assert len(door.runs()) == before


def test_a_killed_replica_costs_a_stream_its_connection_and_no_event(door: Door) -> None:
    start = pb.StreamRequest(start=question("Where are letters sorted? Killed", "killed"))
    call = door.call("Stream", start)
    seen = [next(call).event.seq]
    (replica,) = replicas_below(door.head.pid)
    os.kill(replica, signal.SIGKILL)
    try:
        seen += [part.event.seq for part in call]
    except grpc.RpcError as error:
        assert error.code() in {Code.INTERNAL, Code.UNAVAILABLE}
    wait_until(door.is_up, timeout_s=200)
    last_seq = max(seen)
    *events, last = door.call("Stream", pb.StreamRequest(start=start.start, after_seq=last_seq))
    numbers = [part.event.seq for part in events if part.event.seq]
    assert numbers == list(range(last_seq + 1, last_seq + 1 + len(numbers)))
    assert last.run.terminal_reason == "completed"


def http_stream(door: Door, path: str) -> str:
    """All of a stream of server-sent events; what has come after three minutes, if it is longer."""
    headers = {"authorization": f"Bearer {door.token}", "accept": "text/event-stream"}
    request = urllib.request.Request(f"http://127.0.0.1:{door.http_port}{path}", headers=headers)
    gives_up_s, lines = time.monotonic() + 180, []
    with urllib.request.urlopen(request, timeout=60) as answer:
        while (line := answer.readline()) and time.monotonic() < gives_up_s:
            lines.append(line.decode())
    return "".join(lines)


def ended(call: Any) -> tuple[list[Any], Any]:
    """The parts of a stream, and the error that ends it."""
    parts = []
    with pytest.raises(grpc.RpcError) as caught:
        for part in call:
            parts.append(part)
    return parts, caught.value


def test_a_replica_that_is_replaced_ends_its_streams_where_the_next_one_resumes(door: Door) -> None:
    # It has nothing to look for: the run waits for a person.
    asked = pb.RunRequest(message="Where is it?", wait=True, idempotency_key="replaced")
    waiting = door.call("Run", asked)
    assert waiting.lifecycle == "waiting"
    told = yaml.safe_load(door.config.read_text(encoding="utf-8"))
    arguments = told["applications"][0]["args"]
    arguments["config"] = str(shutil.copy(arguments["config"], door.config.with_name("changed.yaml")))
    door.config.write_text(yaml.safe_dump(told), encoding="utf-8")
    (before,) = replicas_below(door.head.pid)
    with ThreadPoolExecutor(2) as pool:
        call = door.call("Stream", pb.StreamRequest(run_id=waiting.run_id), timeout_s=200)
        first = next(call)
        by_grpc = pool.submit(ended, call)
        by_http = pool.submit(http_stream, door, f"/api/v1/runs/{waiting.run_id}/events")
        assert deploys(door.head, door.config)
        parts, error = by_grpc.result(timeout=200)
        shown = by_http.result(timeout=60)
    assert error.code() == Code.UNAVAILABLE
    assert parts[-1].problem.code == "shutting_down"
    assert json.loads(parts[-1].problem.values_json)["retry_after_s"] > 0
    assert '"code": "shutting_down"' in shown[shown.rindex("event: error") :]
    wait_until(lambda: replicas_below(door.head.pid) not in ([before], []) and door.is_up(), timeout_s=200)
    seen = [part.event.seq for part in [first, *parts] if part.event.seq]
    resumed = door.call("Stream", pb.StreamRequest(run_id=waiting.run_id, after_seq=seen[-1]), timeout_s=200)
    following = ThreadPoolExecutor(1).submit(list, resumed)
    door.call("Cancel", pb.CancelRequest(run_id=waiting.run_id))
    *events, last = following.result(timeout=200)
    numbers = [part.event.seq for part in events if part.event.seq]
    assert numbers == list(range(seen[-1] + 1, seen[-1] + 1 + len(numbers)))
    assert last.run.terminal_reason == "user_cancelled"
