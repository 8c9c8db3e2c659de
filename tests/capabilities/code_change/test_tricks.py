"""Agents that trick with names, links, references and repeated failures: none gets anywhere."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.parsing.bodies.empty_bodies import is_empty
from tests.capabilities.code_change.played_agent import CHANGED, CODE, Agent, git, repository
from tests.capabilities.code_change.test_cheats import EVIL, problems


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


@pytest.mark.parametrize(
    "file",
    [
        ".g\u200cit/config",
        "sub/.gi\u200dt/config",
        ".git\ufeff/config",
        "git~1/config",
        "GIT~2/hooks/x",
        ".git /config",
        ".git./config",
        ".git. . /config",
        ".git::$INDEX_ALLOCATION/config",
        ".git:x/config",
        ".code-intel /phase_contract.yml",
        ".code\u200c-intel/phase_contract.yml",
        "load.py/",
        "./load.py",
        "load.py/.",
        "docs/../load.py",
        "load.py\n",
        "a\tb.py",
        "load.py\r",
        "\u202eyp.daol",
        "load.py ",
    ],
)
async def test_names_that_other_systems_take_for_folders_of_git_are_not_written(agent: Agent, file: str) -> None:
    await agent.start()
    await agent.go_to(13)
    told = await agent.session.check_write_target(file)
    assert told["permitted"] is False, file


async def test_a_branch_that_leads_to_the_base_branch_commits_nothing_there(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    base, branch = git(agent.root, "rev-parse", "main"), agent.last["branch"]
    payload = await agent.prepare()
    git(agent.root, "symbolic-ref", f"refs/heads/{branch}", "refs/heads/main")
    await agent.submit(payload)
    assert git(agent.root, "rev-parse", "main") == base


async def test_a_base_branch_that_leads_elsewhere_is_not_merged_into(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(19)
    git(agent.root, "branch", "release", "main")
    base = git(agent.root, "rev-parse", "release")
    git(agent.root, "symbolic-ref", "refs/heads/main", "refs/heads/release")
    await agent.step()
    assert git(agent.root, "rev-parse", "release") == base


@pytest.mark.parametrize("where", ["beside", "in place"])
async def test_a_workspace_that_became_a_link_is_not_committed(agent: Agent, tmp_path: Path, where: str) -> None:
    if where == "beside":
        (agent.root / "cache.py").write_text("mine\n")
    await agent.start()
    await agent.go_to(17)
    payload, place = await agent.prepare(), agent.workspace
    other = repository(tmp_path / "other")
    git(other, "switch", "-qc", agent.last["branch"])
    before = git(other, "for-each-ref")
    place.rename(tmp_path / "moved")
    place.symlink_to(other)
    await agent.submit(payload)
    assert "error" in agent.last
    assert git(other, "for-each-ref") == before
    place.unlink()
    (tmp_path / "moved").rename(place)
    assert (await agent.finish())["outcome"] == "completed"


@pytest.mark.timeout(60)
async def test_a_pipe_in_the_place_of_a_permitted_file_is_not_waited_for(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    (agent.root / "load.py").unlink()
    os.mkfifo(agent.root / "load.py")
    for _ in range(4):
        if "error" not in agent.last:
            await asyncio.wait_for(agent.step(), 20)
    assert "error" in agent.last
    assert git(agent.root, "rev-parse", "HEAD") == git(agent.root, "rev-parse", "main")


async def test_a_folder_in_the_place_of_a_permitted_file_is_told(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    (agent.root / "load.py").unlink()
    agent.edit("load.py/evil.py", EVIL)
    await agent.step()
    assert "load.py/evil.py was changed" in problems(agent)


@pytest.mark.long
async def test_who_names_another_failing_task_each_time_comes_to_an_intervention(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(15)
    known: dict[str, Any] = {"id": "t1", "description": "retry in load", "status": "completed"}
    known["checklist"] = [{"item": "retry loop", "status": "done"}]
    tasks: list[dict[str, Any]] = [known]
    rounds, failed = 0, "t1"
    while agent.last["phase"] in {"POST_IMPL_VERIFY", "READY"} and rounds < 15:
        rounds += 1
        await agent.step(passed=False, details="it fails", failed_tasks=[failed])
        if agent.last["phase"] != "READY":
            break
        fix = {
            "id": f"fix{rounds}",
            "description": "nothing",
            "status": "pending",
            "fixes": failed,
            "revert_reason": "it fails",
        }
        new = {"id": f"new{rounds}", "description": "nothing", "status": "pending"}
        added = [{**each, "checklist": [{"item": each["id"], "status": "pending"}]} for each in (fix, new)]
        await agent.submit({"tasks": [*tasks, *added], "tools_used": [], "summary": "again"})
        assert "error" not in agent.last, agent.last["error"]
        await agent.go_to(15)
        for each in (fix, new):
            done = [{"item": each["id"], "status": "skipped"}]
            tasks.append(
                {"id": each["id"], "description": each["description"], "status": "completed", "checklist": done}
            )
        failed = str(new["id"])
    assert (agent.last["phase"], rounds <= 9) == ("VERIFY_INTERVENTION", True)


@pytest.mark.parametrize(
    "text",
    [
        CODE.replace("net.fetch(url)", "net.fetch(url)   "),
        CODE.replace("net.fetch(url)", "net.fetch( url )"),
        CODE.replace("return net", "return  net"),
        CODE.replace("net.fetch(url)", "net.fetch(url)  # retries"),
    ],
    ids=["blanks", "blanks-within", "a-blank-more", "comment"],
)
async def test_a_line_that_differs_in_blanks_or_a_comment_alone_proves_nothing(agent: Agent, text: str) -> None:
    await agent.start()
    await agent.go_to(13)
    payload = await agent.prepare()
    agent.edit("load.py", text)
    items = [{"item": "retry loop", "status": "done", "evidence": "load.py:5"}]
    await agent.submit({**payload, "checklist": items})
    assert "error" in agent.last


DOCUMENTED = CODE.replace("def load(url):\n", 'def load(url):\n    """Fetch a page, once."""\n')


@pytest.mark.parametrize("item", ["Document load", "mend a typo in its comments", "docstring of load"])
async def test_documentation_proves_an_item_that_asks_for_it_and_is_told(agent: Agent, item: str) -> None:
    await agent.start()
    await agent.go_to(12)
    plan = {"id": "t1", "description": "words", "status": "pending", "checklist": [{"item": item, "status": "pending"}]}
    await agent.submit({"tasks": [plan], "tools_used": [], "summary": "plan"})
    assert agent.last["step"] == 13, agent.last
    payload = await agent.prepare()
    agent.edit("load.py", DOCUMENTED)
    items = [{"item": item, "status": "done", "evidence": "load.py:5"}]
    await agent.submit({**payload, "task_id": "t1", "checklist": items})
    assert "error" not in agent.last, agent.last
    told = await agent.session.review_changes()
    assert "its lines do nothing, as comments and documentation do" in str(told["doubtful_evidence"])


@pytest.mark.parametrize(
    ("line", "item"), [("    return  net.fetch(url)", "Document load"), ('    """ """', "retry loop")]
)
async def test_blanks_prove_nothing_whatever_an_item_says(agent: Agent, line: str, item: str) -> None:
    await agent.start()
    await agent.go_to(12)
    plan = {"id": "t1", "description": "words", "status": "pending", "checklist": [{"item": item, "status": "pending"}]}
    await agent.submit({"tasks": [plan], "tools_used": [], "summary": "plan"})
    payload = await agent.prepare()
    agent.edit("load.py", CODE.replace("    return net.fetch(url)", line))
    items = [{"item": item, "status": "done", "evidence": "load.py:5"}]
    await agent.submit({**payload, "task_id": "t1", "checklist": items})
    assert "error" in agent.last


@pytest.mark.long
async def test_a_live_session_of_another_work_tree_of_the_repository_is_not_stale(agent: Agent, tmp_path: Path) -> None:
    git(agent.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    await agent.start()
    await agent.go_to(14)
    beside = Agent((tmp_path / "side").resolve(), tmp_path / "state", owner="another")
    assert (await beside.start())["phase"] == "DOCUMENT_RESEARCH"
    assert (await beside.finish())["outcome"] == "completed"
    assert (await agent.finish())["outcome"] == "completed"


async def test_an_encoding_that_was_planted_commits_what_is_in_the_workspace(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    payload = await agent.prepare()
    (agent.root / ".git" / "info").mkdir(exist_ok=True)
    (agent.root / ".git" / "info" / "attributes").write_text("*.py working-tree-encoding=UTF-16LE\n")
    await agent.submit(payload)
    if "error" not in agent.last:
        assert git(agent.root, "show", "HEAD:load.py") == CHANGED.strip()


async def test_a_history_that_was_cut_off_in_the_middle_is_told(agent: Agent) -> None:
    git(agent.root, "commit", "--allow-empty", "-qm", "second")
    await agent.start()
    await agent.go_to(19)
    (agent.root / ".git" / "shallow").write_text(git(agent.root, "rev-parse", "HEAD") + "\n")
    before = git(agent.root, "rev-parse", "main")
    await agent.step()
    if "error" in agent.last:
        assert git(agent.root, "rev-parse", "main") == before
    else:
        assert git(agent.root, "rev-parse", "main~1") == before


@pytest.mark.long
def test_nested_bodies_that_log_are_judged_in_time() -> None:
    text = "function f(){console.log(1);" * 10_000 + "}" * 10_000
    began_s = time.process_time()
    is_empty(text, "a.js", 1, 1)
    assert time.process_time() - began_s < 10


async def test_a_submodule_that_is_changed_inside_is_no_part_of_a_change(tmp_path: Path) -> None:
    inner, outer = repository(tmp_path / "inner"), repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(outer, "commit", "-qm", "sub")
    agent = Agent(outer, tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    await agent.see("read_code", "sub/net.py")
    await agent.session.add_explored_files(["sub/net.py"])
    told = await agent.session.check_write_target("sub/net.py")
    assert told["permitted"] is False, told
    agent.edit("sub/net.py", EVIL)
    git(outer / "sub", "-c", "user.name=x", "-c", "user.email=y", "commit", "-qam", "evil")
    assert (await agent.finish())["outcome"] == "completed"
    assert git(outer, "diff", "--name-only", "main~1", "main") == "load.py"


@pytest.mark.parametrize(
    ("move", "told"),
    [
        ((), None),
        (("checkout", "-q", "--detach", "HEAD~1"), "sub is at {before}, recorded is {after}"),
        (("commit", "-q", "--allow-empty", "-m", "x"), "sub is at {now}, recorded is {after}"),
        (("rm", "-q", "net.py"), "sub is at {after}, recorded is {after}, 1 files in it are not committed"),
    ],
    ids=["stayed", "taken back", "committed to", "dirty"],
)
async def test_a_submodule_that_moved_is_told_before_and_after_the_commit(
    tmp_path: Path, move: tuple[str, ...], told: str | None
) -> None:
    inner, outer = repository(tmp_path / "inner"), repository(tmp_path / "outer")
    before = git(inner, "rev-parse", "HEAD")[:12]
    git(inner, "commit", "-q", "--allow-empty", "-m", "second")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(outer, "commit", "-qm", "sub")
    agent = Agent(outer, tmp_path / "state")
    await agent.start()
    await agent.go_to(17)
    sub, after = outer / "sub", git(inner, "rev-parse", "HEAD")[:12]
    if move:
        git(sub, "-c", "user.name=x", "-c", "user.email=y", *move)
    reviewed = await agent.session.review_changes()
    await agent.step()
    notes = agent.last.get("notes", [])
    if told is None:
        assert ("note" in reviewed, notes) == (False, [])
        return
    expected = told.format(before=before, after=after, now=git(sub, "rev-parse", "HEAD")[:12])
    assert f"not committed: {expected}. Tell the person" in reviewed["note"]
    assert notes == [reviewed["note"]]
    assert git(outer, "diff", "--name-only", "main", "HEAD") == "load.py"


async def test_a_submodule_that_is_staged_added_or_taken_out_is_told(tmp_path: Path) -> None:
    inner, outer = repository(tmp_path / "inner"), repository(tmp_path / "outer")
    for name in ("gone", "staged"):
        git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), name)
    git(outer, "commit", "-qm", "subs")
    agent = Agent(outer, tmp_path / "state")
    await agent.start()
    await agent.go_to(17)
    git(outer / "staged", "-c", "user.name=x", "-c", "user.email=y", "commit", "-q", "--allow-empty", "-m", "x")
    git(outer, "add", "staged")
    git(outer, "update-index", "--force-remove", "gone")
    at, old = git(outer / "staged", "rev-parse", "HEAD")[:12], git(inner, "rev-parse", "HEAD")[:12]
    told = (await agent.session.review_changes())["note"]
    assert f"gone is at {old}, recorded is {old}, it was taken out of the index" in told
    assert f"staged is at {at}, recorded is {old}, {at} is staged" in told


async def test_what_a_submodule_configures_does_not_run_when_it_is_compared(tmp_path: Path) -> None:
    inner, outer = repository(tmp_path / "inner"), repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(outer, "commit", "-qm", "sub")
    agent = Agent(outer, tmp_path / "state")
    await agent.start()
    await agent.go_to(17)
    git(outer / "sub", "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    git(outer / "sub", "config", "filter.x.clean", f"touch {tmp_path}/ran; cat")
    (outer / "sub" / ".gitattributes").write_text("* filter=x\n")
    (outer / "sub" / "net.py").write_text("x = 1\n")
    assert "files in it are not committed" in (await agent.session.review_changes())["note"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("where", ["subfolder", "link"])
async def test_a_repository_that_is_served_under_two_paths_has_one_session(
    agent: Agent, tmp_path: Path, where: str
) -> None:
    await agent.start()
    await agent.go_to(13)
    link = tmp_path / "link"
    link.symlink_to(agent.root)
    root = agent.root / "docs" if where == "subfolder" else link
    other = Agent(root, tmp_path / "state", owner="another", is_alive=lambda owner: True)
    told = await other.start()
    assert "error" in told, told


async def test_a_clock_that_is_set_back_keeps_the_session_and_frees_it_when_its_server_is_gone(agent: Agent) -> None:
    await agent.clock.advance(10_000_000)
    await agent.start()
    await agent.go_to(14)
    again = agent.restarted()
    told = await again.start()
    assert told["recovery_available"] is True
    again.last = await again.start(recovery="resume")
    assert (await again.finish())["outcome"] == "completed"
