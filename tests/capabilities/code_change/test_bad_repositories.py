"""Sessions in repositories that something is wrong with, from the start or of a sudden: it is told, nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.errors import GitWriteError, StateStorageError
from tests.capabilities.code_change.played_agent import CHANGED, CODE, FILES, Agent, git, repository
from tests.examples import long_but
from tests.runtime.codebase.test_git_writing import killed_with_locks


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


def problem(agent: Agent) -> str:
    return "\n".join(agent.last["error"]["problems"])


@pytest.mark.parametrize(
    "step", [pytest.param(12, marks=pytest.mark.long), 17, pytest.param(19, marks=pytest.mark.long)]
)
async def test_a_locked_index_is_told_and_the_phase_can_be_submitted_again(agent: Agent, step: int) -> None:
    await agent.start()
    await agent.go_to(step)
    # The plan moves HEAD to the branch, the commit and the merge write the index.
    lock = agent.root / ".git" / ("HEAD.lock" if step == 12 else "index.lock")
    lock.write_text("")
    await agent.step()
    assert (agent.last["error"]["code"], agent.last["step"]) == ("git_refused", step)
    assert f"{lock} exists" in problem(agent)
    lock.unlink()
    await agent.finish()
    assert (agent.root / "load.py").read_text() == CHANGED


@pytest.mark.parametrize("step", long_but([17, 19], 0))
async def test_a_session_whose_server_was_killed_with_locks_in_its_hands_is_resumed_and_ends_the_same(
    agent: Agent, step: int
) -> None:
    await agent.start()
    await agent.go_to(step)
    killed_with_locks(agent.root, "taken")
    assert (agent.root / ".git" / "index.lock").exists()
    agent = agent.restarted()
    assert (await agent.start(recovery="resume"))["step"] == step
    assert (await agent.finish())["outcome"] == "completed"
    assert (agent.root / "load.py").read_text() == CHANGED
    assert not list((agent.root / ".git").glob("*.lock*"))


@pytest.mark.parametrize("is_dirty", [False, True], ids=["in the folder", "in a work tree"])
@pytest.mark.parametrize("step", long_but([13, 17, 18], 1))
async def test_a_deleted_branch_is_noticed_at_the_next_step_and_a_resumed_session_has_it_again(
    agent: Agent, step: int, is_dirty: bool
) -> None:
    if is_dirty:
        (agent.root / "cache.py").write_text("KEPT = {1: 2}\n")
    await agent.start()
    await agent.go_to(step)
    branch, folder = agent.last["branch"], agent.workspace
    git(folder, "checkout", "-q", "--detach")
    head = git(folder, "rev-parse", "HEAD")
    git(agent.root, "branch", "-D", branch)
    await agent.step()
    assert agent.last["error"]["code"] == "git_refused"
    assert f"branch {branch} is gone" in problem(agent)
    agent = agent.restarted()
    told = await agent.start(recovery="resume")
    assert "error" not in told
    assert git(agent.root, "rev-parse", branch) == head
    assert f"git -C {folder} switch {branch}" in str(told["warnings"])
    git(folder, "switch", "-q", branch)
    await agent.finish()
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()


async def test_a_rebase_that_is_begun_in_mid_session_holds_the_commit_back(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    branch = agent.last["branch"]
    git(agent.root, "switch", "-qc", "other", "main")
    (agent.root / "net.py").write_text("one\n")
    git(agent.root, "commit", "-qam", "one")
    git(agent.root, "switch", "-qc", "another", "main")
    (agent.root / "net.py").write_text("two\n")
    git(agent.root, "commit", "-qam", "two")
    with pytest.raises(subprocess.CalledProcessError):
        git(agent.root, "rebase", "other")
    before = git(agent.root, "for-each-ref")
    with pytest.raises(GitWriteError, match="a rebase is under way"):
        await agent.session.review_changes()
    await agent.submit(WHOLE[17])
    assert "a rebase is under way" in problem(agent)
    assert git(agent.root, "for-each-ref") == before
    git(agent.root, "rebase", "--abort")
    git(agent.root, "switch", "-q", branch)
    agent.edit()
    await agent.finish()
    assert (agent.root / "load.py").read_text() == CHANGED


@pytest.mark.long
@pytest.mark.parametrize("way", ["attributes", "autocrlf", "as they are"])
async def test_files_with_carriage_returns_differ_in_the_lines_that_were_changed_alone(agent: Agent, way: str) -> None:
    if way == "attributes":
        (agent.root / ".gitattributes").write_text("*.py text eol=crlf\n")
        git(agent.root, "add", ".gitattributes")
    elif way == "autocrlf":
        git(agent.root, "config", "core.autocrlf", "true")
    for name in ("load.py", "net.py", "cache.py"):
        (agent.root / name).write_bytes(FILES[name].replace("\n", "\r\n").encode())
    git(agent.root, "add", "--renormalize", ".")
    git(agent.root, "commit", "-q", "--allow-empty", "-am", "lines end otherwise")
    await agent.start()
    await agent.go_to(13)
    assert (await agent.session.review_changes())["files"] == []
    payload = await agent.prepare()
    edited = CHANGED.replace("\n", "\r\n").encode()
    (agent.workspace / "load.py").write_bytes(edited)
    refused = await agent.submit({**payload, "checklist": [{**payload["checklist"][0], "evidence": "load.py:1"}]})
    assert "were not changed" in refused["error"]["problems"][0]
    await agent.submit(payload)
    while agent.last["phase"] != "SESSION_COMPLETE":
        assert "error" not in agent.last, agent.last["error"]
        await agent.step()
    assert (agent.root / "load.py").read_bytes() == edited
    assert ("\r" in committed(agent.root)) is (way == "as they are")
    assert git(agent.root, "status", "--porcelain") == ""


def committed(root: Path) -> str:
    done = subprocess.run(["git", "show", "main:load.py"], cwd=root, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize(
    "name", long_but(["Load.py", "LOAD.PY", "DOCS/rules.md", "Docs/new.md", "docs/RULES.md"], 0, 4)
)
async def test_a_name_that_differs_from_another_in_case_alone_is_refused(agent: Agent, name: str) -> None:
    await agent.start()
    await agent.go_to(13)
    await agent.see("read_code", "docs/rules.md")
    await agent.session.add_explored_files(["docs/rules.md"])
    refused = await agent.session.check_write_target(name)
    assert refused["permitted"] is False
    assert "in case alone" in refused["reason"]
    # What was refused does not count as the call that the phase demands.
    task = agent.last["next_task"]
    items = [{"item": each["item"], "status": "done", "evidence": "load.py:5-10"} for each in task["checklist"]]
    told = await agent.submit({"task_id": task["id"], "checklist": items, "tools_used": [], "summary": "done"})
    assert "check_write_target must be called for this task; this server saw 0" in str(told["error"])


async def test_two_new_names_that_differ_in_case_alone_are_not_both_permitted(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    assert (await agent.session.check_write_target("retry.py"))["permitted"] is True
    assert "in case alone" in (await agent.session.check_write_target("Retry.py"))["reason"]
    assert (await agent.session.check_write_target("retry.py"))["permitted"] is True


async def test_a_file_may_be_written_anew_under_another_case_once_the_old_one_is_gone(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    await agent.session.check_write_target("load.py")
    (agent.workspace / "load.py").unlink()
    assert (await agent.session.check_write_target("Load.py"))["permitted"] is True


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (("switch", "-q", "--detach"), "HEAD is detached"),
        (("config", "commit.gpgsign", "true"), "have to be signed"),
        (("symbolic-ref", "HEAD", "refs/heads/unborn"), "has no commit yet"),
    ],
)
async def test_what_forbids_a_change_is_told_at_its_start(agent: Agent, make: tuple[str, ...], reason: str) -> None:
    git(agent.root, *make)
    answer = await agent.start()
    assert answer["error"]["code"] == "start_refused"
    assert reason in problem(agent)
    assert agent.ports.store.all_sessions() == []


async def test_without_an_author_no_change_begins(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    git(agent.root, "config", "--unset", "user.name")
    await agent.start()
    assert "nobody is named as author" in problem(agent)


@pytest.mark.long
async def test_signing_that_is_demanded_in_mid_session_holds_the_commit_back(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    git(agent.root, "config", "commit.gpgsign", "true")
    await agent.step()
    assert "have to be signed" in problem(agent)
    git(agent.root, "config", "--unset", "commit.gpgsign")
    await agent.finish()


@pytest.mark.long
@pytest.mark.parametrize("place", [".git/hooks", ".husky"])
async def test_hooks_that_the_team_relies_on_are_named_and_not_run(agent: Agent, tmp_path: Path, place: str) -> None:
    folder = agent.root / place
    folder.mkdir(exist_ok=True)
    if place == ".husky":
        git(agent.root, "config", "core.hooksPath", place)
    for name in ("pre-commit", "commit-msg"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (folder / name).chmod(0o755)
    if place == ".husky":
        git(agent.root, "add", "-A")
        git(agent.root, "commit", "-qm", "hooks", "--no-verify")
    answer = await agent.start()
    assert any("pre-commit, commit-msg" in note and "are not run" in note for note in answer["notes"])
    await agent.finish()
    assert (agent.root / "load.py").read_text() == CHANGED
    assert not (tmp_path / "ran").exists()


async def test_a_base_branch_that_moved_is_merged_into_and_one_that_is_gone_is_told(
    agent: Agent, tmp_path: Path
) -> None:
    await agent.start()
    await agent.go_to(19)
    elsewhere = tmp_path / "elsewhere"
    git(agent.root, "worktree", "add", "-q", str(elsewhere), "main")
    (elsewhere / "net.py").write_text("moved = 1\n")
    git(elsewhere, "commit", "-qam", "moved")
    moved = git(elsewhere, "rev-parse", "HEAD")
    git(agent.root, "worktree", "remove", str(elsewhere))
    git(agent.root, "branch", "-m", "main", "trunk")
    await agent.step()
    assert "branch main, which the change came from, does not exist any more" in problem(agent)
    git(agent.root, "branch", "-m", "trunk", "main")
    await agent.finish()
    assert [(agent.root / name).read_text() for name in ("load.py", "net.py")] == [CHANGED, "moved = 1\n"]
    assert git(agent.root, "merge-base", "--is-ancestor", moved, "main") == ""


@pytest.mark.parametrize("step", long_but([13, 14, 17, 18, 19], 2))
async def test_a_work_tree_that_is_deleted_in_a_live_session_is_told_and_comes_back_at_its_resumption(
    agent: Agent, step: int
) -> None:
    (agent.root / "cache.py").write_text("mine\n")
    await agent.start()
    await agent.go_to(step)
    shutil.rmtree(agent.workspace)
    told = await agent.session.status()
    assert told["step"] == step
    if step not in {18, 19}:
        await agent.submit(WHOLE[step])
        assert agent.last["error"]["code"] == "git_refused"
        assert "resume the session" in problem(agent)
    # Live, by the same server; the others as after a kill.
    again = agent if step == 14 else agent.restarted()
    resumed = await again.start(recovery="resume")
    assert (resumed["step"], again.workspace.is_dir()) == (step, True)
    assert (agent.root / "cache.py").read_text() == "mine\n"


WHOLE = {
    13: {
        "task_id": "t1",
        "checklist": [{"item": "retry loop", "status": "done", "evidence": "load.py:5"}],
        "tools_used": [],
        "summary": "done",
    },
    14: {"summary": "load retries"},
    17: {"reviewed_files": ["load.py"], "commit_message": "Retry", "tools_used": ["review_changes"], "summary": "all"},
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(place: Path) -> Path:
    filler = place / "filler"
    with filler.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(bytes(4_096))
        except OSError:
            pass  # the disk is full, as wanted
    return filler


async def test_a_full_disk_under_the_repository_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    agent = Agent(repository(small_disk / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(17)
    payload = await agent.prepare()
    before = git(agent.root, "for-each-ref")
    filler = fill(small_disk)
    await agent.submit(payload)
    assert agent.last["error"]["code"] == "git_refused"
    assert agent.last["step"] == 17
    filler.unlink()
    assert git(agent.root, "for-each-ref") == before
    assert (agent.root / "load.py").read_text() == CHANGED
    await agent.finish()
    assert git(agent.root, "show", "main:load.py") + "\n" == CHANGED
    assert git(agent.root, "fsck", "--strict") == ""


async def test_a_full_disk_under_the_store_keeps_the_session_where_it_was(small_disk: Path, tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), small_disk)
    await agent.start()
    await agent.go_to(10)
    filler = fill(small_disk)
    with pytest.raises(StateStorageError):
        for _ in range(200):
            await agent.see("read_code", *(f"x{number}.py" for number in range(20)))
    filler.unlink()
    assert (await agent.session.status())["step"] == 10
    await agent.finish()
    assert (agent.root / "load.py").read_text() == CHANGED


async def test_a_repository_that_may_not_be_written_is_told(agent: Agent) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write anywhere")
    await agent.start()
    await agent.go_to(17)
    objects = agent.root / ".git" / "objects"
    objects.chmod(0o500)
    try:
        await agent.step()
        assert agent.last["error"]["code"] == "git_refused"
    finally:
        objects.chmod(0o700)
    await agent.finish()
    assert CODE != CHANGED
