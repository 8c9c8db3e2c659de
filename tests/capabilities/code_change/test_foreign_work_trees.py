"""Something else lies where a work tree was made: it stays as it is, and what lies there is told with what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.git.commits import lay_aside
from runtime.codebase.git.identity import Identity
from runtime.errors import GitWriteError
from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository
from tests.capabilities.code_change.test_lost_work_trees import edited

WHO = Identity("A Tester", "tester@example.org")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """A server of sessions on a repository with uncommitted work: changes are made beside it."""
    root = repository(tmp_path / "project")
    (root / "cache.py").write_text("KEPT = {1: 2}\n")
    return Agent(root, tmp_path / "state")


def contents(folder: Path) -> dict[str, object]:
    """Return all that lies below a folder, by path."""
    return {
        str(each.relative_to(folder)): each.readlink() if each.is_symlink() else each.is_file() and each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.name != "index"
    }


def a_link(folder: Path, other: Path) -> str:
    shutil.rmtree(folder)
    folder.symlink_to(other)
    return f"{folder} is a link to {other}"


def a_link_around_it(folder: Path, other: Path) -> str:
    folder.rename(other / folder.name)
    folder.parent.rmdir()
    folder.parent.symlink_to(other)
    return f"{folder.parent} is a link to {other}"


def a_link_of_git(folder: Path, other: Path) -> str:
    (folder / ".git").unlink()
    (folder / ".git").symlink_to(other / "precious.txt")
    return f"its .git is a link to {other}/precious.txt"


def a_file(folder: Path, other: Path) -> str:
    shutil.rmtree(folder)
    folder.write_text("a file\n")
    return "it is no folder"


def a_repository(folder: Path, other: Path) -> str:
    shutil.rmtree(folder)
    repository(folder)
    return "it is a repository of its own"


def the_git_of_another_repository(folder: Path, other: Path) -> str:
    (folder / ".git").write_text(f"gitdir: {repository(other / 'theirs')}/.git\n")
    return f"its .git leads to {other}/theirs/.git, which belongs to another repository"


FOREIGN: tuple[Callable[[Path, Path], str], ...] = (
    a_link,
    a_link_around_it,
    a_link_of_git,
    a_file,
    a_repository,
    the_git_of_another_repository,
)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    made = (tmp_path / "other").resolve()
    made.mkdir()
    (made / "precious.txt").write_text("precious\n")
    return made


@pytest.mark.parametrize("replace", FOREIGN)
async def test_what_lies_in_the_place_of_a_work_tree_is_told_and_stays_as_it_is(
    agent: Agent, other: Path, replace: Callable[[Path, Path], str]
) -> None:
    folder = await edited(agent)
    said = replace(folder, other)
    before = contents(other), contents(agent.state_dir / "trees"), contents(agent.root / ".git" / "worktrees")
    told = await agent.submit({})
    assert said in str(told["error"])
    agent = agent.restarted()
    assert said in str((await agent.start())["notes"])
    told = await agent.start(recovery="resume")
    assert said in str(told["error"])
    assert "git config" not in str(told)
    branch = git(agent.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/llm_task_*")
    with pytest.raises(GitWriteError, match="something else lies there now"):
        lay_aside(agent.root, branch, WHO, agent.state_dir / "trees", lambda _file: False, 0)
    assert git(agent.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/llm_task_*") == branch
    after = contents(other), contents(agent.state_dir / "trees"), contents(agent.root / ".git" / "worktrees")
    assert after == before


async def test_a_work_tree_whose_git_was_led_elsewhere_is_linked_again_once_that_is_removed(
    agent: Agent, other: Path
) -> None:
    folder = await edited(agent)
    the_git_of_another_repository(folder, other)
    agent = agent.restarted()
    assert "remove that .git, and they are linked again" in str(await agent.start(recovery="resume"))
    (folder / ".git").unlink()
    assert "linked to its repository, and is again" in str((await agent.start(recovery="resume"))["notes"])
    assert (folder / "load.py").read_text() == CHANGED
    await agent.finish()
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()


async def test_a_work_tree_whose_git_leads_in_a_circle_is_linked_again(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    (agent.workspace / "loop").symlink_to("loop")
    (agent.workspace / ".git").write_text("gitdir: loop\n")
    resumed = agent.restarted()
    assert (await resumed.start(recovery="resume"))["step"] == 14
    (resumed.workspace / "loop").unlink()
    assert (await resumed.finish())["outcome"] == "completed"


@pytest.mark.long
async def test_what_was_taken_away_for_a_work_tree_makes_room_for_it(agent: Agent, other: Path) -> None:
    folder = await edited(agent)
    a_link(folder, other)
    folder.unlink()
    agent = agent.restarted()
    assert "made anew from its branch" in str((await agent.start(recovery="resume"))["notes"])
    assert (await agent.finish())["outcome"] == "completed"


async def test_no_work_tree_is_made_behind_a_link(agent: Agent, other: Path) -> None:
    trees = agent.state_dir / "trees"
    trees.symlink_to(other)
    await agent.start()
    with pytest.raises(AssertionError, match="is a link to"):
        await agent.go_to(13)
    assert list(contents(other)) == ["precious.txt"]
    assert git(agent.root, "branch", "--list", "llm_task_*") == ""
    trees.unlink()
    assert (await agent.finish())["outcome"] == "completed"


@pytest.mark.long
async def test_a_work_tree_that_git_moved_is_not_made_anew_and_can_be_moved_back(agent: Agent, tmp_path: Path) -> None:
    folder = await edited(agent)
    moved = (tmp_path / "moved").resolve()
    git(agent.root, "worktree", "move", str(folder), str(moved))
    agent = agent.restarted()
    told = await agent.start(recovery="resume")
    assert f"`git worktree move {moved} {folder}` in {agent.root} puts it back" in str(told["error"])
    git(agent.root, "worktree", "move", str(moved), str(folder))
    assert "notes" not in await agent.start(recovery="resume")
    await agent.finish()
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()


@pytest.mark.parametrize("is_gone", [False, True], ids=["linked", "link gone"])
async def test_edits_are_kept_where_a_branch_is_laid_aside_whether_or_not_their_link_is_gone(
    agent: Agent, is_gone: bool
) -> None:
    folder = await edited(agent)
    if is_gone:
        (folder / ".git").unlink()
    branch = git(agent.root, "for-each-ref", "--format=%(refname:short)", "refs/heads/llm_task_*")
    aside = lay_aside(agent.root, branch, WHO, folder.parent, lambda _file: False, 0)
    assert git(agent.root, "show", f"{aside.kept_as}:load.py") == CHANGED.strip()
    assert not folder.exists()


async def test_nothing_is_written_through_links_within_the_repository(agent: Agent, other: Path) -> None:
    worktrees = agent.root / ".git" / "worktrees"
    worktrees.symlink_to(other)
    await agent.start()
    with pytest.raises(AssertionError, match="worktrees is a link to"):
        await agent.go_to(13)
    assert list(contents(other)) == ["precious.txt"]
