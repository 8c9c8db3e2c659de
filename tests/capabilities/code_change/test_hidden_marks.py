"""Marks of the index and replaced objects hide nothing from a commit, and nothing from the commands of a contract."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository
from tests.capabilities.code_change.test_cheats import commit_of
from tests.capabilities.code_change.test_checked_commits import BROKEN, contract, player

FLAGS = ["--assume-unchanged", "--skip-worktree"]
# A command that looks at what git says is changed.
OF_GIT = "! git diff main -- load.py | grep -q BROKEN"


def carry_out(told: str) -> None:
    """Run the commands that a problem names."""
    for command in re.findall("`(.*?)`", told):
        subprocess.run(["sh", "-c", command], check=True)


@pytest.mark.parametrize("flag", FLAGS)
async def test_a_file_that_the_index_hides_from_step_17_on_is_committed_as_it_was_reviewed(
    tmp_path: Path, flag: str
) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(17)
    git(agent.root, "update-index", flag, "load.py", "net.py")
    await agent.step()
    assert agent.last["step"] == 18
    assert git(agent.root, "show", "HEAD:load.py") == CHANGED.strip()
    # A mark of a file that is no part of the change is somebody else's.
    marked = {line[2:]: line[0] for line in git(agent.root, "ls-files", "-v").splitlines()}
    assert marked["net.py"] != "H"
    await agent.finish()
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()


@pytest.mark.parametrize("flags", [*([flag] for flag in FLAGS), FLAGS], ids=["assumed", "skipped", "both"])
async def test_checks_do_not_run_while_the_index_hides_an_edit_from_them(tmp_path: Path, flags: list[str]) -> None:
    agent = player(tmp_path, contract(OF_GIT))
    await agent.start()
    await agent.go_to(15)
    agent.edit(text=BROKEN)
    for flag in flags:
        git(agent.root, "update-index", flag, "load.py")
    problem = (await agent.step())["error"]["problems"][0]
    assert "hides from git that these files are changed: load.py" in problem
    assert agent.last["step"] == 15
    assert agent.session.state.checked == {}
    carry_out(problem)
    assert "check 'tests' fails" in (await agent.step())["error"]["problems"][0]


async def test_a_mark_of_a_file_that_is_as_the_index_says_stops_no_check(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(OF_GIT))
    await agent.start()
    await agent.go_to(15)
    git(agent.root, "update-index", "--assume-unchanged", "net.py")
    assert (await agent.step())["step"] == 17


async def test_a_commit_that_git_would_replace_shows_the_checks_nothing_else(tmp_path: Path) -> None:
    agent = player(tmp_path, contract(OF_GIT))
    await agent.start()
    await agent.go_to(15)
    agent.edit(text=BROKEN)
    git(agent.root, "replace", "main", commit_of(agent.root, {"load.py": BROKEN}))
    assert "check 'tests' fails" in (await agent.step())["error"]["problems"][0]


@pytest.mark.long
@pytest.mark.parametrize("flag", FLAGS)
async def test_edits_of_the_person_that_the_index_hides_are_uncommitted_work_as_any(tmp_path: Path, flag: str) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    git(agent.root, "update-index", flag, "cache.py")
    (agent.root / "cache.py").write_text("KEPT = {1: 2}\n")
    await agent.start()
    await agent.go_to(13)
    assert agent.workspace != agent.root
    await agent.finish()
    assert (agent.root / "cache.py").read_text() == "KEPT = {1: 2}\n"
    assert (agent.root / "load.py").read_text() == CHANGED
