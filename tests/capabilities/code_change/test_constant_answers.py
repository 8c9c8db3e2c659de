"""Functions that only give a constant answer are told to whoever reviews, and refused to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_change.played_agent import CHANGED, CODE, Agent, git, repository
from tests.capabilities.code_change.test_told_changes import noted, reported

ADDED = f"{CODE}\n\ndef is_known(url):\n    return True\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def test_one_is_accepted_as_evidence_and_told_to_the_end(agent: Agent) -> None:
    await reported(agent, ADDED, "load.py:8-9")
    told = str((await agent.session.review_changes())["doubtful_evidence"])
    assert "these functions of the change only give a constant answer, which may be meant: is_known in load.py" in told
    assert "'retry loop' (t1): is_known among its lines only gives a constant answer" in told
    notes, _ = await noted(agent)
    assert notes.count("is_known in load.py") == 2


async def test_one_that_gives_back_what_it_took_is_accepted_and_told(agent: Agent) -> None:
    await reported(agent, f"{CODE}\n\ndef cleaned(url):\n    return url\n", "load.py:8-9")
    told = str((await agent.session.review_changes())["doubtful_evidence"])
    assert "only give a constant answer, which may be meant: cleaned in load.py" in told


@pytest.mark.parametrize("file", ["sent.js", "sent.go", "Sent.java", "sent.rs"])
async def test_other_languages_are_told_alike(agent: Agent, file: str) -> None:
    texts = {
        "sent.js": "export function isSent(x) {\n  return true;\n}\n",
        "sent.go": "package a\n\nfunc isSent(x int) bool {\n\treturn true\n}\n",
        "Sent.java": "class Sent {\n  boolean isSent(int x) {\n    return true;\n  }\n}\n",
        "sent.rs": "fn isSent(x: u8) -> bool {\n    true\n}\n",
    }
    await reported(agent, CHANGED, f"{file}:1-{texts[file].count(chr(10))}", **{file: texts[file]})
    assert f"isSent in {file}" in str((await agent.session.review_changes())["doubtful_evidence"])


async def test_an_item_that_asks_for_a_constant_is_not_doubted(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(12)
    item = {"item": "is_known always returns True", "status": "pending"}
    task = {"id": "t1", "description": "is_known", "status": "pending", "checklist": [item]}
    await agent.submit({"tasks": [task], "tools_used": [], "summary": "one task"})
    await agent.session.check_write_target("load.py")
    agent.edit(text=ADDED)
    done = {**item, "status": "done", "evidence": "load.py:8-9"}
    told = await agent.submit(
        {"task_id": "t1", "checklist": [done], "tools_used": ["check_write_target"], "summary": "done"}
    )
    assert "error" not in told
    assert "notes" not in told


@pytest.mark.parametrize(
    ("before", "after"),
    [("    return 3\n", "    return 5\n"), ("    return 3\n", "    return 3  # three\n")],
)
async def test_one_that_was_constant_before_is_not_told(agent: Agent, before: str, after: str) -> None:
    (agent.root / "load.py").write_text(f"{CODE}\n\ndef tries():\n{before}")
    git(agent.root, "commit", "-qam", "tries")
    await reported(agent, f"{CHANGED}\n\ndef tries():\n{after}", "load.py:5-10")
    assert "constant" not in str((await agent.session.review_changes()).get("doubtful_evidence"))


async def test_one_that_did_something_before_is_told(agent: Agent) -> None:
    await reported(agent, CODE.replace("net.fetch(url)", "'page'"), "load.py:5")
    assert "load in load.py" in str((await agent.session.review_changes())["doubtful_evidence"])


@pytest.mark.parametrize(
    ("line", "is_told"),
    [("retries = lambda url: 0\n", True), ("retries = lambda url: url.count('/')\n", False)],
)
async def test_a_function_that_is_a_value_is_told_alike(agent: Agent, line: str, is_told: bool) -> None:
    await reported(agent, f"{CHANGED}\n\n{line}", "load.py:5-13")
    told = str((await agent.session.review_changes()).get("doubtful_evidence"))
    assert ("retries in load.py" in told or "retries among its lines" in told) is is_told
