"""Sessions that get nowhere, or that edit where they only look, are told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.session.live_session import STUCK_AFTER
from tests.capabilities.code_change.played_agent import Agent, repository


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def test_many_refused_submissions_in_a_row_are_told_and_kept_for_a_person(agent: Agent) -> None:
    await agent.start()
    for _ in range(STUCK_AFTER - 1):
        assert "notes" not in await agent.submit({})
    told = await agent.submit({})
    assert next(iter(told)) == "error"
    assert f"{STUCK_AFTER} submissions in a row were refused here" in told["notes"][0]
    kept = agent.ports.store.decisions(agent.session.state.session_id)
    assert [each.data["count"] for each in kept if each.kind == "stuck"] == [STUCK_AFTER]
    await agent.go_to(4)
    assert "notes" not in await agent.submit({})


async def test_an_investigation_that_edits_is_told(agent: Agent) -> None:
    await agent.start("INVESTIGATE")
    await agent.go_to(4)
    assert "notes" not in agent.last
    (agent.root / "load.py").write_text("edited = True\n")
    await agent.step()
    assert "was edited since this session began" in str(agent.last["notes"])


async def test_a_review_names_the_command_that_shows_the_lines(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    told = await agent.session.review_changes()
    assert told["difference"].startswith(f"git -C {agent.workspace} diff {told['base_commit'][:12]}")
