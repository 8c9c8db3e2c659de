"""Accepted evidence is judged again before a change is verified, committed or merged: what was taken back reopens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_change.played_agent import CHANGED, CODE, Agent, git, repository

HOLLOW = "import net\n\n\ndef load(url):\n    pass\n"
REWRITTEN = "import net\n\nTRIES = 3\n\n\ndef load(url):\n    for _ in range(TRIES):\n        return net.fetch(url)\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


def assert_reopened(agent: Agent) -> None:
    assert agent.last.get("step") == 13, agent.last
    assert "'retry loop' (t1)" in str(agent.last["notes"])
    assert "does not hold any more" in agent.last["next_task"]["revert_reason"]


@pytest.mark.parametrize(
    ("text", "step"), [(CODE, 14), (HOLLOW, 14), (CODE + "\n# nothing\n", 14), (HOLLOW, 15), (CODE, 17)]
)
async def test_evidence_that_was_taken_back_opens_its_task_again(agent: Agent, text: str, step: int) -> None:
    await agent.start()
    await agent.go_to(step)
    payload = await agent.prepare()
    agent.edit(text=text)
    await agent.submit(payload)
    assert_reopened(agent)
    assert (await agent.finish())["outcome"] == "completed"
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()


async def test_a_quick_session_does_not_end_with_nothing_changed(agent: Agent) -> None:
    await agent.start(flags=["quick"])
    await agent.see("read_code", "load.py")
    await agent.go_to(15)
    agent.edit(text=CODE)
    await agent.step()
    assert_reopened(agent)


async def test_what_was_committed_by_hand_after_the_review_is_judged_at_the_merge(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(18)
    agent.edit(text=HOLLOW)
    git(agent.root, "commit", "-qam", "by hand")
    await agent.step()
    await agent.step()
    assert_reopened(agent)


@pytest.mark.parametrize(
    "text",
    ["# a head\n\n" + CHANGED, CHANGED + "\n\ndef more():\n    return 1\n", REWRITTEN],
    ids=["moved", "more", "anew"],
)
async def test_lines_that_moved_or_were_rewritten_in_the_same_definition_still_prove(agent: Agent, text: str) -> None:
    await agent.start()
    await agent.go_to(14)
    agent.edit(text=text)
    assert (await agent.finish())["outcome"] == "completed"


async def test_work_elsewhere_in_the_file_does_not_prove_what_was_taken_back(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    agent.edit(text=CODE + "\n\ndef more():\n    return 1\n")
    await agent.step()
    assert_reopened(agent)


@pytest.mark.parametrize("flag", ["fast", "no_quality"])
async def test_commits_on_top_of_the_sessions_own_are_reviewed_though_a_flag_leaves_the_review_out(
    agent: Agent, flag: str
) -> None:
    await agent.start(flags=[flag])
    await agent.see("read_code", "load.py")
    await agent.go_to(19)
    agent.edit(text=CHANGED + "EVIL = 2\n")
    git(agent.root, "commit", "-qam", "by hand")
    await agent.step()
    assert agent.last["step"] == 18, agent.last
    assert "commits that were made after the review" in str(agent.last["notes"])
    assert "EVIL" not in git(agent.root, "show", "main:load.py")
    assert (await agent.finish())["outcome"] == "completed"


async def test_a_server_that_was_killed_at_the_merge_names_what_was_merged(agent: Agent) -> None:
    await agent.start()
    done = await agent.finish()
    told = await agent.restarted().sessions.left_over()
    merged = {"into": "main", "commit": git(agent.root, "rev-parse", "main")}
    assert told["last_session"] == {"session_id": done["session_id"], "outcome": "completed", "merged": merged}


async def test_a_client_that_cannot_ask_is_not_advised_to_discard_again(agent: Agent) -> None:
    await agent.start()
    told = await agent.start(recovery="discard")
    assert "call with `recovery`: discard" not in str(told["error"])
    assert "jeeves runs cancel" in str(told["error"])
