"""What is committed is what review_changes told last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository

MORE = f"{CHANGED}\n\nMORE = 1\n"


def problems(told: dict[str, Any]) -> str:
    assert "error" in told, told
    return " ".join(told["error"]["problems"])


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


@pytest.mark.parametrize("flags", [[], ["fast"]])
async def test_an_edit_after_the_review_is_not_committed_before_it_is_reviewed_too(
    agent: Agent, flags: list[str]
) -> None:
    await agent.start(flags=flags)
    await agent.see("read_code", "load.py")
    await agent.go_to(17)
    payload = await agent.prepare()
    agent.edit(text=MORE)
    assert "load.py changed after review_changes had told the difference" in problems(await agent.submit(payload))
    assert "MORE" not in git(agent.root, "log", "--all", "-p")
    assert "error" not in await agent.step()
    assert "MORE" in git(agent.root, "show", f"{agent.last['branch']}:load.py")


async def test_a_file_taken_away_after_the_review_is_named_with_what_is_to_be_done(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    await agent.session.check_write_target("more.py")
    agent.edit("more.py", "MORE = 1\n")
    await agent.go_to(17)
    payload = await agent.prepare()
    (agent.workspace / "more.py").unlink()
    told = problems(await agent.submit({**payload, "reviewed_files": ["load.py"]}))
    assert "more.py changed after" in told
    assert "call it again" in told


async def test_a_review_beside_a_file_that_was_never_permitted_does_not_count_for_what_is_left(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    agent.edit("cache.py", "KEPT = 1\n")
    payload = await agent.prepare()
    git(agent.workspace, "checkout", "-q", "cache.py")
    agent.edit(text=MORE)
    assert "load.py changed after" in problems(await agent.submit({**payload, "reviewed_files": ["load.py"]}))


async def test_a_review_that_another_one_follows_counts_by_the_last(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    await agent.session.review_changes()
    agent.edit(text=MORE)
    await agent.session.review_changes()
    assert "error" not in await agent.step()


async def test_what_was_reviewed_is_known_to_the_server_that_resumes_the_session(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    payload = await agent.prepare()
    again = agent.restarted()
    await again.start(recovery="resume")
    again.edit(text=MORE)
    assert "load.py changed after" in problems(await again.submit(payload))
    again.edit()
    assert "error" not in await again.submit(payload)
