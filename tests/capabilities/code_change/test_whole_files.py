"""Files that differ as a whole, by their mode or as binary ones, are changes like others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_change.played_agent import Agent, git, repository

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8


@pytest.fixture
async def agent(tmp_path: Path) -> Agent:
    root = repository(tmp_path / "project")
    (root / "cache.py").write_bytes(b"#!/usr/bin/env python3\nKEPT = {}\n")
    (root / "logo.png").write_bytes(PICTURE)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a picture")
    agent = Agent(root, tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    await agent.see("read_code", "logo.png")
    await agent.session.add_explored_files(["logo.png"])
    return agent


def changed_as_a_whole(agent: Agent, kind: str) -> str:
    """Change a file so, and return its name."""
    file = "cache.py" if kind == "mode" else "logo.png"
    path = agent.workspace / file
    if kind == "mode":
        path.chmod(0o755)
    elif kind == "binary":
        path.write_bytes(PICTURE + b"\0\1")
    else:
        path.write_bytes(PICTURE + b"\0\1")
        path.chmod(0o755)
    return file


@pytest.mark.parametrize("kind", ["mode", "binary", "binary and mode"])
async def test_a_file_that_differs_as_a_whole_is_proven_by_its_first_line_and_committed(
    agent: Agent, kind: str
) -> None:
    file = changed_as_a_whole(agent, kind)
    assert (await agent.session.check_write_target(file))["permitted"] is True
    items = [{"item": "retry loop", "status": "done", "evidence": f"{file}:1"}]
    report = {"task_id": "t1", "checklist": items, "tools_used": [], "summary": "done"}
    assert "error" not in await agent.submit(report), agent.last
    assert {"file": file, "how": "modified"} in (await agent.session.review_changes())["files"]
    content, mode = (agent.root / file).read_bytes(), (agent.root / file).stat().st_mode
    assert (await agent.finish())["outcome"] == "completed"
    assert (agent.root / file).read_bytes() == content
    assert (agent.root / file).stat().st_mode == mode
    assert git(agent.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("kind", ["mode", "binary"])
async def test_a_file_that_differs_as_a_whole_and_was_not_permitted_is_named(agent: Agent, kind: str) -> None:
    file = changed_as_a_whole(agent, kind)
    await agent.step()
    assert agent.last["step"] == 14, agent.last
    assert (await agent.session.review_changes())["unpermitted"] == [file]
    await agent.step()
    assert any(problem.startswith(f"files: {file} was changed") for problem in agent.last["error"]["problems"])


async def test_other_lines_of_a_file_whose_mode_changed_prove_nothing(agent: Agent) -> None:
    file = changed_as_a_whole(agent, "mode")
    await agent.session.check_write_target(file)
    items = [{"item": "retry loop", "status": "done", "evidence": f"{file}:2"}]
    await agent.submit({"task_id": "t1", "checklist": items, "tools_used": [], "summary": "done"})
    assert "were not changed" in agent.last["error"]["problems"][0]


async def test_attributes_do_not_make_a_text_file_one_that_is_proven_as_a_whole(agent: Agent) -> None:
    (agent.workspace / ".gitattributes").write_text("*.py -diff\n")
    await agent.session.check_write_target("load.py")
    agent.edit(text=(agent.workspace / "load.py").read_text() + "\n\nLATE = 1\n")
    items = [{"item": "retry loop", "status": "done", "evidence": "load.py:1"}]
    await agent.submit({"task_id": "t1", "checklist": items, "tools_used": [], "summary": "done"})
    assert "were not changed" in agent.last["error"]["problems"][0]
    items[0]["evidence"] = "load.py:8"
    assert "error" not in await agent.submit(
        {"task_id": "t1", "checklist": items, "tools_used": [], "summary": "done"}
    ), agent.last
