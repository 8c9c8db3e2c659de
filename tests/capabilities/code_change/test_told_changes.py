"""What a change holds beside its evidence is told: functions that do nothing, files that programs obey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_change.evidence.changed_lines import ALL_LINES, ChangedLines
from actors.capabilities.code_change.evidence.hollow_change import MAX_BYTES, hollow_in_change
from runtime.codebase.git.work_trees import Change
from runtime.contracts.obeyed_files import MAX_NAMED, obeyed
from tests.capabilities.code_change.played_agent import CHANGED, CODE, Agent, repository

PADDED = f"{CODE}\nLIMIT = 3\n\n\ndef load_again(url):\n    pass\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def reported(agent: Agent, text: str, evidence: str, **files: str) -> Agent:
    """Take a session up to a report that was accepted, with that evidence."""
    await agent.start()
    await agent.go_to(13)
    for file, content in {"load.py": text, **files}.items():
        assert (await agent.session.check_write_target(file))["permitted"]
        agent.edit(file, content)
    item = {"item": "retry loop", "status": "done", "evidence": evidence}
    payload = {"task_id": "t1", "checklist": [item], "tools_used": ["check_write_target"], "summary": "done"}
    assert "error" not in await agent.submit(payload)
    return agent


async def noted(agent: Agent) -> tuple[str, dict[str, Any]]:
    """Take a session to its end; return all notes of the last two steps, and the closing answer."""
    await agent.go_to(18)
    notes = str((await agent.step()).get("notes")) + str((await agent.step()).get("notes"))
    return notes, agent.last


async def test_a_function_that_does_nothing_is_told_though_the_evidence_names_another_line(agent: Agent) -> None:
    await reported(agent, PADDED, "load.py:7")
    told = await agent.session.review_changes()
    assert "these functions of the change do nothing" in str(told["doubtful_evidence"])
    assert "load_again in load.py" in str(told["doubtful_evidence"])
    notes, _ = await noted(agent)
    assert notes.count("load_again in load.py") == 2


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        (CHANGED, "load.py:5-10"),
        (f"{CODE}\n\nclass Sink(Protocol):\n    def load(self) -> None: ...\n", "load.py:8-9"),
        (f"{CODE}\n\ndef load_again(url):\n    return net.fetch(url)\n", "load.py:8-9"),
    ],
)
async def test_a_change_whose_functions_all_do_something_is_told_of_none(
    agent: Agent, text: str, evidence: str
) -> None:
    await reported(agent, text, evidence)
    assert "doubtful_evidence" not in await agent.session.review_changes()
    notes, _ = await noted(agent)
    assert "do nothing" not in notes


async def test_an_empty_function_that_was_there_and_that_nobody_touched_is_not_told(agent: Agent) -> None:
    await reported(agent, CHANGED, "load.py:5-10", **{"net.py": NET})
    assert "do nothing" not in str(await agent.session.review_changes())


NET = "def fetch(url):\n    raise OSError(f'{url} cannot be reached')\n"


async def test_files_that_programs_obey_are_told_to_the_end(agent: Agent) -> None:
    await reported(agent, CHANGED, "load.py:5-10", **{".claude/settings.json": "{}\n", "AGENTS.md": "# Rules\n"})
    assert ".claude/settings.json, AGENTS.md" in str((await agent.session.review_changes())["doubtful_evidence"])
    _, told = await noted(agent)
    warning = next(warning for warning in told["warnings"] if "obey these changed files" in warning)
    assert warning.endswith(": .claude/settings.json, AGENTS.md")


@pytest.mark.parametrize(
    "file",
    [
        *(".vscode/tasks.json", "sub/.claude/hooks/run.sh", ".github/workflows/test.yml", ".envrc", ".gitmodules"),
        *("docs/AGENTS.md", "claude.md", ".husky/pre-commit", "Jenkinsfile", "src/sitecustomize.py", "x.pth"),
    ],
)
def test_such_files_are_known_by_their_names(file: str) -> None:
    assert file in obeyed(["load.py", file])


@pytest.mark.parametrize(
    "file", ["load.py", ".github/ISSUE_TEMPLATE.md", "claude/settings.py", "docs/agents.py", ".gitignore", "path.py"]
)
def test_other_files_are_not(file: str) -> None:
    assert not obeyed([file])


@pytest.mark.parametrize(("count", "more"), [(MAX_NAMED, ""), (MAX_NAMED + 1, " and 1 more")])
def test_so_many_of_them_are_named(count: int, more: str) -> None:
    told = obeyed([f".claude/{number:03}" for number in range(count)])
    assert told.endswith(f".claude/{MAX_NAMED - 1:03}{more}")


def changed_file(folder: Path, text: str) -> ChangedLines:
    (folder / "new.py").write_text(text)
    return ChangedLines((Change("new.py", "added"),), {"new.py": ALL_LINES}, {}, frozenset())


@pytest.mark.parametrize(("more", "is_seen"), [(-1, True), (0, True), (1, False)])
def test_so_many_bytes_are_looked_at_and_what_is_not_is_told(tmp_path: Path, more: int, is_seen: bool) -> None:
    text = "def load(url):\n    pass\n"
    padded = text + "#" * (MAX_BYTES + more - len(text))
    told = hollow_in_change(tmp_path, changed_file(tmp_path, padded))
    assert ("load in new.py" in told) == is_seen
    assert ("do nothing: 1" in told) != is_seen


def test_a_file_of_many_functions_is_looked_at_once(tmp_path: Path) -> None:
    text = "".join(f"def load_{number}(url):\n    return fetch(url, {number})\n\n\n" for number in range(200))
    told = hollow_in_change(tmp_path, changed_file(tmp_path, f"{text}def load(url):\n    pass\n"))
    assert told.endswith(": load in new.py")
