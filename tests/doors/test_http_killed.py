"""`jeeves serve` while its door, or the whole of it, is killed with questions under way: no answer is lost."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.doors.program import Program, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_http import MESSAGES, Answer, Service
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.long]

QUESTIONS = [f"{QUESTION} {number}" for number in range(6)]


def asked(service: Service, question: str) -> Answer | None:
    """The answer under the key of the question; None if the connection broke."""
    body = json.dumps({"message": question}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": question}
    try:
        return service.call("POST", MESSAGES, body, headers)
    except (OSError, http.client.HTTPException):
        return None


def until_answered(service: Service, question: str) -> Answer:
    answer = wait_until(lambda: asked(service, question))
    assert answer is not None
    return answer


def door_of(service: Service) -> int:
    """The process that listens on the port of the service."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    # Fields 1, 3 and 9 are the local address, the state (0A: listening) and the socket's inode.
    (inode,) = (line[9] for line in lines if line[3] == "0A" and int(line[1].partition(":")[2], 16) == service.port)
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # it ended while it was looked at
            if str(entry.readlink()) == f"socket:[{inode}]":
                return int(entry.parts[2])
    raise AssertionError(f"nobody listens on port {service.port}")


def test_a_killed_door_costs_no_answer_and_no_second_run(tmp_path: Path) -> None:
    service = Service(Program(tmp_path / "state"), [write_files(tmp_path / "repo", FILES)], free_port())
    try:
        service.wait_until_it_listens()
        with ThreadPoolExecutor(len(QUESTIONS)) as pool:
            first = [pool.submit(asked, service, question) for question in QUESTIONS]
            wait_until(lambda: service.call("GET", "/ready").json["runs_under_way"] > 0)
            os.kill(door_of(service), signal.SIGKILL)
            killed_s = time.monotonic()
            answers = list(pool.map(lambda question: until_answered(service, question), QUESTIONS))
            assert any(future.result() is None for future in first), "nothing was under way when the door was killed"
        assert time.monotonic() - killed_s < 60
        assert [(answer.status, answer.json["question"]) for answer in answers] == [(200, each) for each in QUESTIONS]
        listed = json.loads(service.call("GET", "/api/v1/runs?limit=100").text)
        assert {run["run_id"] for run in listed} == {answer.json["run_id"] for answer in answers}
        assert service.stop() == (0, "", "")
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.communicate()


def test_a_key_is_known_after_all_of_it_was_started_again(tmp_path: Path) -> None:
    program, repo = Program(tmp_path / "state"), write_files(tmp_path / "repo", FILES)
    documents = []
    for _ in range(2):
        service = Service(program, [repo], free_port())
        try:
            service.wait_until_it_listens()
            documents.append(until_answered(service, QUESTION).json)
            assert service.stop() == (0, "", "")
        finally:
            if service.process.poll() is None:
                service.process.kill()
                service.process.communicate()
    assert documents[0] == documents[1]
