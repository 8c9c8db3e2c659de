"""One changed line proves at most two items; what shares its lines, lies elsewhere or was only moved is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_change.evidence.changed_lines import MAX_DELETED_FILE_BYTES, changed_lines
from runtime.contracts.session_state import ChecklistItem, Proof, Task
from runtime.contracts.shared_evidence import MAX_DOUBTS, doubts_of, overused, unclaimed
from tests.capabilities.code_change.played_agent import Agent, git, repository
from tests.capabilities.code_change.test_cheats import problems

ONE_LINE = "import net\n\nTRIES = 3\n\n\ndef load(url):\n    return net.fetch(url)\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def planned(agent: Agent, *checklists: Sequence[str], **fields: Any) -> None:
    await agent.start()
    await agent.go_to(12)
    tasks = [
        {
            "id": f"t{number}",
            "description": "a task",
            "status": "pending",
            "checklist": [{"item": item, "status": "pending"} for item in items],
        }
        for number, items in enumerate(checklists, 1)
    ]
    await agent.submit({"tasks": tasks, "tools_used": [], "summary": "tasks"})
    assert "error" not in agent.last


async def report(agent: Agent, text: str, **evidence: str) -> dict[str, Any]:
    await agent.session.check_write_target("load.py")
    agent.edit("load.py", text)
    task = agent.last["next_task"]
    items = [
        {"item": each["item"], "status": "done", "evidence": evidence.get(each["item"].split()[0], "load.py:3")}
        for each in task["checklist"]
    ]
    payload = {"task_id": task["id"], "checklist": items, "tools_used": [], "summary": "done"}
    return await agent.submit(payload)


async def test_one_line_proves_two_items_and_says_so(agent: Agent) -> None:
    await planned(agent, ["a first thing", "a second thing"])
    told = await report(agent, ONE_LINE)
    assert "error" not in told
    said = "'a first thing' (t1), 'a second thing' (t1) are proven by the same 1 changed line, load.py:3"
    assert said in str(told["notes"])
    assert (await agent.session.review_changes())["doubtful_evidence"] == [said]


async def test_one_line_does_not_prove_three_items(agent: Agent) -> None:
    await planned(agent, ["a first thing", "a second thing", "a third thing"])
    await report(agent, ONE_LINE)
    assert "checklist[2].evidence: load.py:3 is 1 changed line and proves 2 items already" in problems(agent)


async def test_the_line_that_proved_a_task_does_not_prove_the_next_ones_in_a_wider_range(agent: Agent) -> None:
    await planned(agent, ["a first thing", "a second thing"], ["a third thing"])
    assert "error" not in await report(agent, ONE_LINE)
    await report(agent, ONE_LINE, a="load.py:2-3")
    assert "proves 2 items already" in problems(agent)
    await report(agent, ONE_LINE, a="load.py:3-7")
    assert "proves 2 items already" in problems(agent)


async def test_other_lines_in_the_same_place_are_other_evidence(agent: Agent) -> None:
    await planned(agent, ["a first thing", "a second thing"], ["a third thing"])
    assert "error" not in await report(agent, ONE_LINE)
    more = ONE_LINE.replace("TRIES", "WAIT_S = 5\nTRIES")
    assert "error" not in await report(agent, more)


async def test_an_item_that_names_another_file_than_its_evidence_is_told(agent: Agent) -> None:
    await planned(agent, ["say it in docs/rules.md"])
    told = await report(agent, ONE_LINE)
    assert "the item names docs/rules.md, its evidence lies in load.py" in str(told["notes"])


async def test_lines_that_were_only_moved_are_told(agent: Agent) -> None:
    moved = "def load(url):\n    return net.fetch(url)\n\n\nimport net\n"
    await planned(agent, ["implement the retry"])
    told = await report(agent, moved, implement="load.py:5")
    assert "'implement the retry' (t1): its lines were moved, and are as they were" in str(told["notes"])


@pytest.mark.parametrize(
    ("item", "is_told"), [("implement the retry", True), ("rename net.py to wire.py", False), ("split net.py", False)]
)
async def test_a_whole_file_that_was_moved_proves_unrelated_work_only_with_a_word(
    agent: Agent, item: str, *, is_told: bool
) -> None:
    await planned(agent, [item])
    for file in ("net.py", "wire.py"):
        await agent.see("read_code", "net.py")
        assert (await agent.session.check_write_target(file))["permitted"]
    (agent.workspace / "net.py").rename(agent.workspace / "wire.py")
    entry = {"item": item, "status": "done", "evidence": "wire.py:1-2"}
    told = await agent.submit(
        {"task_id": "t1", "checklist": [entry], "tools_used": ["check_write_target"], "summary": "done"}
    )
    assert "error" not in told, told["error"]
    assert ("its lines were moved, and are as they were" in str(told.get("notes"))) is is_told


async def test_a_deleted_file_of_many_lines_is_not_compared_with_what_was_moved(agent: Agent) -> None:
    (agent.root / "net.py").write_text("x = 1\n" * (MAX_DELETED_FILE_BYTES // 6 + 1))
    (agent.root / "cache.py").write_bytes(b"\0\xff" * 5_000)
    git(agent.root, "commit", "-qam", "large and binary")
    (agent.root / "net.py").unlink()
    (agent.root / "cache.py").unlink()
    (agent.root / "docs" / "rules.md").unlink()
    changed = changed_lines(agent.root, git(agent.root, "rev-parse", "HEAD"), lambda file: False)
    assert {"# Rules", "Retry at most three times."} <= changed.removed
    assert "x = 1" not in changed.removed


def test_doubts_are_told_within_bounds() -> None:
    items = [ChecklistItem("x" * 500, "done", "a.py:1", proof=Proof(str(n), 1, "d")) for n in range(MAX_DOUBTS + 1)]
    told = doubts_of([Task("t" * 64, "d", tuple(items))])
    assert len(told) == MAX_DOUBTS + 1
    assert told[-1] == "and 1 more doubts of this kind"
    assert sum(map(len, told)) < 2_000


def test_a_task_that_mends_another_may_name_its_lines() -> None:
    proof = Proof("d", 1)
    first = Task(
        "t1", "d", (ChecklistItem("a", "done", "l", proof=proof), ChecklistItem("b", "done", "l", proof=proof))
    )
    mends = Task("t2", "d", (ChecklistItem("c"),), fixes="t1")
    other = Task("t3", "d", (ChecklistItem("c"),))
    assert overused(mends, {"c": "l"}, {"c": proof}, [first, mends, other]) == []
    assert len(overused(other, {"c": "l"}, {"c": proof}, [first, mends, other])) == 1


async def test_a_task_that_skips_every_item_beside_an_edit_is_told_up_to_the_merge(agent: Agent) -> None:
    await planned(agent, ["a first thing"])
    await agent.session.check_write_target("load.py")
    agent.edit("load.py", ONE_LINE)
    skipped = [{"item": "a first thing", "status": "skipped", "reason": "it is not needed any more"}]
    told = await agent.submit({"task_id": "t1", "checklist": skipped, "tools_used": [], "summary": "skipped"})
    said = "changed, but no accepted item names them as evidence: load.py; every item was skipped of: t1"
    assert said in str(told["notes"])
    await agent.go_to(17)
    assert said in (await agent.session.review_changes())["doubtful_evidence"]
    await agent.go_to(19)
    assert said in agent.last["warnings"]
    assert said in (await agent.finish())["warnings"]


def test_files_behind_accepted_items_are_claimed() -> None:
    items = (ChecklistItem("a", "done", "a.py:1-2"), ChecklistItem("b", "done", "deleted: b.py"))
    tasks = [Task("t1", "d", items, status="completed")]
    assert unclaimed(tasks, ["a.py", "b.py"]) == ""
    assert unclaimed(tasks, ["a.py", "c.py"]) == "changed, but no accepted item names them as evidence: c.py"


async def test_what_was_refused_is_not_called_accepted(agent: Agent) -> None:
    await planned(agent, ["a first thing", "a second thing"])
    agent.edit("load.py", ONE_LINE)
    items = [{"item": item, "status": "done", "evidence": "load.py:3"} for item in ("a first thing", "a second thing")]
    told = await agent.submit({"task_id": "t1", "checklist": items, "tools_used": [], "summary": "done"})
    assert "check_write_target must be called" in str(told["error"])
    assert "accepted" not in str(told.get("notes"))
