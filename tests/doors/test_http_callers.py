"""Several clients at one HTTP service: each has its own runs and its own rates, and a flood keeps nobody else out."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.doors.program import Program
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_http import MESSAGES, Answer, Service, until_stopped
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.long]

ANN, BOB, FLOODER = "192.0.2.1", "192.0.2.2", "2001:db8::1"
# The test is the proxy in front of the service: it says whose request each is.
SETTINGS = """
http: {trusted_proxies: [127.0.0.1]}
limits:
  rates_by_user: {"address:2001:db8::/64": {per_minute: 1, burst: unlimited}}
  rates_by_endpoint: {cancel: {per_hour: 1}}
"""


class Answered(Answer):
    """An HTTP response with its headers."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        super().__init__(response)
        self.retry_after = response.getheader("Retry-After")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("callers")
    repo = write_files(folder / "repo", FILES)
    config = folder / "mine.yaml"
    config.write_text(SETTINGS, encoding="utf-8")
    with until_stopped(Service(Program(folder / "state"), [repo], free_port(), "--config", str(config))) as running:
        yield running


def asked(service: Service, client: str, method: str, path: str, **body: Any) -> Answered:
    headers = {"Content-Type": "application/json", "X-Forwarded-For": f"127.0.0.1, {client}"}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    try:
        connection.request(method, path, json.dumps(body).encode() if method == "POST" else None, headers)
        return Answered(connection.getresponse())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def waiting(service: Service) -> str:
    """A run of Ann's that waits for an answer."""
    answer = asked(service, ANN, "POST", MESSAGES, message="why?", wait=True)
    assert answer.status == 200, answer.text
    run_id: str = answer.json["run_id"]
    return run_id


def test_a_client_sees_and_controls_its_own_runs_alone(service: Service, waiting: str) -> None:
    path = f"/api/v1/runs/{waiting}"
    told = f"there is no run '{waiting}' of yours"
    for method, place, body in (
        ("GET", path, {}),
        ("GET", f"{path}/events", {}),
        ("POST", f"{path}/interrupts/{waiting}-q1", {"text": "RunTable"}),
        ("POST", f"{path}/fork", {"at": 1}),
        ("POST", f"{path}/cancel", {}),
    ):
        asked(service, BOB, method, place, **body).is_problem(404, "unknown_name", told)
    assert asked(service, ANN, "GET", path).json["request"]["user_id"] == f"address:{ANN}"
    assert asked(service, BOB, "GET", "/api/v1/runs").text == "[]"
    (listed,) = json.loads(asked(service, ANN, "GET", "/api/v1/runs").text)
    assert (listed["run_id"], listed["question"]) == (
        waiting,
        asked(service, ANN, "GET", f"{path}/answer").json["question"],
    )


def test_the_next_request_of_a_flood_is_refused_until_it_may_come_and_others_are_served(service: Service) -> None:
    answers = [asked(service, address, "GET", "/api/v1/runs") for address in (FLOODER, "2001:db8::2")]
    assert answers[0].status == 200
    seconds = int(str(answers[1].retry_after))
    assert 40 < seconds <= 60
    told = f"user 'address:2001:db8::/64' asks too often; try again in {seconds} s"
    answers[1].is_problem(429, "rate_limited", told)
    assert asked(service, "2001:db8:0:1::1", "GET", "/api/v1/runs").status == 200
    assert asked(service, BOB, "POST", MESSAGES, message=QUESTION).status == 200


def test_an_endpoint_has_a_rate_of_its_own_and_says_when_to_come_back(service: Service, waiting: str) -> None:
    path = f"/api/v1/runs/{waiting}/cancel"
    assert asked(service, ANN, "POST", path).json["terminal_reason"] == "user_cancelled"
    refused = asked(service, ANN, "POST", path)
    refused.is_problem(429, "rate_limited")
    assert 3_500 < int(str(refused.retry_after)) <= 3_600
    assert asked(service, ANN, "GET", f"/api/v1/runs/{waiting}").status == 200


def test_the_terminal_lists_whose_runs_they_are_and_how_much_each_has_used(service: Service, waiting: str) -> None:
    listed = service.program.run("runs", "list").out
    assert f"address:{ANN}" in next(line for line in listed.splitlines() if line.startswith(waiting))
    document = json.loads(service.program.run("status", "--json").out)
    callers = {caller["user_id"]: caller for caller in document["callers"]}
    assert callers[f"address:{ANN}"]["runs"] == 1
    assert f"address:{ANN}: 1 runs in 24 h" in service.program.run("status").out
