"""`jeeves serve`: the HTTP service, over real connections."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.doors.evidence_checker import document_faults
from tests.doors.program import Program, listening_hosts, processes_that_mention, snapshot, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.free_ports import free_port

pytestmark = pytest.mark.ray

# 127.0.0.1, the same written as an IPv6 address, and ::1, as Linux lists them.
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
MESSAGES = "/api/v1/chat/messages"


class Answer:
    """An HTTP response, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.type = response.headers.get_content_type()
        self.text = response.read().decode()

    @property
    def json(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.text)
        return read

    def is_problem(self, status: int, code: str, *words: str) -> None:
        """Checks a problem document as RFC 9457 has it."""
        assert (self.status, self.type) == (status, "application/problem+json"), self.text
        assert set(self.json) - {"run_id", "values"} == {"type", "title", "status", "code", "detail"}
        assert (self.json["status"], self.json["code"]) == (status, code), self.text
        for word in words:
            assert word in self.json["detail"], self.text


class Service:
    """A running service."""

    def __init__(self, program: Program, repos: list[Path], port: int, *options: str) -> None:
        self.program = program
        self.repos = repos
        self.port = port
        self.told = ""
        self.starting = ""
        arguments = [argument for repo in repos for argument in ("--repo", str(repo))]
        self.process = program.start("serve", "--port", str(port), *arguments, *options)

    def wait_until_it_listens(self) -> str:
        assert self.process.stdout is not None
        line: str = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=30)
        return line

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, **message: Any) -> Answer:
        return self.call("POST", MESSAGES, json.dumps(message).encode(), {"Content-Type": "application/json"})

    def stop(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        self.starting, last, rest = err.partition(f"opening port {self.port}\n")
        assert last, err
        return self.process.returncode, out, rest


@contextmanager
def until_stopped(service: Service) -> Iterator[Service]:
    """Give a service that listens to a block of tests; it must stop in silence behind them."""
    try:
        service.told = service.wait_until_it_listens()
        yield service
        assert service.stop() == (0, "", "")
        logs, cluster, agents = service.starting.splitlines()
        assert re.fullmatch(r"log: \S+/logs/cli\.log; logs of agents: below \S+/ray", logs)
        assert (cluster, agents.partition(" of ")[0]) == ("starting the cluster", "starting the agents")
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.communicate()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("http")
    repos = [write_files(folder / name, FILES) for name in ("repo", "other")]
    with until_stopped(Service(Program(folder / "state"), repos, free_port())) as running:
        yield running
    wait_until(lambda: not processes_that_mention(str(folder)), 20)


@pytest.mark.long
def test_the_answer_is_the_document_that_ask_gives(service: Service) -> None:
    before = snapshot(service.repos[0])
    answer = service.post(message=QUESTION)
    assert (answer.status, answer.type) == (200, "application/json")
    assert document_faults(answer.json, service.repos[0]) == []
    env = {"JEEVES_RAY__MODE": "in_process"}
    asked = service.program.ask(QUESTION, service.repos[0], env=env).answers().document
    answered = answer.json
    assert (answered["repo"], asked["repo"]) == ("repo", str(service.repos[0]))
    for document in (answered, asked):
        del document["run_id"], document["usage"]["duration_ms"], document["repo"]
    assert answered == asked
    assert snapshot(service.repos[0]) == before


def test_the_line_that_says_it_listens_has_the_address_of_the_dashboard(service: Service) -> None:
    at = f"http://127.0.0.1:{service.port}"
    listening, dashboard, stopping = service.told.rstrip("\n").split("; ")
    assert (listening, stopping) == (f"listening on {at}", "stop with Ctrl-C")
    page = service.call("GET", dashboard.removeprefix(f"dashboard: {at}"))
    assert (page.status, page.type) == (200, "text/html")


def test_any_registered_repository_may_be_asked_about(service: Service) -> None:
    for repo in service.repos:
        document = service.post(message=QUESTION, repo=repo.name, pipeline="code_analysis", session_id="s").json
        assert document["repo"] == repo.name
        assert document_faults(document, repo) == []


def test_a_repository_that_was_not_registered_may_not(service: Service) -> None:
    assert service.post(message=QUESTION, repo="").status == 200
    service.post(message=QUESTION, repo="another").is_problem(404, "unknown_name", "not registered", "repo, other")
    for path in ("/etc", "..", str(service.repos[0])):
        service.post(message=QUESTION, repo=path).is_problem(422, "bad_input", "a name and no path")


def test_no_answer_event_or_error_tells_where_anything_is(service: Service) -> None:
    """Of real runs: an answer, a question that waits, one that was cancelled, and what is refused."""
    asked = service.post(message=QUESTION)
    waiting = service.post(message="why?", wait=True).json["run_id"]
    service.call("POST", f"/api/v1/runs/{waiting}/cancel", b"{}", {"Content-Type": "application/json"})
    paths = ["/ready", "/metrics", "/api/v1/runs", "/api/v1/repositories", "/openapi.json", "/api/v1/runs/unknown"]
    for run_id in (asked.json["run_id"], waiting):
        paths += [f"/api/v1/runs/{run_id}{place}" for place in ("", "/answer", "/events")]
    bodies = {path: service.call("GET", path).text for path in paths} | {"answer": asked.text}
    top = str(service.program.state_dir.parent)
    assert [path for path, body in bodies.items() if top in body or str(Path.home()) in body] == []


def test_limits_are_lowered_for_one_question(service: Service) -> None:
    document = service.post(message=QUESTION, limits={"max_agent_hops": 5}, deadline_s=60).json
    assert document["terminal_reason"] == "max_agent_hops_exceeded"
    assert document["usage"]["hops"] == 5
    assert (document["status"], bool(document["citations"])) == ("answered", True)
    ended_at_once = service.post(message=QUESTION, limits={"max_agent_hops": 2}, deadline_s=60).json
    assert (ended_at_once["bound"], ended_at_once["citations"]) == ("max_agent_hops_exceeded", [])
    assert (ended_at_once["status"], ended_at_once["confidence"]) == ("not_found", 0.0)
    raised = service.post(message=QUESTION, limits={"max_agent_hops": 10_000, "max_stages": 2}).json
    assert raised["terminal_reason"] == "completed"


def test_nothing_found_and_a_question_back_are_answers_too(service: Service) -> None:
    assert service.post(message="What does frobnicate_quux do?").json["citations"] == []
    assert service.post(message="why?").json["terminal_reason"] == "clarification_required"


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"message": "  \n"}, "empty"),
        ({"message": 5}, "message"),
        ({"message": "x" * 100_001}, "100000"),
        ({"message": "x", "colour": "red"}, "colour"),
        ({"message": "x", "limits": {"max_agent_hops": -1}}, "max_agent_hops"),
        ({"message": "x", "limits": {"max_wishes": 3}}, "max_wishes"),
        ({"message": "x", "limits": [1]}, "limits"),
        ({"message": "x", "deadline_s": 0}, "deadline_s"),
        ({"message": "x", "deadline_s": 1e9}, "deadline_s"),
        ({"message": "x", "session_id": ""}, "session"),
        ({"message": "x", "session_id": "a\nb"}, "session"),
        ({"message": "x", "session_id": "s" * 1_000}, "session"),
    ],
)
def test_a_message_that_cannot_be_is_refused(service: Service, message: dict[str, Any], word: str) -> None:
    code = "bad_question" if word in ("empty", "100000") else "bad_input"
    service.post(**message).is_problem(422, code, word)


@pytest.mark.parametrize("message", [{"message": "\ud800"}, {"message": "x", "limits": {"max_agent_hops": 10**30}}])
def test_what_no_store_can_hold_is_no_request(service: Service, message: dict[str, Any]) -> None:
    service.post(**message).is_problem(400, "bad_request")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"message": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_message_is_refused(service: Service, body: bytes) -> None:
    answer = service.call("POST", MESSAGES, body, {"Content-Type": "application/json"})
    assert answer.status in {400, 422}
    answer.is_problem(answer.status, "bad_input" if answer.status == 422 else "bad_request")


def test_an_unknown_pipeline_path_or_method_is_a_problem_too(service: Service) -> None:
    service.post(message="x", pipeline="nonsense").is_problem(404, "unknown_name", "code_analysis")
    service.call("GET", "/nowhere").is_problem(404, "not_found")
    service.call("GET", MESSAGES).is_problem(405, "method_not_allowed")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(service: Service) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": "1000001"}
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as line:
        lines = [
            f"POST {MESSAGES} HTTP/1.1",
            "Host: localhost",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        line.sendall("\r\n".join([*lines, "", "{"]).encode())
        response = http.client.HTTPResponse(line)
        response.begin()
        Answer(response).is_problem(413, "body_too_large", "1000001")


def test_a_body_without_a_length_is_refused(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request("POST", MESSAGES, iter([b"{}"]), {"Content-Type": "application/json"}, encode_chunked=True)
    Answer(connection.getresponse()).is_problem(411, "length_required")
    connection.close()


def test_health_and_readiness(service: Service) -> None:
    assert service.call("GET", "/health").json == {"status": "alive"}
    assert service.call("GET", "/ready").json == {"status": "ready", "runs_under_way": 0}


def test_metrics_count_what_was_answered(service: Service) -> None:
    def counted() -> float:
        text = service.call("GET", "/metrics").text
        prefix = 'orchestrator_requests_total{terminal_reason="completed"} '
        return float(next((line for line in text.splitlines() if line.startswith(prefix)), "x 0").rpartition(" ")[2])

    before = counted()
    service.post(message=QUESTION)
    assert counted() == before + 1
    text = service.call("GET", "/metrics").text
    for name in (
        "orchestrator_inflight_requests 0.0",
        "orchestrator_request_latency_seconds_bucket",
        "jeeves_hops_total",
        "jeeves_bus_up 1.0",
        'jeeves_bus_messages_total{kind="command",outcome="accepted",type="stage.report"}',
        'jeeves_bus_trouble_total{kind="dead_letter"} 0.0',
        'jeeves_bus_endpoints{presence="away"} 0.0',
        "jeeves_bus_parked_frames 0.0",
    ):
        assert name in text


def test_the_description_of_the_service_can_be_read(service: Service) -> None:
    assert MESSAGES in service.call("GET", "/openapi.json").json["paths"]


def test_many_may_ask_at_once(service: Service) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.post(message=QUESTION), range(16)))
    assert [answer.status for answer in answers] == [200] * 16
    assert len({answer.json["run_id"] for answer in answers}) == 16


def test_a_client_that_goes_away_leaves_no_run_behind(service: Service) -> None:
    body = json.dumps({"message": QUESTION}).encode()
    kind = "Content-Type: application/json"
    head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", service.port), timeout=30) as line:
            line.sendall(head.encode() + body)
    wait_until(lambda: service.call("GET", "/ready").json["runs_under_way"] == 0, 30)
    assert service.post(message=QUESTION).status == 200


RUNS = "/api/v1/runs"


def sent(service: Service, path: str, **body: Any) -> Answer:
    return service.call("POST", f"{RUNS}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})


def test_a_run_is_listed_and_shown(service: Service) -> None:
    run_id = service.post(message=QUESTION).json["run_id"]
    listed = json.loads(service.call("GET", f"{RUNS}?limit=5").text)
    assert [(run["pipeline"], run["finished"]) for run in listed if run["run_id"] == run_id] == [
        ("code_analysis", True)
    ]
    assert len(json.loads(service.call("GET", f"{RUNS}?limit=1").text)) == 1
    envelope = service.call("GET", f"{RUNS}/{run_id}").json
    assert (envelope["run_id"], envelope["terminal_reason"]) == (run_id, "completed")


def test_events_come_as_json_and_as_a_stream_that_goes_on_where_it_broke_off(service: Service) -> None:
    run_id = service.post(message=QUESTION).json["run_id"]
    whole = service.call("GET", f"{RUNS}/{run_id}/events").json
    events = whole["events"]
    assert whole["is_over"] is True
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert service.call("GET", f"{RUNS}/{run_id}/events?after=3").json["events"] == events[3:]

    def streamed(path: str, **headers: str) -> list[dict[str, Any]]:
        answer = service.call("GET", path, headers={"Accept": "text/event-stream", **headers})
        assert (answer.status, answer.type) == (200, "text/event-stream")
        parts = [dict(line.split(": ", 1) for line in part.split("\n")) for part in answer.text.split("\n\n") if part]
        read = [json.loads(part["data"]) for part in parts]
        assert [(part["id"], part["event"]) for part in parts] == [(str(e["seq"]), e["type"]) for e in read]
        return read

    assert streamed(f"{RUNS}/{run_id}/events") == events
    assert streamed(f"{RUNS}/{run_id}/events", **{"Last-Event-ID": "4"}) == events[4:]
    assert streamed(f"{RUNS}/{run_id}/events?after={len(events)}") == []


def test_a_run_that_waits_is_answered_once_and_goes_on(service: Service) -> None:
    document = service.post(message="why?", wait=True).json
    asked, run_id = document["interrupt"], document["run_id"]
    assert (document["terminal_reason"], asked["kind"], document["answer"]) == (
        None,
        "clarification",
        asked["question"],
    )
    sent(service, f"{run_id}/interrupts/nonsense", text="x").is_problem(409, "interrupt", asked["id"])
    sent(service, f"{run_id}/interrupts/{asked['id']}").is_problem(422, "bad_input", "text")
    sent(service, f"{run_id}/interrupts/{asked['id']}", colour="red").is_problem(422, "bad_input", "colour")
    assert sent(service, f"{run_id}/interrupts/{asked['id']}", text="MAX_LETTERS").status == 200
    stream = service.call("GET", f"{RUNS}/{run_id}/events", headers={"Accept": "text/event-stream"}).text
    assert "event: run.finished" in stream
    envelope = service.call("GET", f"{RUNS}/{run_id}").json
    assert envelope["terminal_reason"] == "completed"
    assert envelope["outputs"]["integration"]["citations"]
    sent(service, f"{run_id}/interrupts/{asked['id']}", text="again").is_problem(409, "interrupt", "resolved already")


def test_a_run_is_cancelled_once(service: Service) -> None:
    run_id = service.post(message="why?", wait=True).json["run_id"]
    cancelled = sent(service, f"{run_id}/cancel", reason="enough").json
    assert (cancelled["terminal_reason"], cancelled["terminal_detail"]) == ("user_cancelled", "enough")
    sent(service, f"{run_id}/cancel").is_problem(409, "run_state", "user_cancelled")
    other = service.post(message="why?", wait=True).json["run_id"]
    assert service.call("POST", f"{RUNS}/{other}/cancel").json["terminal_reason"] == "user_cancelled"


def test_a_run_is_forked_at_an_event_that_it_has(service: Service) -> None:
    run_id = service.post(message=QUESTION).json["run_id"]
    answer = sent(service, f"{run_id}/fork", at=3)
    assert answer.status == 201
    forked = answer.json["run_id"]
    assert forked != run_id
    service.call("GET", f"{RUNS}/{forked}/events", headers={"Accept": "text/event-stream"})
    assert service.call("GET", f"{RUNS}/{forked}").json["terminal_reason"] == "completed"
    sent(service, f"{run_id}/fork", at=10_000).is_problem(404, "unknown_name", "no event 10000")
    sent(service, f"{run_id}/fork", at=0).is_problem(422, "bad_input", "at")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "r-none", None),
        ("GET", "r-none/events", None),
        ("POST", "r-none/cancel", b"{}"),
        ("POST", "r-none/interrupts/q", b'{"text": "x"}'),
        ("POST", "r-none/fork", b'{"at": 1}'),
    ],
)
def test_an_unknown_run_is_not_found(service: Service, method: str, path: str, body: bytes | None) -> None:
    headers = {"Content-Type": "application/json"}
    service.call(method, f"{RUNS}/{path}", body, headers).is_problem(404, "unknown_name", "r-none")


@pytest.mark.parametrize("number", ["x", "-1", "1.5", "9" * 40, "١"])
def test_a_last_event_that_is_no_number_is_refused(service: Service, number: str) -> None:
    run_id = service.post(message="why?").json["run_id"]
    headers = {"Last-Event-ID": number.encode().decode("latin-1")}
    service.call("GET", f"{RUNS}/{run_id}/events", headers=headers).is_problem(422, "bad_input", "Last-Event-ID")


def test_every_process_of_it_listens_on_loopback_only(service: Service) -> None:
    processes = processes_that_mention(str(service.program.state_dir.parent))
    hosts = listening_hosts(processes)
    assert hosts
    assert hosts <= LOOPBACK


def test_a_port_that_is_taken_is_said(jeeves: Program, repo: Path, service: Service) -> None:
    jeeves.run("serve", "--repo", repo, "--port", str(service.port)).complains(1, str(service.port), "taken", "--port")


def test_without_tokens_only_loopback_may_be_bound(jeeves: Program, repo: Path) -> None:
    told = ("0.0.0.0", "no access token is valid", "jeeves token create", "loopback")
    jeeves.run("serve", "--repo", repo, env={"JEEVES_HTTP__HOST": "0.0.0.0"}).complains(2, *told)


@pytest.mark.long
def test_a_service_that_does_not_come_up_says_how_far_it_came_and_where_the_logs_are(
    jeeves: Program, repo: Path
) -> None:
    env = {"JEEVES_RAY__MODE": "attach", "JEEVES_RAY__ADDRESS": "127.0.0.1:1"}
    done = jeeves.run("serve", "--repo", repo, "--port", str(free_port()), env=env)
    assert (done.status, done.out) == (1, "")
    log = jeeves.state_dir / "logs" / "cli.log"
    logs, joining, error = done.err.splitlines()
    assert logs == f"log: {log}; logs of agents: on the cluster's nodes"
    assert joining == "joining the cluster at 127.0.0.1:1"
    assert error.startswith("jeeves: nothing answers at the Ray address 127.0.0.1:1")
    assert f'serve.starting step="{joining}"' in re.sub(r" _ray_\S+", "", log.read_text("utf-8"))


def test_a_repository_that_is_not_there_cannot_be_served(jeeves: Program, tmp_path: Path) -> None:
    jeeves.run("serve", "--repo", tmp_path / "nowhere").complains(2, "nowhere")
