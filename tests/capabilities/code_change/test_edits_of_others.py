"""Edits that are not the agent's, and those that it makes when nobody looks any more."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import MAX_DIGESTED_BYTES, digests_of
from tests.capabilities.code_change.played_agent import CHANGED, CODE, Agent, git, repository


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def quick(agent: Agent) -> Agent:
    await agent.start(flags=["quick", "no_doc_research"])
    await agent.go_to(12)
    await agent.see("read_code", "load.py")
    return agent


async def test_a_quick_change_in_a_dirty_folder_leaves_out_what_the_user_had_not_committed(agent: Agent) -> None:
    (agent.root / "cache.py").write_text("mine\n")
    (agent.root / "notes.txt").write_text("mine\n")
    (agent.root / "net.py").unlink()
    await quick(agent)
    await agent.go_to(15)
    assert [each["file"] for each in (await agent.session.review_changes())["files"]] == ["load.py"]
    assert (await agent.finish())["outcome"] == "completed"
    assert (agent.root / "cache.py").read_text() == "mine\n"


@pytest.mark.parametrize("edit", ["more", "removed", "back"])
async def test_what_a_quick_change_does_to_the_users_own_edits_counts_as_its_own(agent: Agent, edit: str) -> None:
    (agent.root / "cache.py").write_text("mine\n")
    await quick(agent)
    await agent.go_to(14)
    if edit == "more":
        (agent.root / "cache.py").write_text("mine\nstolen\n")
    elif edit == "removed":
        (agent.root / "cache.py").unlink()
    else:
        # As it was committed: the user's work is lost.
        (agent.root / "cache.py").write_text("KEPT = {}\n")
    refused = await agent.step()
    assert refused["error"]["problems"] == ["files: cache.py was changed, but check_write_target never permitted it"]


async def test_the_users_own_lines_are_no_evidence_in_a_quick_change(agent: Agent) -> None:
    (agent.root / "load.py").write_text(CHANGED)
    await quick(agent)
    await agent.go_to(13)
    payload = await agent.prepare()
    refused = await agent.submit(payload)
    assert "were not changed by this task" in refused["error"]["problems"][0]


@pytest.mark.long
async def test_a_commit_made_after_the_review_is_reviewed_before_it_is_merged(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(19)
    agent.edit("load.py", CHANGED.replace("range(3)", "range(30)"))
    git(agent.workspace, "commit", "-qam", "sneak")
    told = await agent.step()
    assert (told["phase"], "error" in told) == ("QUALITY_REVIEW", False)
    assert "has commits that were made after the review" in told["notes"][0]
    assert (agent.root / "load.py").read_text() != CODE
    assert git(agent.root, "show", "main:load.py") + "\n" == CODE
    assert (await agent.finish())["outcome"] == "completed"
    assert "range(30)" in git(agent.root, "show", "main:load.py")


@pytest.mark.long
async def test_who_commits_after_each_review_goes_round_a_bounded_number_of_times(agent: Agent) -> None:
    await agent.start()
    for number in range(4):
        await agent.go_to(19)
        agent.edit("load.py", CHANGED.replace("range(3)", f"range(3{number})"))
        git(agent.workspace, "commit", "-qam", f"sneak {number}")
        told = await agent.step()
        assert told["phase"] == ("QUALITY_REVIEW" if number < 3 else "SESSION_COMPLETE")
    assert "which nobody reviewed" in told["warnings"][0]


@pytest.mark.long
async def test_a_commit_after_the_last_task_is_reviewed_even_if_reviews_are_left_out(agent: Agent) -> None:
    await agent.start(flags=["no_quality"])
    await agent.go_to(19)
    agent.edit("load.py", CHANGED.replace("range(3)", "range(30)"))
    git(agent.workspace, "commit", "-qam", "more")
    assert (await agent.step())["phase"] == "QUALITY_REVIEW"


async def test_a_pipe_in_the_place_of_a_users_file_is_not_waited_for(agent: Agent) -> None:
    (agent.root / "cache.py").unlink()
    os.mkfifo(agent.root / "cache.py")
    answer = await asyncio.wait_for(agent.start(flags=["quick", "no_doc_research"]), 10)
    # Git compares no pipe with a file.
    assert answer["error"]["code"] == "start_refused"
    assert digests_of(agent.root, ["cache.py"]) == {"cache.py": ""}


async def test_a_large_file_of_the_user_is_known_by_its_head_and_size(agent: Agent) -> None:
    with (agent.root / "data.bin").open("wb") as out:
        out.truncate(MAX_DIGESTED_BYTES + 1)
    await quick(agent)
    await agent.go_to(14)
    with (agent.root / "data.bin").open("ab") as out:
        out.write(b"more")
    assert "data.bin was changed" in (await agent.step())["error"]["problems"][0]
