"""A repository that is renamed, moved or deleted in mid session is told as such, and the session goes on behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.errors import GitWriteError
from tests.capabilities.code_change.played_agent import CHANGED, Agent, repository

IN_ITS_PLACE: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "nothing": (lambda root: None, lambda root: None),
    "a folder": (Path.mkdir, Path.rmdir),
    "a file": (Path.touch, Path.unlink),
}


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def submitted_without_repository(agent: Agent, what: str) -> str:
    """Submit what the phase asks for while something else is in the repository's place; return the problem."""
    made, undone = IN_ITS_PLACE[what]
    payload = await agent.prepare()
    agent.root.rename(agent.root.with_name("moved"))
    made(agent.root)
    told = await agent.session.submit(payload)
    with pytest.raises(GitWriteError, match="is no repository any more: it was renamed, moved or deleted"):
        await agent.session.review_changes()
    assert "is no repository any more" in (await agent.session.check_write_target("load.py"))["reason"]
    undone(agent.root)
    agent.root.with_name("moved").rename(agent.root)
    assert (told["error"]["code"], told["step"]) == ("git_refused", agent.last["step"])
    return str(told["error"]["problems"])


@pytest.mark.parametrize("what", IN_ITS_PLACE)
async def test_every_step_with_git_says_so_and_can_be_submitted_again(agent: Agent, what: str) -> None:
    await agent.start()
    for step in (12, 13, 14, 15, 17, 18, 19):
        await agent.go_to(step)
        told = await submitted_without_repository(agent, what)
        assert f"{agent.root} is no repository any more" in told
        assert f"jeeves runs cancel {agent.session.state.session_id}" in told
        assert "git init" not in told
        await agent.step()
        assert "error" not in agent.last
    assert agent.last["outcome"] == "completed"
    assert (agent.root / "load.py").read_text() == CHANGED


async def test_a_session_is_resumed_while_the_repository_is_gone_and_goes_on_once_it_is_back(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(15)
    moved = agent.root.with_name("moved")
    agent.root.rename(moved)
    again = agent.restarted()
    assert (await again.start(recovery="resume"))["step"] == 15
    assert "is no repository any more" in str((await again.step())["error"])
    moved.rename(agent.root)
    assert (await again.finish())["outcome"] == "completed"
