"""The work tree of a session is gone, or its links are: that is told from the first answer on, and no edit is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.capabilities.code_change.played_agent import CHANGED, FILES, Agent, git, repository

LOST = "all edits that were not committed are lost"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """A server of sessions on a repository with uncommitted work: changes are made beside it."""
    root = repository(tmp_path / "project")
    (root / "cache.py").write_text("KEPT = {1: 2}\n")
    return Agent(root, tmp_path / "state")


async def edited(agent: Agent) -> Path:
    """Begin a session, edit a file of its work tree that a task is about, and return the folder."""
    await agent.start()
    await agent.go_to(13)
    await agent.session.check_write_target("load.py")
    agent.edit()
    return agent.workspace


async def test_that_edits_are_lost_is_the_first_thing_that_a_resumed_session_tells_and_it_stays_told(
    agent: Agent,
) -> None:
    folder = await edited(agent)
    shutil.rmtree(folder)
    agent = agent.restarted()
    told = await agent.start(recovery="resume")
    assert (next(iter(told)), told["step"], told["resumed"]) == ("notes", 13, True)
    assert told["notes"] == [told["warnings"][0]]
    assert LOST in told["notes"][0]
    assert str(folder) in told["notes"][0]
    assert LOST in (await agent.session.review_changes())["lost"]
    again = agent.restarted("a-third-process")
    told = await again.start(recovery="resume")
    assert "notes" not in told
    assert LOST in str(told["warnings"])
    again.edit()
    assert "lost" not in await again.session.review_changes()
    assert LOST in str((await again.finish())["warnings"])
    assert git(again.root, "show", "main:load.py") == CHANGED.strip()


async def test_that_the_work_tree_is_gone_is_told_before_anybody_chooses_to_go_on(agent: Agent) -> None:
    folder = await edited(agent)
    assert "notes" not in await agent.restarted().start()
    folder.rename(folder.with_name("copy"))
    again = agent.restarted()
    for told in (await again.start(), await again.sessions.left_over()):
        assert told["recovery_available"]
        assert f"work tree {folder} is gone" in str(told["notes"])
    folder.with_name("copy").rename(folder)
    told = await again.start(recovery="resume")
    assert "notes" not in told
    assert (folder / "load.py").read_text() == CHANGED
    await again.finish()
    assert git(again.root, "show", "main:load.py") == CHANGED.strip()


async def test_a_work_tree_that_was_moved_with_the_state_folder_goes_on_with_its_edits(agent: Agent) -> None:
    folder = await edited(agent)
    state = agent.state_dir.rename(agent.state_dir.with_name("moved"))
    again = Agent(agent.root, state, owner="another-process")
    assert "notes" not in await again.start()
    told = await again.start(recovery="resume")
    assert LOST not in str(told)
    assert again.workspace == state.resolve() / "trees" / folder.name
    assert (again.workspace / "load.py").read_text() == CHANGED
    await again.finish()
    assert git(again.root, "show", "main:load.py") == CHANGED.strip()
    assert not agent.state_dir.exists()
    assert git(again.root, "worktree", "list").count("\n") == 0


async def test_files_of_a_work_tree_that_are_put_back_after_the_merge_are_told_and_the_session_ends(
    agent: Agent, tmp_path: Path
) -> None:
    await agent.start()
    await agent.go_to(19)
    folder, copy = agent.workspace, tmp_path / "copy"
    shutil.copytree(agent.state_dir, copy, symlinks=True)
    await agent.finish()
    shutil.rmtree(agent.state_dir)
    copy.rename(agent.state_dir)
    again = agent.restarted()
    told = await again.start(recovery="resume")
    assert f"{folder} holds files, and its branch" in str(told["error"])
    folder.rename(tmp_path / "away")
    await again.start(recovery="resume")
    assert (await again.finish())["outcome"] == "completed"


def forgotten_by_the_folder(root: Path, folder: Path) -> None:
    (folder / ".git").unlink()


def forgotten_by_the_repository(root: Path, folder: Path) -> None:
    shutil.rmtree(root / ".git" / "worktrees")


def forgotten_by_both(root: Path, folder: Path) -> None:
    forgotten_by_the_folder(root, folder)
    forgotten_by_the_repository(root, folder)


UNLINKED: tuple[Callable[[Path, Path], None], ...] = (
    forgotten_by_the_folder,
    forgotten_by_the_repository,
    forgotten_by_both,
)


@pytest.mark.parametrize("unlink", UNLINKED)
async def test_files_whose_links_are_gone_stay_as_they_are_and_are_linked_again(
    agent: Agent, unlink: Callable[[Path, Path], None]
) -> None:
    folder = await edited(agent)
    (folder / "net.py").unlink()
    unlink(agent.root, folder)
    agent = agent.restarted()
    told = await agent.start(recovery="resume")
    assert "is again; its files stayed as they were found" in told["notes"][0]
    assert (folder / "load.py").read_text() == CHANGED
    seen = await agent.session.review_changes()
    assert seen["files"] == [{"file": "load.py", "how": "modified"}, {"file": "net.py", "how": "deleted"}]
    assert "lost" not in seen
    assert git(folder, "status", "--porcelain") == "M load.py\n D net.py"
    (folder / "net.py").write_text(FILES["net.py"])
    await agent.finish()
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()
