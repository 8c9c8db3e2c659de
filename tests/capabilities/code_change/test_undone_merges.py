"""A change is merged by its last step, and one commit undoes that; a contract without MERGE leaves it on its branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.contracts.loading import parse_contract
from tests.capabilities.code_change.played_agent import CHANGED, CODE, Agent, git, repository
from tests.runtime.contracts.test_loading import SHIPPED

pytestmark = pytest.mark.long

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "trust.md").read_text(encoding="utf-8")


async def test_what_was_merged_is_undone_by_the_command_of_the_page(tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    assert (await agent.finish())["outcome"] == "completed"
    assert (agent.root / "load.py").read_text() == CHANGED
    subject = git(agent.root, "log", "-1", "--format=%s")
    assert subject.startswith("Merge llm_task_")
    assert subject.strip().endswith(" into main")
    assert "`git revert -m 1 COMMIT`" in PAGE
    git(agent.root, "-c", "user.name=a", "-c", "user.email=a@b.c", "revert", "--no-edit", "-m", "1", "HEAD")
    assert (agent.root / "load.py").read_text() == CODE


async def test_with_a_contract_that_leaves_merge_out_the_change_stays_on_its_branch(tmp_path: Path) -> None:
    assert "`IMPLEMENT: [MERGE]` and `MODIFY: [MERGE]`" in " ".join(PAGE.split())
    text = SHIPPED.replace("  IMPLEMENT: []", "  IMPLEMENT: [MERGE]").replace("  MODIFY: []", "  MODIFY: [MERGE]")
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", parse_contract(text))
    before = git(agent.root, "rev-parse", "main")
    await agent.start()
    assert (await agent.finish())["outcome"] == "completed"
    assert git(agent.root, "rev-parse", "main") == before
    (branch,) = git(agent.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/llm_task_*").split()
    assert git(agent.root, "show", f"{branch}:load.py").strip() == CHANGED.strip()
