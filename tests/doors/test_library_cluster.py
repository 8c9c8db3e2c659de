"""The library at a system that `jeeves up` keeps: the whole of it, with the answers that this process gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.errors import AnswerTimeoutError, InputError, RunStateError, UnknownNameError
from runtime.settings import Settings, load_settings
from serve.client import Answer, Jeeves, JeevesSync
from tests.doors.program import Program, processes_that_mention, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files

pytestmark = [pytest.mark.ray, pytest.mark.long]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.fixture(scope="module")
def settings(folder: Path) -> Iterator[Settings]:
    """The settings of a system that is up."""
    program = Program(folder / "state")
    program.run("up").answers()
    yield load_settings(None, {name: value for name, value in program.env.items() if name.startswith("JEEVES_")})
    program.run("down").answers()
    wait_until(lambda: not processes_that_mention(str(folder)), 20)


@pytest.fixture(scope="module")
def repo(folder: Path) -> Path:
    return write_files(folder / "repo", FILES)


async def test_a_cluster_answers_as_this_process_does(settings: Settings, repo: Path) -> None:
    told = []
    for door in (Jeeves.on_cluster(settings=settings), Jeeves.in_process(settings=settings)):
        async with door:
            *events, answer = [item async for item in door.stream(QUESTION, repo=repo)]
            assert isinstance(answer, Answer)
            assert events[-1].type == "run.finished"  # type: ignore[union-attr]
            told.append({**answer.document, "run_id": "", "usage": {**answer.document["usage"], "duration_ms": 0}})
            assert (await door.runs(1))[0].run_id == answer.run_id
            assert await door.show(answer.run_id) == answer
    assert told[0] == told[1]


async def test_a_run_of_a_cluster_outlives_its_door(settings: Settings, repo: Path) -> None:
    async with Jeeves.on_cluster(settings=settings) as first:
        with pytest.raises(AnswerTimeoutError) as late:
            await first.ask(QUESTION, repo=repo, timeout_s=0.02, key="k")
    async with Jeeves.on_cluster(settings=settings) as second:
        answer = await second.wait_for(late.value.values["run_id"])
        assert answer.outcome == "answered"
        assert await second.ask(QUESTION, repo=repo, key="k") == answer


def test_a_person_is_asked_and_answers(settings: Settings, repo: Path) -> None:
    with JeevesSync.on_cluster(settings=settings) as jeeves:
        waiting = jeeves.ask("why?", repo=repo, wait=True)
        assert waiting.outcome == "needs_answer"
        with pytest.raises(InputError, match="text"):
            jeeves.resume(waiting.run_id)
        answer = jeeves.answer(waiting.run_id, "Why does PostOffice.deliver return False?")
        assert (answer.run_id, answer.terminal_reason) == (waiting.run_id, "completed")
        with pytest.raises(RunStateError):
            jeeves.cancel(waiting.run_id)
        with pytest.raises(UnknownNameError):
            jeeves.show("r-none")


def test_a_door_with_other_settings_is_none(settings: Settings) -> None:
    other = settings.model_copy(update={"default_pipeline": "code_analysis_small"})
    with JeevesSync.on_cluster(settings=other) as jeeves, pytest.raises(InputError, match="other settings"):
        jeeves.runs()
