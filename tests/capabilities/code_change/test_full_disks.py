"""A disk that is full, or a limit on files that is reached, is told at every step; nothing is lost, and it goes on."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.codebase.git.git_writer import GitWriter
from runtime.errors import GitWriteError, StateStorageError
from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository

STEPS_WITHOUT_GIT = (4, 5, 10)
STEPS_WITH_GIT = (12, 17, 19)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


@contextmanager
def no_room(most_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a quota does; programs that are started get the limit too."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


async def test_git_without_room_is_told_as_that_and_the_phase_can_be_submitted_again(agent: Agent) -> None:
    await agent.start()
    for step in STEPS_WITH_GIT:
        await agent.go_to(step)
        payload = await agent.prepare()
        with no_room(0):
            told = await agent.session.submit(payload)
        assert (told["error"]["code"], told["step"]) == ("git_refused", step)
        assert "no room is left on the disk of" in str(told["error"]["problems"])
        assert not list((agent.root / ".git").rglob("*.lock"))
    assert (await agent.finish())["outcome"] == "completed"
    assert (agent.root / "load.py").read_text() == CHANGED
    git(agent.root, "fsck", "--no-dangling")


async def test_a_store_without_room_keeps_what_it_has_and_the_session_is_resumed(agent: Agent) -> None:
    await agent.start()
    for step in STEPS_WITHOUT_GIT:
        await agent.go_to(step)
        payload = await agent.prepare()
        with no_room(0), pytest.raises(StateStorageError, match="could not keep session"):
            await agent.session.submit(payload)
        agent = agent.restarted(f"process-{step}")
        assert (await agent.start(recovery="resume"))["step"] == step
    assert (await agent.finish())["outcome"] == "completed"


def test_a_branch_that_cannot_be_written_for_want_of_room_was_changed_by_nobody(agent: Agent) -> None:
    with GitWriter(agent.root) as writer:
        head = str(writer.commit_of("HEAD"))
        with no_room(0), pytest.raises(GitWriteError, match="no room is left on the disk of"):
            writer.set_branch("other", head, None)
        assert not list((agent.root / ".git").rglob("*.lock"))
        writer.set_branch("other", head, None)
        with pytest.raises(GitWriteError, match="refs/heads/main was changed by somebody else, or is locked"):
            writer.set_branch("main", head, "1" * 40)
        writer.set_branch("another", head, None)
