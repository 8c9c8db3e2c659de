"""`jeeves serve` is stopped, or killed, with questions under way: what was accepted ends with the next start."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.doors.program import Program, processes_that_mention, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_http import Service
from tests.doors.test_http_killed import asked, until_answered
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(600)]

QUESTIONS = [f"{QUESTION} {number}" for number in range(40)]


def terminated(service: Service) -> None:
    service.process.send_signal(signal.SIGTERM)
    service.process.communicate(timeout=60)
    assert service.process.returncode == 0


def killed(service: Service) -> None:
    service.process.kill()
    service.process.communicate(timeout=60)
    folder = str(service.program.state_dir.parent)
    wait_until(lambda: not processes_that_mention(folder), 60)


@pytest.mark.parametrize("end", [terminated, killed], ids=["SIGTERM", "SIGKILL"])
def test_what_was_accepted_is_answered_once_by_the_next_service(end: Callable[[Service], None], tmp_path: Path) -> None:
    program, repo = Program(tmp_path / "state"), write_files(tmp_path / "repo", FILES)
    service = Service(program, [repo], free_port())
    accepted: list[str] = []
    try:
        service.wait_until_it_listens()
        with ThreadPoolExecutor(len(QUESTIONS)) as pool:
            first = [pool.submit(asked, service, question) for question in QUESTIONS]
            wait_until(lambda: service.call("GET", "/ready").json["runs_under_way"] > 1)
            accepted += [run["run_id"] for run in json.loads(service.call("GET", "/api/v1/runs?limit=100").text)]
            end(service)
            answers = [future.result() for future in first]
        if end is killed:
            assert any(answer is None or answer.status != 200 for answer in answers), "nothing was under way"
        # One that is stopped answers what it can within its last seconds, and refuses the rest.
        assert {answer.status for answer in answers if answer is not None} <= {200, 503}
        service = Service(program, [repo], free_port())
        service.wait_until_it_listens()
        again = [until_answered(service, question) for question in QUESTIONS]
        assert [(answer.status, answer.json["question"]) for answer in again] == [(200, each) for each in QUESTIONS]
        listed = json.loads(service.call("GET", "/api/v1/runs?limit=100").text)
        assert len(listed) == len(QUESTIONS)
        assert set(accepted) <= {run["run_id"] for run in listed if run["finished"]}
        assert service.stop() == (0, "", "")
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.communicate()
