"""A file that was taken out of the index alone is still there: it was not deleted, and its edits are seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import changed_lines
from tests.capabilities.code_change.played_agent import CHANGED, FILES, TASK, Agent, git, repository


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def reported(agent: Agent, evidence: str) -> str:
    """Report load.py as edited and the item to remove cache.py with some evidence; return the problems."""
    items = [{"item": "retry loop", "status": "pending"}, {"item": "remove cache.py", "status": "pending"}]
    await agent.submit({"tasks": [{**TASK, "checklist": items}], "tools_used": [], "summary": "one task"})
    for file in ("load.py", "cache.py"):
        await agent.see("read_code", file)
        assert (await agent.session.check_write_target(file))["permitted"]
    agent.edit()
    git(agent.workspace, "rm", "-q", "--cached", "cache.py")
    proven = ("load.py:5-10", evidence)
    done = [{"item": each["item"], "status": "done", "evidence": why} for each, why in zip(items, proven, strict=True)]
    payload = {"task_id": "t1", "checklist": done, "tools_used": ["check_write_target"], "summary": "done"}
    return str((await agent.submit(payload)).get("error", {}).get("problems"))


@pytest.mark.parametrize("flags", [(), ("quick",)])
async def test_a_file_that_only_the_index_lost_is_not_proven_to_be_deleted(
    agent: Agent, flags: tuple[str, ...]
) -> None:
    await agent.start(flags=flags)
    await agent.go_to(12)
    assert "'cache.py' was not deleted by this change" in await reported(agent, "deleted: cache.py")


async def test_edits_of_a_file_that_the_index_lost_are_seen(agent: Agent) -> None:
    base = git(agent.root, "rev-parse", "HEAD")
    git(agent.root, "rm", "-q", "--cached", "load.py", "docs/rules.md")
    (agent.root / "load.py").write_text(CHANGED)
    changed = changed_lines(agent.root, base, lambda file: False)
    assert [(each.file, each.how) for each in changed.changes] == [("load.py", "modified")]
    assert changed.lines["load.py"] == ((5, 10),)
    assert git(agent.root, "diff", "--cached", "--name-only") == "docs/rules.md\nload.py"


async def test_without_an_index_files_are_compared_all_the_same(agent: Agent) -> None:
    base = git(agent.root, "rev-parse", "HEAD")
    (agent.root / ".git/index").unlink()
    (agent.root / "net.py").unlink()
    (agent.root / "cache.py").write_text(FILES["cache.py"] + "LIMIT = 1\n")
    changed = changed_lines(agent.root, base, lambda file: False)
    assert [(each.file, each.how) for each in changed.changes] == [("cache.py", "modified"), ("net.py", "deleted")]


async def test_a_folder_in_the_place_of_a_file_that_the_index_lost_deletes_it(agent: Agent) -> None:
    base = git(agent.root, "rev-parse", "HEAD")
    git(agent.root, "rm", "-q", "cache.py")
    agent.root.joinpath("cache.py").mkdir()
    agent.root.joinpath("cache.py/kept.py").write_text("KEPT = {}\n")
    changed = changed_lines(agent.root, base, lambda file: False)
    assert ("cache.py", "deleted") in [(each.file, each.how) for each in changed.changes]


@pytest.mark.parametrize("head", ["garbage\n", ""])
async def test_a_head_that_says_nothing_is_told_with_the_way_to_find_out_why(agent: Agent, head: str) -> None:
    await agent.start()
    await agent.go_to(14)
    (agent.root / ".git/HEAD").write_text(head)
    told = str((await agent.step())["error"]["problems"])
    assert "`git status` or `git fsck` there may say why" in told
