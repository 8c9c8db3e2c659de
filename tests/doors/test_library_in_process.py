"""The library in this process, as a program and a notebook have it: the code analysis itself, without Ray."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from pathlib import Path

import pytest

from runtime.errors import InputError, OwnedError, RepositoryError, UnknownNameError
from runtime.settings import Settings, load_settings
from serve.client import Answer, Jeeves, JeevesSync
from serve.library.cluster_hosts import cluster_backend
from serve.library.loop_thread import LoopThread
from tests.doors.program import Program
from tests.doors.sample_repo import QUESTION

ENV = {"JEEVES_CODE_INDEX__EMBEDDINGS": "false"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(None, {**ENV, "JEEVES_STATE_DIR": str(tmp_path / "state")})


@pytest.mark.long
def test_the_answer_is_the_one_that_ask_gives(settings: Settings, repo: Path, jeeves: Program) -> None:
    with JeevesSync.in_process(settings=settings) as library:
        answer = library.ask(QUESTION, repo=repo)
    assert answer.outcome == "answered"
    document = jeeves.run("ask", QUESTION, "--repo", str(repo), "--json").answers().document
    for told in (document, answer.document):
        del told["run_id"], told["usage"]["duration_ms"]
    assert json.loads(json.dumps(answer.document)) == document


async def test_it_works_where_an_event_loop_is_running(settings: Settings, repo: Path) -> None:
    with JeevesSync.in_process(settings=settings) as library:
        *events, answer = library.stream(QUESTION, repo=repo)
        assert isinstance(answer, Answer)
        assert len(events) > 5
        assert [run.run_id for run in library.runs()] == [answer.run_id]
    assert threading.active_count() < 50


def test_a_run_that_waits_when_its_door_closes_is_continued_at_another(settings: Settings, repo: Path) -> None:
    with JeevesSync.in_process(settings=settings) as first:
        waiting = first.ask("why?", repo=repo, wait=True)
        assert waiting.interrupt is not None
    with JeevesSync.in_process(settings=settings) as second:
        assert second.show(waiting.run_id) == waiting
        with pytest.raises(InputError, match="text"):
            second.resume(waiting.run_id)
        answer = second.answer(waiting.run_id, "Why does PostOffice.deliver return False?")
        assert answer.run_id == waiting.run_id
        assert answer.terminal_reason == "completed"


@pytest.mark.long
def test_a_run_that_another_door_drives_is_not_taken_from_it(settings: Settings, repo: Path) -> None:
    with JeevesSync.in_process(settings=settings) as first:
        waiting = first.ask("why?", repo=repo, wait=True)
        with JeevesSync.in_process(settings=settings) as second, pytest.raises(OwnedError):
            second.answer(waiting.run_id, "that")
        assert first.cancel(waiting.run_id).terminal_reason == "user_cancelled"


def test_input_that_cannot_be_used_is_refused_with_the_class_of_its_fault(settings: Settings, repo: Path) -> None:
    with JeevesSync.in_process(settings=settings) as library:
        with pytest.raises(RepositoryError):
            library.ask(QUESTION, repo=repo / "none")
        with pytest.raises(UnknownNameError):
            library.show("r-none")
        assert library.runs() == []
    with pytest.raises(InputError, match="closed"):
        library.runs()


def test_settings_that_cannot_be_read_are_told_at_the_first_call(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("colour: red", encoding="utf-8")
    with JeevesSync.in_process(tmp_path / "wrong.yaml") as library, pytest.raises(InputError, match="colour"):
        library.runs()


async def test_without_a_system_that_is_up_the_cluster_has_no_door(settings: Settings) -> None:
    with pytest.raises(InputError, match="jeeves up"):
        await cluster_backend(settings)
    with pytest.raises(InputError, match="jeeves up"):
        async with Jeeves.on_cluster(settings=settings):
            raise AssertionError("there is none")


@pytest.mark.timeout(60)
def test_an_interrupted_call_has_ended_its_work() -> None:
    loop, begun, ended = LoopThread(), threading.Event(), threading.Event()
    main = threading.get_ident()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    def interrupt() -> None:
        begun.wait()
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        loop.run(work())
    assert ended.is_set()
    loop.close()
    loop.close()
    assert loop.is_closed
