"""A new file that git ignores is told where it would be written, with the pattern that is to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_change.played_agent import Agent, git, repository


async def planned(tmp_path: Path, ignores: dict[str, str]) -> Agent:
    root = repository(tmp_path / "project")
    (root / "docs/old_local.py").write_text("OLD = 1\n")
    git(root, "add", "-A")
    for file, text in ignores.items():
        (root / file).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "ignore")
    agent = Agent(root, tmp_path / "state")
    await agent.start()
    await agent.see("read_code", ".gitignore", "docs/old_local.py")
    await agent.go_to(13)
    await agent.session.add_explored_files([".gitignore", "docs/old_local.py"])
    return agent


@pytest.mark.parametrize(
    ("ignores", "file", "where"),
    [
        ({".gitignore": "*_local.py\n"}, "my_local.py", ".gitignore:1 (`*_local.py`)"),
        ({".gitignore": "# none\n", "docs/.gitignore": "\n\nmade*\n"}, "docs/made.py", "docs/.gitignore:3 (`made*`)"),
    ],
)
async def test_a_new_file_that_git_ignores_is_not_permitted(
    tmp_path: Path, ignores: dict[str, str], file: str, where: str
) -> None:
    agent = await planned(tmp_path, ignores)
    told = await agent.session.check_write_target(file)
    assert not told["permitted"]
    assert where in told["reason"]
    assert "change that pattern first" in told["reason"]


async def test_a_file_that_only_the_clone_ignores_is_told_without_a_place(tmp_path: Path) -> None:
    agent = await planned(tmp_path, {".gitignore": "# none\n"})
    (agent.root / ".git/info").mkdir(exist_ok=True)
    (agent.root / ".git/info/exclude").write_text("scratch*\n")
    told = await agent.session.check_write_target("scratch.py")
    assert "by info/exclude of the clone (`scratch*`)" in told["reason"]


async def test_files_that_git_sees_are_permitted_beside_such_patterns(tmp_path: Path) -> None:
    agent = await planned(tmp_path, {".gitignore": "*_local.py\n!kept_local.py\n"})
    for file in ("mine.py", "kept_local.py", "docs/old_local.py", "load.py"):
        told = await agent.session.check_write_target(file)
        assert told["permitted"], told


async def test_a_file_is_permitted_once_the_change_has_mended_the_pattern(tmp_path: Path) -> None:
    agent = await planned(tmp_path, {".gitignore": "*_local.py\n"})
    assert (await agent.session.check_write_target(".gitignore"))["permitted"]
    agent.edit(".gitignore", "*_local.pyc\n")
    assert (await agent.session.check_write_target("my_local.py"))["permitted"]
