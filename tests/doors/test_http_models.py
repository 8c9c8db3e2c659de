"""`jeeves serve --models`: what the service says of the models behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.doors.program import Program
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.doors.test_http import Answer, Service
from tests.doors.test_models import answers_well, endpoint_file
from tests.free_ports import free_port
from tests.runtime.llm.endpoint import Endpoint

pytestmark = pytest.mark.ray


def served(answer: Answer) -> dict[str, float]:
    """Role → calls that were served."""
    found = {}
    for line in answer.text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith("jeeves_model_calls_total{") and 'outcome="served"' in name:
            found[name.partition('role="')[2].partition('"')[0]] = float(value)
    return found


@pytest.mark.long
async def test_the_service_tells_of_its_models_what_they_do_and_whether_they_answer(tmp_path: Path) -> None:
    endpoint = Endpoint(answers_well)
    await endpoint.start()
    (tmp_path / "models.yaml").write_text(endpoint_file(endpoint.url, silence_timeout_s=60), encoding="utf-8")
    repo = write_files(tmp_path / "repo", FILES)
    service = Service(Program(tmp_path / "state"), [repo], free_port(), "--models", str(tmp_path / "models.yaml"))
    try:
        await asyncio.to_thread(service.wait_until_it_listens)
        ready = (await asyncio.to_thread(service.call, "GET", "/ready")).json
        assert (ready["status"], ready["models"]) == ("ready", {"main": "answers"})
        document = (await asyncio.to_thread(lambda: service.post(message=QUESTION))).json
        assert (document["usage"]["llm_calls"], document["rules_took_over"]) == (3, [])
        calls = served(await asyncio.to_thread(service.call, "GET", "/metrics"))
        assert sum(calls.values()) == 3
        await endpoint.stop()
        refused = await asyncio.to_thread(service.call, "GET", "/ready")
        refused.is_problem(503, "llm_down", "default", "main: ", "cannot be reached")
        assert served(await asyncio.to_thread(service.call, "GET", "/metrics")) == calls
        assert await asyncio.to_thread(service.stop) == (0, "", "")
    finally:
        await endpoint.stop()
        if service.process.poll() is None:
            service.process.kill()
            service.process.communicate()
