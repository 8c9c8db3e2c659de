"""`jeeves serve` while its door, or the whole of it, is killed with questions under way: no answer is lost."""

from __future__ import annotations

import http.client
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.doors.program import Program, processes_that_mention, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_http import MESSAGES, Answer, Service, free_port

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
    answers = iter(lambda: asked(service, question), object())
    return wait_until(lambda: next(answers))


def doors(folder: Path) -> list[int]:
    """The processes that listen for HTTP."""
    found = processes_that_mention(str(folder))
    return [pid for pid in found if b"HttpDoor" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_killed_door_costs_no_answer_and_no_second_run(tmp_path: Path) -> None:
    service = Service(Program(tmp_path / "state"), [write_files(tmp_path / "repo", FILES)], free_port())
    try:
        service.wait_until_it_listens()
        with ThreadPoolExecutor(len(QUESTIONS)) as pool:
            first = [pool.submit(asked, service, question) for question in QUESTIONS]
            wait_until(lambda: service.call("GET", "/ready").json["runs_under_way"] > 0)
            (door,) = doors(tmp_path)
            os.kill(door, signal.SIGKILL)
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
