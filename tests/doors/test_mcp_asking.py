"""The process behind the tool `ask`: it starts with the first question, and leaves nothing when it ends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayActorError

from actors.actor_calls import actor_lost_error
from runtime.errors import ClusterError, JeevesError, StateStorageError
from runtime.settings import Settings
from serve.answer_document import Ask
from serve.mcp.ask.asking import Asking, AskProcess, ask_through_restart
from serve.runtimes.socket_door import Client, SocketDoor
from serve.runtimes.warm import WarmRecord, WarmRuntime
from tests.doors.mcp_site import raw_client
from tests.doors.program import Program
from tests.doors.test_mcp_stdio import call, none_left

QUESTION = "Who calls Box.put?"


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary ones that no other test uses; its path is short, since sockets lie below it."""
    with tempfile.TemporaryDirectory(prefix="jm-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def folders(within: Path | None = None) -> set[Path]:
    return set((within or Path(tempfile.gettempdir())).glob("jeeves-mcp-*"))


def settings_in(folder: Path) -> Settings:
    return Settings.model_validate(
        {"state_dir": str(folder / "state"), "ray": {"mode": "in_process"}, "code_index": {"embeddings": False}}
    )


async def unheard(_done: float, _total: float | None, _message: str) -> None:
    return None


@pytest.mark.long
async def test_a_process_that_dies_is_told_and_replaced_by_the_next_question(
    repo: Path, tmp_path: Path, temporary: Path
) -> None:
    asking = Asking(settings_in(tmp_path), str(repo))
    try:
        assert (await asking.ask(QUESTION, None, unheard))["citations"]
        first = asking.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert none_left({first}, 5.0)
        try:
            document = await asking.ask(QUESTION, None, unheard)
        except ClusterError:  # it had not noticed yet
            document = await asking.ask(QUESTION, None, unheard)
        assert document["citations"]
        assert asking.pid != first
    finally:
        await asking.close()
    assert folders(temporary) == set()


@pytest.mark.long
async def test_a_state_folder_that_is_deleted_is_told_once_and_the_next_question_is_answered(
    repo: Path, tmp_path: Path, temporary: Path
) -> None:
    settings = settings_in(tmp_path)
    asking = Asking(settings, str(repo))
    try:
        await asking.ask(QUESTION, None, unheard)
        shutil.rmtree(settings.state_dir)
        with pytest.raises(StateStorageError, match=r"runs/local\.sqlite was deleted .*; or ask again") as caught:
            await asking.ask(QUESTION, None, unheard)
        assert caught.value.values["problem"] == "lost"
        assert (await asking.ask(QUESTION, None, unheard))["citations"]
    finally:
        await asking.close()
    assert folders(temporary) == set()


async def test_what_cannot_start_is_told_to_each_question(tmp_path: Path) -> None:
    process = AskProcess("these are no settings")
    with pytest.raises(JeevesError):
        await asyncio.wait_for(process.listening(), 60)
    await process.close()
    await process.close()
    assert process.has_ended
    assert not process.socket.parent.exists()


@pytest.mark.parametrize(
    ("lost", "losses", "asked", "is_answered"),
    [
        (ActorUnavailableError("it is restarting", None), 1, 2, True),
        (ActorUnavailableError("it is restarting", None), 2, 2, False),
        (ActorDiedError(), 1, 1, False),
    ],
    ids=["back at once", "away for long", "dead"],
)
async def test_a_question_is_asked_once_more_where_an_actor_may_come_back(
    tmp_path: Path, lost: RayActorError, losses: int, asked: int, is_answered: bool
) -> None:
    said: list[str] = []
    tries: list[str] = []

    async def answer(request: dict[str, Any], _client: Client) -> dict[str, Any]:
        tries.append(request["op"])
        if len(tries) <= losses:
            raise actor_lost_error(lost)
        return {"document": {"answer": "yes"}}

    at = tmp_path / "s"
    server = await asyncio.start_unix_server(SocketDoor({"ask": answer}).serve, at)
    runtime = WarmRuntime(WarmRecord(1, str(at), "v", "", "", 0), "v")
    ask = Ask(question=QUESTION, repo=str(tmp_path), pipeline="p")
    async with server:
        if is_answered:
            assert await ask_through_restart(lambda: runtime.ask(ask), said.append) == {"answer": "yes"}
        else:
            with pytest.raises(ClusterError, match="look into" if asked == 1 else "ask again"):
                await ask_through_restart(lambda: runtime.ask(ask), said.append)
    assert len(tries) == asked
    assert len(said) == asked - 1


@pytest.mark.long
@pytest.mark.ray
def test_a_question_on_ray_is_answered_and_its_cluster_ends_with_the_input(ray_jeeves: Program, repo: Path) -> None:
    before = folders()
    with raw_client(ray_jeeves, repo) as client:
        client.initialize()
        call(client, 1, "ask", question=QUESTION)
        assert "post/office.py" in str(client.answer(1)["result"])
        children = client.children()
        assert any(b"raylet" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children)
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.ended_within(10.0)
        assert none_left(children, 5.0)
    assert folders() <= before
