"""What others committed to the base branch is told, and never vouched for: neither by words nor by passed checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.session.workplaces import performed
from runtime.contracts.observations import Effect
from tests.capabilities.code_change.played_agent import Agent, git, repository
from tests.capabilities.code_change.test_checked_commits import contract
from tests.capabilities.code_change.test_merged_bases import move_main
from tests.examples import long_but

PASSES_WITHOUT = "! grep -q evil cache.py"


def player(tmp_path: Path, *, checked: bool) -> Agent:
    root = repository(tmp_path / "project")
    return Agent(root, tmp_path / "state", *([contract(PASSES_WITHOUT)] if checked else []))


def merge_by_hand(agent: Agent, text: str) -> str:
    """Merge the task branch as an agent may, commit more to the base branch, delete the task branch."""
    branch = str(agent.last["branch"])
    git(agent.root, "switch", "-q", "main")
    git(agent.root, "merge", "-q", "--no-ff", "--no-edit", branch)
    (agent.root / "cache.py").write_text(text)
    git(agent.root, "commit", "-qam", "more")
    git(agent.root, "branch", "-D", branch)
    return git(agent.root, "rev-parse", "main")


async def test_a_base_branch_that_the_agent_merged_and_moved_itself_is_told(tmp_path: Path) -> None:
    agent = player(tmp_path, checked=False)
    await agent.start()
    await agent.go_to(19)
    evil = merge_by_hand(agent, "evil = 1\n")
    told = await agent.step()
    assert told["outcome"] == "completed"
    said = "main got commits since this session began that it did not make, 2 in all"
    assert said in str(told["warnings"])
    assert evil[:12] in str(told["warnings"])


async def test_the_checks_run_on_what_the_base_branch_is_then(tmp_path: Path) -> None:
    agent = player(tmp_path, checked=True)
    await agent.start()
    await agent.go_to(19)
    head = agent.session.state.place.head if agent.session.state.place else ""
    branch = agent.last["branch"]
    merge_by_hand(agent, "evil = 1\n")
    problems = str((await agent.step())["error"]["problems"])
    assert f"{branch} is gone, and main is at" in problems
    assert f"`git branch {branch} {head}` brings the branch back" in problems
    assert "check 'tests' fails on it" in problems
    assert agent.last["step"] == 19


async def test_a_moved_base_branch_on_which_the_checks_pass_is_told_all_the_same(tmp_path: Path) -> None:
    agent = player(tmp_path, checked=True)
    await agent.start()
    await agent.go_to(19)
    merge_by_hand(agent, "sound = 1\n")
    told = await agent.step()
    assert told["outcome"] == "completed"
    assert "main got commits since this session began" in str(told["warnings"])
    assert "the operator's checks passed on what is there now" in str(told["notes"])


@pytest.mark.parametrize("is_out", long_but([False, True], 1), ids=["switched away", "edited"])
async def test_checks_that_cannot_run_on_the_base_branch_are_waited_for(tmp_path: Path, is_out: bool) -> None:
    agent = player(tmp_path, checked=True)
    await agent.start()
    await agent.go_to(19)
    merge_by_hand(agent, "sound = 1\n")
    if is_out:
        (agent.root / "cache.py").write_text("edited = 1\n")
    else:
        git(agent.root, "switch", "-qc", "elsewhere")
    problem = (await agent.step())["error"]["problems"][0]
    assert "the checks of the contract (tests) have not passed on it" in problem
    git(agent.root, "checkout", "-q", "--", "cache.py")
    git(agent.root, "switch", "-q", "main")
    assert (await agent.step())["outcome"] == "completed"


@pytest.mark.parametrize("checked", long_but([False, True], 1))
async def test_a_merge_that_is_repeated_after_a_kill_is_the_sessions_own(tmp_path: Path, checked: bool) -> None:
    agent = player(tmp_path, checked=checked)
    await agent.start()
    await agent.go_to(19)
    performed(Effect("merge"), agent.session.state, agent.ports)
    told = await agent.step()
    assert told["outcome"] == "completed"
    assert "warnings" not in told


async def test_commits_that_others_made_meanwhile_are_told_with_the_merge(tmp_path: Path) -> None:
    agent = player(tmp_path, checked=False)
    await agent.start()
    await agent.go_to(19)
    move_main(agent, net="Needed = 1\n")
    moved = git(agent.root, "rev-parse", "main")
    told = await agent.step()
    assert told["outcome"] == "completed"
    assert f"1 in all ({moved[:12]})" in str(told["warnings"])


async def test_commits_that_were_merged_into_the_change_are_told_too(tmp_path: Path) -> None:
    agent = player(tmp_path, checked=False)
    await agent.start()
    await agent.go_to(14)
    move_main(agent, net="Needed = 1\n")
    moved = git(agent.root, "rev-parse", "main")
    git(agent.workspace, "merge", "-q", "main")
    told = await agent.finish()
    assert f"1 in all ({moved[:12]})" in str(told["warnings"])


async def test_six_commits_of_others_are_told_by_five_and_a_count(tmp_path: Path) -> None:
    agent = player(tmp_path, checked=False)
    await agent.start()
    await agent.go_to(19)
    for number in range(6):
        move_main(agent, net=f"Needed = {number}\n")
    assert "6 in all (" in str((await agent.step())["warnings"])
    assert " and 1 more)" in str(agent.last["warnings"])
