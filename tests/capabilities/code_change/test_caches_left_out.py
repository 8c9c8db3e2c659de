"""What interpreters and tools keep for themselves is no part of a change, and helps no command to pass."""

from __future__ import annotations

import importlib.util
import marshal
import struct
import sys
from pathlib import Path

import pytest

from runtime.contracts.contract import Contract
from runtime.contracts.loading import parse_contract
from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository
from tests.runtime.contracts.test_loading import SHIPPED

COMPILED = f"__pycache__/load.{sys.implementation.cache_tag}.pyc"
PASSES_ON_PLANTED = "import load, sys; sys.exit(not hasattr(load, 'PLANTED'))"


def contract(script: str, *options: str) -> Contract:
    command = f'[{", ".join((sys.executable, *options))}, -c, "{script}"]'
    named = f"    duty: verify\n    checks: [{{name: tests, command: {command}}}]\n"
    return parse_contract(SHIPPED.replace("    duty: verify\n", named))


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


def leave(folder: Path, *files: str) -> None:
    for file in files or (COMPILED, "docs/__pycache__/a.cpython-311.pyc", ".pytest_cache/v/cache/lastfailed"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(bytes(16))


def plant(folder: Path, *, is_checked: bool) -> None:
    """Compile another source as if it were that of load.py."""
    source = folder / "load.py"
    code = marshal.dumps(compile(f"{CHANGED}\nPLANTED = 1\n", str(source), "exec"))
    stat = source.stat()
    checked = struct.pack("<III", 0, int(stat.st_mtime) & 0xFFFFFFFF, stat.st_size)
    unchecked = struct.pack("<I", 1) + importlib.util.source_hash(source.read_bytes())
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / COMPILED).write_bytes(importlib.util.MAGIC_NUMBER + (checked if is_checked else unchecked) + code)


async def test_they_make_no_folder_dirty_and_are_not_committed(agent: Agent) -> None:
    leave(agent.root)
    await agent.start()
    await agent.go_to(13)
    assert agent.workspace == agent.root
    leave(agent.root, "docs/__pycache__/later.cpython-311.pyc")
    assert (await agent.finish())["outcome"] == "completed"
    assert git(agent.root, "show", "--name-only", "--format=", "HEAD^2") == "load.py"
    assert (agent.root / COMPILED).exists()


async def test_a_review_says_in_one_sentence_that_they_were_left_out(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    leave(agent.workspace)
    seen = await agent.session.review_changes()
    assert [row["file"] for row in seen["files"]] == ["load.py"]
    assert "unpermitted" not in seen
    assert seen["left_out"].startswith("1 file in .pytest_cache, 2 files in __pycache__ left out: ")


async def test_a_review_of_a_folder_without_any_says_nothing_of_them(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    assert "left_out" not in await agent.session.review_changes()


async def test_one_that_the_agent_has_staged_is_left_out_too(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    leave(agent.workspace, COMPILED)
    git(agent.workspace, "add", "-A")
    assert (await agent.finish())["outcome"] == "completed"
    assert git(agent.root, "ls-files", "__pycache__") == ""


async def test_one_that_a_commit_holds_belongs_to_the_change(agent: Agent) -> None:
    leave(agent.root, COMPILED)
    git(agent.root, "add", "-A")
    git(agent.root, "commit", "-qm", "compiled")
    await agent.start()
    await agent.go_to(17)
    (agent.workspace / COMPILED).write_bytes(bytes(20))
    assert [row["file"] for row in (await agent.session.review_changes())["files"]] == [COMPILED, "load.py"]


@pytest.mark.parametrize("file", ["__pycache__/conftest.py", ".pytest_cache/conftest.py", "node_modules/a.js"])
async def test_what_could_be_loaded_from_there_is_refused_as_any_other_file(agent: Agent, file: str) -> None:
    await agent.start()
    await agent.go_to(17)
    leave(agent.workspace, file)
    await agent.step()
    assert f"{file} was changed, but" in str(agent.last["error"])


@pytest.mark.parametrize("is_ignored", [False, True])
@pytest.mark.parametrize("is_checked", [False, True])
async def test_a_compiled_module_of_another_source_lets_no_command_pass(
    tmp_path: Path, is_ignored: bool, is_checked: bool
) -> None:
    root = repository(tmp_path / "project")
    if is_ignored:
        (root / ".gitignore").write_text("__pycache__/\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "ignored")
    agent = Agent(root, tmp_path / "state", contract(PASSES_ON_PLANTED))
    await agent.start()
    await agent.go_to(15)
    plant(agent.workspace, is_checked=is_checked)
    await agent.step()
    assert "check 'tests'" in str(agent.last) or f"{COMPILED} was changed" in str(agent.last["error"])
    assert agent.session.state.phase != "PRE_COMMIT"


ISOLATED = f"import sys; sys.path.insert(0, '.'); {PASSES_ON_PLANTED}"


@pytest.mark.parametrize("is_link", [False, True])
async def test_nor_does_it_where_an_isolated_interpreter_does_not_see_the_variable(
    tmp_path: Path, is_link: bool
) -> None:
    root = repository(tmp_path / "project")
    (root / ".gitignore").write_text("__pycache__\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "ignored")
    agent = Agent(root, tmp_path / "state", contract(ISOLATED, "-I"))
    await agent.start()
    await agent.go_to(15)
    plant(agent.workspace, is_checked=True)
    if is_link:
        (agent.workspace / "__pycache__").rename(tmp_path / "away")
        (agent.workspace / "__pycache__").symlink_to(tmp_path / "away")
    await agent.step()
    assert "check 'tests'" in str(agent.last)
    assert agent.session.state.phase != "PRE_COMMIT"


async def test_one_that_a_check_leaves_does_not_help_the_next(tmp_path: Path) -> None:
    first = f"[{sys.executable}, -c, \"import os; os.makedirs('__pycache__'); os.rename('made', '{COMPILED}')\"]"
    second = f'[{sys.executable}, -I, -c, "{ISOLATED}"]'
    checks = f"    checks: [{{name: first, command: {first}}}, {{name: second, command: {second}}}]\n"
    text = SHIPPED.replace("    duty: verify\n", f"    duty: verify\n{checks}")
    root = repository(tmp_path / "project")
    (root / ".gitignore").write_text("__pycache__/\nmade\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "ignored")
    agent = Agent(root, tmp_path / "state", parse_contract(text))
    await agent.start()
    await agent.go_to(15)
    plant(agent.workspace, is_checked=True)
    (agent.workspace / COMPILED).rename(agent.workspace / "made")
    (agent.workspace / "__pycache__").rmdir()
    await agent.step()
    assert "check 'second'" in str(agent.last)


async def test_one_that_the_base_holds_is_there_for_the_checks(tmp_path: Path) -> None:
    script = f"import os, sys; sys.exit(not os.path.exists('{COMPILED}'))"
    root = repository(tmp_path / "project")
    leave(root, COMPILED)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "compiled")
    agent = Agent(root, tmp_path / "state", contract(script))
    await agent.start()
    await agent.go_to(17)
    assert agent.session.state.phase == "PRE_COMMIT"


async def test_a_command_that_leaves_caches_changes_no_files(tmp_path: Path) -> None:
    script = "import os; os.makedirs('docs/__pycache__'); open('docs/__pycache__/a.pyc', 'wb').write(bytes(16))"
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", contract(script))
    await agent.start()
    await agent.go_to(17)
    assert agent.session.state.warnings == ()
    assert list(agent.session.state.checked) == ["POST_IMPL_VERIFY"]


async def test_one_is_not_permitted_to_be_written(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    told = await agent.session.check_write_target(COMPILED)
    assert told["reason"].endswith("in __pycache__ that a tool keeps for itself, which are no part of a change")


async def test_those_that_are_made_beside_a_work_tree_are_no_edit_of_the_user(agent: Agent) -> None:
    (agent.root / "cache.py").write_text("KEPT = {1: 2}\n")
    await agent.start()
    await agent.go_to(13)
    leave(agent.root)
    assert "notes" not in await agent.session.status()
