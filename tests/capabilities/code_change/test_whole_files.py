"""Files that differ as a whole, by their mode or as binary ones, are changes like others."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import ChangedLines, changed_lines
from actors.capabilities.code_change.evidence.checklist_evidence import refutation
from actors.capabilities.code_change.evidence.proofs import proofs_of
from actors.capabilities.code_change.evidence.write_guard import is_ours
from runtime.contracts.session_state import ChecklistItem, Proof, Task
from runtime.contracts.shared_evidence import overused
from tests.capabilities.code_change.played_agent import CODE, Agent, git, repository

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


@pytest.mark.parametrize(
    ("item", "doubt"),
    [
        ("retry loop", "a change of its mode is all that proves it"),
        ("make it executable", ""),
        ("chmod the script", ""),
        ("set the mode", ""),
    ],
)
def test_a_mode_proves_an_item_that_does_not_speak_of_it_with_a_doubt(tmp_path: Path, item: str, doubt: str) -> None:
    changed = ChangedLines((), {}, {}, frozenset(), whole=frozenset({"a.py"}), modes=frozenset({"a.py"}))
    entry = {"item": item, "status": "done", "evidence": "a.py:1"}
    assert proofs_of([entry], tmp_path, changed)[item].doubt == doubt


@pytest.mark.parametrize(
    ("item", "doubt"),
    [("retry loop", "a deleted file is all that proves it"), ("delete a.py", ""), ("move a.py to b.py", "")],
)
def test_a_deleted_file_proves_an_item_that_does_not_speak_of_it_with_a_doubt(
    tmp_path: Path, item: str, doubt: str
) -> None:
    entry = {"item": item, "status": "done", "evidence": "deleted: a.py"}
    assert proofs_of([entry], tmp_path, ChangedLines((), {}, {}, frozenset({"a.py"})))[item].doubt == doubt


@pytest.mark.parametrize(("many", "is_refused"), [(4, False), (5, False), (6, True)])
@pytest.mark.parametrize("lines", [0, 4])
def test_a_whole_file_proves_no_more_items_than_removed_lines_do(many: int, is_refused: bool, lines: int) -> None:
    proofs = {f"item {n}": Proof("digest", lines) for n in range(many)}
    task = Task("t1", "mode", tuple(ChecklistItem(item) for item in proofs))
    problems = overused(task, dict.fromkeys(proofs, "a.py:1"), proofs, [task])
    assert bool(problems) is is_refused
    assert not problems or f"{'4 changed lines' if lines else 'a whole file'} and proves 5 items" in problems[0]


def test_a_zero_byte_does_not_make_code_a_file_that_is_proven_as_a_whole(tmp_path: Path) -> None:
    root = repository(tmp_path / "other")
    for name in ("load.py", "notes.dat"):
        (root / name).write_bytes((root / "load.py").read_bytes() + b"# \0\n")
    changed = changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours)
    assert changed.whole == {"notes.dat"}
    assert refutation("load.py:1", root, changed) is not None


async def test_a_mode_does_not_take_the_place_of_an_edit_that_was_taken_back(agent: Agent) -> None:
    await agent.session.check_write_target("load.py")
    agent.edit(text="import net as other\n" + CODE.partition("\n")[2])
    items = [{"item": "retry loop", "status": "done", "evidence": "load.py:1"}]
    await agent.submit({"task_id": "t1", "checklist": items, "tools_used": [], "summary": "done"})
    assert agent.last["step"] == 14, agent.last
    agent.edit(text=CODE)
    (agent.workspace / "load.py").chmod(0o755)
    await agent.step()
    assert "does not hold any more" in str(agent.last["notes"])


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
