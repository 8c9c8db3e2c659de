"""What the base branch alone changed is no part of a change, also after it was merged into the change's branch."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runtime.contracts.loading import parse_contract
from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository
from tests.examples import long_but
from tests.runtime.contracts.test_loading import SHIPPED

WAITS = "! grep -q Needed net.py || grep -q GOOD load.py"
CHECKED = parse_contract(
    SHIPPED.replace(
        "    duty: verify\n", f"    duty: verify\n    checks: [{{name: tests, command: [sh, -c, '{WAITS}']}}]\n"
    )
)
GOOD = f"{CHANGED}\n\nGOOD = len(CHANGED)\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


def move_main(agent: Agent, **files: str) -> None:
    """Commit files to the base branch, as somebody else does meanwhile."""
    beside = agent.state_dir / "beside"
    git(agent.root, "worktree", "add", "-q", str(beside), "main")
    for name, text in files.items():
        (beside / f"{name}.py").write_text(text)
    git(beside, "add", "-A")
    git(beside, "commit", "-qm", "moved on")
    git(agent.root, "worktree", "remove", str(beside))


async def fix(agent: Agent, **fields: Any) -> None:
    """Plan a fix of the first task, and do it."""
    item = {"item": "mend load.py", "status": "pending"}
    task = {"id": "t2", "description": "fix", "status": "pending", "checklist": [item], "fixes": "t1"}
    old = [{**each, "status": "completed"} for each in agent.last["tasks"]]
    plan = [*old, {**task, "revert_reason": "the check fails"}]
    await agent.submit({"tasks": plan, "tools_used": [], "summary": "a fix"})
    assert "error" not in agent.last, agent.last
    await agent.session.check_write_target("load.py")
    agent.edit(text=GOOD)
    done = [{"item": "mend load.py", "status": "done", "evidence": "load.py:13"}]
    report = {"task_id": "t2", "checklist": done, "tools_used": ["check_write_target"], "summary": "done"}
    await agent.submit(report)
    assert "error" not in agent.last, agent.last


def follow(agent: Agent) -> None:
    """Run the command that the last refusal names, in the workspace."""
    command = re.search(r"`(git reset .*?)` in ", agent.last["error"]["problems"][0])
    assert command is not None, agent.last["error"]
    subprocess.run(["sh", "-c", command.group(1)], cwd=agent.workspace, check=True, capture_output=True)


async def test_after_a_merge_of_the_base_branch_its_files_are_no_part_of_the_change(tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", CHECKED)
    await agent.start()
    await agent.go_to(19)
    move_main(agent, net="Needed = 1\n", more="MORE = 1\n")
    assert "main has moved on" in (await agent.step())["error"]["problems"][0]
    git(agent.workspace, "merge", "-q", "--no-edit", "main")
    await agent.step()
    assert agent.last["step"] == 12, agent.last
    await fix(agent)
    await agent.go_to(17)
    seen = await agent.session.review_changes()
    assert [each["file"] for each in seen["files"]] == ["load.py"]
    assert seen["base_commit"] == git(agent.root, "rev-parse", "main")
    await agent.finish()
    assert git(agent.root, "show", "main:net.py") == "Needed = 1"
    assert git(agent.root, "show", "main:load.py") == GOOD.strip()
    told = git(agent.root, "log", "--format=%s", "--name-only", "--no-merges", "main")
    assert told.count("net.py") == 2, told


@pytest.mark.parametrize("step", long_but([13, 14, 17], 0))
async def test_the_base_branch_may_be_merged_before_the_server_has_committed(agent: Agent, step: int) -> None:
    await agent.start()
    await agent.go_to(step)
    move_main(agent, net="Needed = 1\n")
    git(agent.workspace, "merge", "-q", "--no-edit", "main")
    await agent.finish()
    assert git(agent.root, "show", "main:net.py") == "Needed = 1"
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()


@pytest.mark.parametrize("is_merged_first", long_but([True, False], 0))
async def test_the_way_back_from_a_commit_of_the_agent_keeps_a_merge(agent: Agent, is_merged_first: bool) -> None:
    await agent.start(flags=["fast"])
    await agent.see("read_code", "load.py")
    await agent.go_to(19)
    move_main(agent, net="Needed = 1\n")
    steps = [("merge", "-q", "--no-edit", "main"), ("commit", "-qam", "by hand")]
    agent.edit(text=f"{CHANGED}\n\nKEPT = attempt()\n")
    for words in steps if is_merged_first else reversed(steps):
        git(agent.workspace, *words)
    await agent.step()
    assert agent.last["step"] == 18, agent.last
    await agent.step(issues=["a bad name"])
    await fix(agent)
    await agent.go_to(17)
    await agent.step()
    assert "has commits that this server did not make" in agent.last["error"]["problems"][0]
    follow(agent)
    await agent.finish()
    told = git(agent.root, "log", "--format=%s", "main")
    assert "by hand" not in told
    assert git(agent.root, "show", "main:net.py") == "Needed = 1"
    assert git(agent.root, "show", "main:load.py") == GOOD.strip()
    changed = git(agent.root, "log", "--format=%s", "--no-merges", "main", "--", "net.py").splitlines()
    assert changed == ["moved on", "first"]


async def test_a_merge_that_brings_in_more_than_the_base_branch_has_is_refused(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    move_main(agent, net="Needed = 1\n")
    git(agent.workspace, "merge", "-q", "--no-commit", "--no-ff", "main")
    (agent.workspace / "cache.py").write_text("KEPT = {'evil': 1}\n")
    git(agent.workspace, "add", "-A")
    git(agent.workspace, "commit", "-qm", "Merge main")
    await agent.step()
    assert "cache.py was changed, but check_write_target never permitted it" in str(agent.last["error"])
    (agent.workspace / "cache.py").write_text("KEPT = {}\n")
    await agent.step()
    assert "cache.py" in str(agent.last["error"]), agent.last


async def test_commits_of_another_branch_are_not_taken_for_those_of_the_base_branch(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    git(agent.workspace, "stash", "-q")
    git(agent.workspace, "switch", "-qc", "other", "main")
    for text in ("KEPT = {'evil': 1}\n", "KEPT = {}\n"):
        (agent.workspace / "cache.py").write_text(text)
        git(agent.workspace, "commit", "-qam", "there and back")
    git(agent.workspace, "switch", "-q", agent.last["branch"])
    git(agent.workspace, "merge", "-q", "--no-ff", "--no-edit", "other")
    git(agent.workspace, "stash", "pop", "-q")
    await agent.step()
    assert "has commits that this server did not make" in str(agent.last["error"]), agent.last


async def test_a_file_that_only_the_base_branch_changed_is_no_evidence(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    move_main(agent, net="def fetch(url):\n    return open(url)\n")
    git(agent.workspace, "merge", "-q", "--no-edit", "main")
    await agent.session.check_write_target("load.py")
    agent.edit()
    proven = {"item": "retry loop", "status": "done", "evidence": "net.py:2"}
    report = {"task_id": "t1", "checklist": [proven], "tools_used": ["check_write_target"], "summary": "done"}
    told = await agent.submit(report)
    assert "lines 2 to 2 of 'net.py' were not changed" in told["error"]["problems"][0]
