"""Agents that cheat with git, with evidence and with what they submit: none gets anywhere, and no state is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_change.store.session_store import SessionStore
from runtime.contracts.session_state import SessionState
from runtime.database.sqlite_database import SqliteDatabase
from runtime.errors import FencedError, StateStorageError
from runtime.testing import FakeClock
from serve.mcp.changes.contract_tools import CONTRACT_TOOLS, Impact
from tests.capabilities.code_change.played_agent import CHANGED, FILES, Agent, git, repository

EVIL = "def fetch(url):\n    return open('/etc/passwd')\n"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


def problems(agent: Agent) -> str:
    assert "error" in agent.last, agent.last
    return " ".join(agent.last["error"]["problems"])


def commit_of(folder: Path, changes: dict[str, str | None], parent: str = "HEAD") -> str:
    """Make a commit with some files changed, added or removed, without touching the work tree or the index."""
    index = folder / ".git" / "planted-index"
    environment = f"GIT_INDEX_FILE={index}"
    git(folder, "-c", "alias.in=!env", "in", environment, "git", "read-tree", parent)
    for file, text in changes.items():
        if text is None:
            git(folder, "-c", "alias.in=!env", "in", environment, "git", "rm", "-q", "--cached", file)
        else:
            (folder / ".git" / "planted").write_text(text)
            blob = git(folder, "hash-object", "-w", ".git/planted")
            entry = f"100644,{blob},{file}"
            git(folder, "-c", "alias.in=!env", "in", environment, "git", "update-index", "--add", "--cacheinfo", entry)
    tree = git(folder, "-c", "alias.in=!env", "in", environment, "git", "write-tree")
    (folder / ".git" / "planted").unlink(missing_ok=True)
    index.unlink()
    return git(folder, "commit-tree", tree, "-p", parent, "-m", "planted")


PLANTED: list[dict[str, str | None]] = [{"net.py": EVIL}, {"evil.py": EVIL}, {"cache.py": None}]


@pytest.mark.parametrize("step", [13, 14, 17])
@pytest.mark.parametrize("changes", PLANTED, ids=["changed", "new", "removed"])
async def test_what_an_agent_commits_itself_behind_the_work_tree_is_not_merged(
    agent: Agent, changes: dict[str, str | None], step: int
) -> None:
    await agent.start()
    await agent.go_to(step)
    known = git(agent.root, "rev-parse", "HEAD")
    git(agent.root, "update-ref", f"refs/heads/{agent.last['branch']}", commit_of(agent.root, changes))
    while "error" not in agent.last and agent.last["phase"] != "SESSION_COMPLETE":
        await agent.step()
    assert agent.last["error"]["code"] == "git_refused"
    assert f"git reset --soft {known}" in problems(agent)
    git(agent.root, "reset", "-q", "--soft", known)
    await agent.finish()
    assert git(agent.root, "diff", "--name-only", "main~1", "main") == "load.py"
    assert git(agent.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("changes", PLANTED, ids=["changed", "new", "removed"])
async def test_what_an_agent_commits_itself_after_the_review_is_not_merged(
    agent: Agent, changes: dict[str, str | None]
) -> None:
    await agent.start()
    await agent.go_to(19)
    reviewed = git(agent.root, "rev-parse", "HEAD")
    git(agent.root, "update-ref", f"refs/heads/{agent.last['branch']}", commit_of(agent.root, changes))
    await agent.step()
    assert next(iter(changes)) in problems(agent)
    git(agent.root, "update-ref", f"refs/heads/{agent.last['branch']}", reviewed)
    assert (await agent.finish())["outcome"] == "completed"
    assert git(agent.root, "diff", "--name-only", "main~1", "main") == "load.py"


async def test_a_branch_that_was_moved_away_from_the_reviewed_commit_is_not_merged(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(19)
    branch, reviewed = agent.last["branch"], git(agent.root, "rev-parse", "HEAD")
    git(agent.root, "update-ref", f"refs/heads/{branch}", "main")
    await agent.step()
    assert f"git branch -f {branch} {reviewed}" in problems(agent)
    git(agent.root, "update-ref", f"refs/heads/{branch}", reviewed)
    await agent.finish()
    assert (agent.root / "load.py").read_text() == CHANGED


@pytest.mark.parametrize("is_dirty", [False, True], ids=["switched to", "beside"])
async def test_a_branch_that_the_agent_made_before_the_plan_is_not_taken_for_the_sessions(
    agent: Agent, is_dirty: bool
) -> None:
    await agent.start()
    await agent.go_to(12)
    branch = f"llm_task_{agent.last['session_id']}"
    git(agent.root, "branch", branch, commit_of(agent.root, {"net.py": EVIL}))
    if is_dirty:
        (agent.root / "cache.py").write_text("mine\n")
    else:
        git(agent.root, "switch", "-q", branch)
    await agent.step()
    assert "commits of its own" in problems(agent)
    assert agent.session.state.phase == "READY_PLANNING"


async def test_objects_that_git_would_replace_hide_nothing(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    base = git(agent.root, "rev-parse", "main")
    git(agent.root, "replace", base, commit_of(agent.root, {"net.py": EVIL}))
    agent.edit("net.py", EVIL)
    git(agent.root, "add", "-A")
    await agent.step()
    assert "files: net.py was changed" in problems(agent)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
@pytest.mark.parametrize("is_gone", [False, True], ids=["changed", "removed"])
async def test_files_that_the_index_hides_are_seen(agent: Agent, flag: str, is_gone: bool) -> None:
    await agent.start()
    await agent.go_to(14)
    git(agent.root, "update-index", flag, "net.py")
    if is_gone:
        (agent.root / "net.py").unlink()
    else:
        agent.edit("net.py", EVIL)
    await agent.step()
    assert "files: net.py was changed" in problems(agent)


async def test_a_repository_in_the_work_tree_hides_no_files(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    agent.edit("vendor/evil.py", EVIL)
    git(agent.root / "vendor", "init", "-q")
    await agent.step()
    assert "files: vendor/ was changed" in problems(agent)


async def test_a_permitted_file_that_became_a_link_is_not_committed(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    (agent.root / "load.py").unlink()
    (agent.root / "load.py").symlink_to("/etc/hostname")
    await agent.step()
    assert "load.py was changed, but it is a link" in problems(agent)


async def test_a_file_that_is_planted_between_the_review_and_the_commit_is_not_committed(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    payload = await agent.prepare()
    agent.edit("net.py", EVIL)
    await agent.submit(payload)
    assert "net.py was changed and not reviewed" in problems(agent)
    assert git(agent.root, "rev-parse", "HEAD") == git(agent.root, "rev-parse", "main")


@pytest.mark.long
async def test_what_is_taken_back_after_a_review_is_not_merged(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    await agent.session.check_write_target("net.py")
    agent.edit("net.py", EVIL)
    await agent.go_to(18)
    await agent.step(issues=["net.py reads what it must not"])
    fix = {
        "id": "t2",
        "description": "take net.py back",
        "status": "pending",
        "fixes": "t1",
        "revert_reason": "net.py",
        "checklist": [{"item": "net.py as it was", "status": "pending"}],
    }
    done = {**agent.last["tasks"][0]}
    done["checklist"] = [{"item": item["item"], "status": item["status"]} for item in done["checklist"]]
    done = {key: done[key] for key in ("id", "description", "status", "checklist")}
    await agent.submit({"tasks": [done, fix], "tools_used": [], "summary": "taken back"})
    assert "error" not in agent.last, agent.last["error"]
    agent.edit("net.py", FILES["net.py"])
    git(agent.root, "add", "-A")
    items = [{"item": "net.py as it was", "status": "skipped", "reason": "it is as it was before"}]
    await agent.submit({"task_id": "t2", "checklist": items, "tools_used": [], "summary": "as it was"})
    assert "error" not in agent.last, agent.last["error"]
    await agent.finish()
    assert git(agent.root, "diff", "--name-only", "main~1", "main") == "load.py"
    assert git(agent.root, "status", "--porcelain") == ""


async def test_a_server_that_was_taken_over_commits_and_merges_nothing(agent: Agent) -> None:
    for step in (12, 17, 19):
        if step == 12:
            await agent.start()
        await agent.go_to(step)
        payload = await agent.prepare()
        refs = git(agent.root, "for-each-ref")
        other = agent.restarted(f"other-{step}")
        await other.start(recovery="resume")
        with pytest.raises(FencedError):
            await agent.submit(payload)
        assert git(agent.root, "for-each-ref") == refs
        other.last = await other.session.status()
        agent = other
    await agent.finish()


async def test_quick_needs_a_commit_to_compare_with(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A Tester")
    git(root, "config", "user.email", "tester@example.org")
    agent = Agent(root.resolve(), tmp_path / "state")
    await agent.start(flags=("quick",))
    assert "no commit yet" in problems(agent)


class FullStore(SessionStore):
    """A store on a disk that is full, as often as is said."""

    refusals = 0

    def keep(self, state: SessionState, owner: str, kind: str = "", data: dict[str, Any] | None = None) -> None:
        if self.refusals and kind:
            self.refusals -= 1
            raise StateStorageError("the disk is full")
        super().keep(state, owner, kind, data)


@pytest.mark.long
@pytest.mark.parametrize("is_dirty", [False, True], ids=["in place", "beside"])
@pytest.mark.parametrize("is_killed", [False, True], ids=["full disk", "killed"])
async def test_a_step_that_git_took_and_the_store_did_not_is_taken_again(
    tmp_path: Path, is_dirty: bool, is_killed: bool
) -> None:
    root, state_dir = repository(tmp_path / "project"), tmp_path / "state"
    state_dir.mkdir()
    store = FullStore(SqliteDatabase(state_dir / "code_changes.sqlite", label="changes"), FakeClock())
    agent = Agent(root, state_dir, store=store)
    if is_dirty:
        (root / "cache.py").write_text("mine\n")
    await agent.start()
    for number in range(30):
        if agent.last["phase"] == "SESSION_COMPLETE":
            break
        payload = await agent.prepare()
        store.refusals = 1
        with pytest.raises(StateStorageError):
            await agent.submit(payload)
        if is_killed:
            agent = Agent(root, state_dir, store=store, owner=f"server-{number}")
            await agent.start(recovery="resume")
        await agent.submit(payload)
        assert "error" not in agent.last, (payload, agent.last["error"])
    assert agent.last["outcome"] == "completed"
    assert git(root, "diff", "--name-only", "main~1", "main") == "load.py"
    assert git(root, "status", "--porcelain") == ("M cache.py" if is_dirty else "")
    assert git(root, "branch", "--list", "llm_task_*") == ""


async def test_a_comment_in_a_function_that_was_there_before_proves_nothing(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    payload = await agent.prepare()
    agent.edit("load.py", FILES["load.py"].replace("    return", "    # retries now\n    return"))
    items = [{"item": "retry loop", "status": "done", "evidence": "load.py:4-6"}]
    await agent.submit({**payload, "checklist": items})
    assert "implement nothing" in problems(agent)


BAD_TEXT = "half a character \ud800"


@pytest.mark.parametrize(
    "changes",
    [
        {"summary": BAD_TEXT},
        {"tools_used": [BAD_TEXT]},
        {"mandatory_rules": [{"rule": BAD_TEXT, "source": "docs/rules.md"}]},
        {"documents_reviewed": ["docs/rules.md"] * 5_000},
        {"mandatory_rules": [{"rule": "x" * 19_000, "source": "docs/rules.md"}] * 900},
        {"summary": "x" * 10_000_000},
        {BAD_TEXT: 1},
        {"y": [[[{}]]] * 100_000},
    ],
    ids=["half text", "half tool", "half rule", "many", "long in all", "long", "half name", "deep"],
)
async def test_what_cannot_be_kept_is_refused_and_the_answer_is_short(agent: Agent, changes: dict[str, Any]) -> None:
    await agent.start()
    before = agent.session.state
    await agent.step(**changes)
    assert agent.last["error"]["code"] == "payload_mismatch"
    assert len(problems(agent).encode()) < 10_000
    assert agent.session.state.phase == before.phase
    assert (await agent.finish())["outcome"] == "completed"


async def test_a_thousand_problems_are_told_in_short(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(12)
    await agent.submit({"tasks": [{"id": "t" * 15_000}] * 1_000, "tools_used": [], "summary": "many"})
    assert len(problems(agent)) < 30_000


@pytest.mark.parametrize("query", ["\u200b\u202e", "\u3164", " \u2800 "])
async def test_a_query_that_shows_nothing_begins_no_session(agent: Agent, query: str) -> None:
    told = await agent.sessions.start("MODIFY", query)
    assert told["error"]["problems"] == [
        "query: it shows nothing, it holds invisible characters alone; send the request in words"
    ]
    assert agent.sessions.live is None


async def test_a_query_that_cannot_be_kept_begins_no_session(agent: Agent) -> None:
    agent.last = await agent.sessions.start("MODIFY", BAD_TEXT)
    assert "query" in problems(agent)
    assert agent.sessions.live is None


async def test_a_file_whose_name_is_no_text_is_told_and_not_committed(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    assert (await agent.session.check_write_target("caf\udce9.py"))["permitted"] is False
    await agent.step()
    place = agent.root / os.fsdecode(b"caf\xe9.py")
    place.write_text("x = 1\n")
    assert (await agent.session.review_changes())["unpermitted"] == ["caf\\xe9.py"]
    await agent.step()
    assert "caf\\xe9.py was changed" in problems(agent)
    place.unlink()
    await agent.finish()


@pytest.mark.parametrize("file", [".GIT/hooks/pre-commit", "sub/.git/config", ".Git", ".Code-Intel/phase_contract.yml"])
async def test_folders_of_git_and_of_the_contract_are_not_written_in_any_spelling(agent: Agent, file: str) -> None:
    await agent.start()
    await agent.go_to(13)
    assert (await agent.session.check_write_target(file))["permitted"] is False


async def test_a_session_that_is_resumed_by_its_own_server_stays_one(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(17)
    first, payload = agent.session, await agent.prepare()
    await agent.sessions.start("MODIFY", "anything", recovery="resume")
    assert agent.session is first
    answers = await asyncio.gather(*(agent.session.submit(payload) for _ in range(3)))
    assert sorted("error" in answer for answer in answers) == [False, True, True]
    assert git(agent.root, "rev-list", "--count", "main..HEAD") == "1"


async def test_a_work_tree_that_was_deleted_is_made_anew_at_resume(agent: Agent) -> None:
    (agent.root / "cache.py").write_text("mine\n")
    await agent.start()
    await agent.go_to(18)
    shutil.rmtree(agent.workspace)
    again = agent.restarted()
    again.last = await again.start(recovery="resume")
    assert (again.workspace / "load.py").read_text() == CHANGED
    await again.finish()
    assert (agent.root / "load.py").read_text() == CHANGED


async def test_a_fix_of_a_task_that_was_fixed_before_begins_with_no_clean_slate(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(15)
    known: dict[str, Any] = {"id": "t1", "description": "retry in load", "status": "completed"}
    known["checklist"] = [{"item": "retry loop", "status": "done"}]
    tasks: list[dict[str, Any]] = [known]
    for number in range(2, 9):
        failed = tasks[-1]["id"]
        await agent.step(passed=False, details="it fails", failed_tasks=[failed])
        if agent.last["phase"] != "READY":
            break
        items = [{"item": f"again {number}", "status": "pending"}]
        fix = {"id": f"t{number}", "description": "again", "status": "pending", "fixes": "t1", "checklist": items}
        fix["revert_reason"] = "it fails"
        await agent.submit({"tasks": [*tasks, fix], "tools_used": [], "summary": "again"})
        assert "error" not in agent.last, agent.last["error"]
        await agent.go_to(15)
        done = [{"item": f"again {number}", "status": "done"}]
        tasks.append({"id": f"t{number}", "description": "again", "status": "completed", "checklist": done})
    assert (agent.last["phase"], number) == ("VERIFY_INTERVENTION", 4)


async def test_an_analysis_of_nothing_is_no_analysis() -> None:
    tool = next(tool for tool in CONTRACT_TOOLS if tool.name == "analyze_impact")
    nothing: Any = None
    assert "error" in await tool.run(nothing, nothing, Impact(), nothing)


async def test_a_sparse_checkout_loses_nothing_outside_it(agent: Agent) -> None:
    git(agent.root, "sparse-checkout", "set", "--no-cone", "/*.py")
    assert not (agent.root / "docs").exists()
    await agent.start(flags=("no_doc_research",))
    await agent.finish()
    assert git(agent.root, "diff", "--name-only", "main~1", "main") == "load.py"
    assert git(agent.root, "status", "--porcelain") == ""
    assert not (agent.root / "docs").exists()


async def test_a_submodule_and_a_shallow_clone_stay_as_they_are(tmp_path: Path) -> None:
    inner, outer = repository(tmp_path / "inner"), repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(outer, "commit", "-qm", "sub")
    git(tmp_path, "-c", "protocol.file.allow=always", "clone", "-q", "--depth=1", f"file://{outer}", "clone")
    root = (tmp_path / "clone").resolve()
    git(root, "config", "user.name", "A Tester")
    git(root, "config", "user.email", "tester@example.org")
    agent = Agent(root, tmp_path / "state")
    await agent.start()
    await agent.finish()
    assert git(root, "diff", "--name-only", "main~1", "main") == "load.py"
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("spoil", "mend", "said"),
    [
        (("switch", "-q", "main"), ("switch", "-q", "BRANCH"), "is not on branch"),
        (("switch", "-q", "--detach"), ("switch", "-q", "BRANCH"), "HEAD is detached"),
        (("update-ref", "-d", "refs/heads/BRANCH"), ("branch", "BRANCH", "main"), "makes it anew"),
        (("config", "commit.gpgsign", "true"), ("config", "commit.gpgsign", "false"), "have to be signed"),
        (("update-ref", "MERGE_HEAD", "main"), ("update-ref", "-d", "MERGE_HEAD"), "a merge is under way"),
        (("symbolic-ref", "HEAD", "refs/heads/main"), ("symbolic-ref", "HEAD", "refs/heads/BRANCH"), "not on branch"),
    ],
    ids=["switched", "detached", "deleted", "signed", "merging", "pointed elsewhere"],
)
async def test_a_repository_that_was_spoilt_before_the_commit_is_told_and_mended(
    agent: Agent, spoil: tuple[str, ...], mend: tuple[str, ...], said: str
) -> None:
    await agent.start()
    await agent.go_to(17)
    payload, branch, base = await agent.prepare(), agent.last["branch"], git(agent.root, "rev-parse", "main")
    git(agent.root, *(word.replace("BRANCH", branch) for word in spoil))
    await agent.submit(payload)
    assert said in problems(agent)
    assert git(agent.root, "rev-parse", "main") == base
    git(agent.root, *(word.replace("BRANCH", branch) for word in mend))
    assert (await agent.finish())["outcome"] == "completed"
    assert (agent.root / "load.py").read_text() == CHANGED


async def test_a_file_behind_a_filter_is_refused_before_it_is_written(agent: Agent) -> None:
    (agent.root / ".gitattributes").write_text("load.py filter=lfs\n")
    git(agent.root, "add", "-A")
    git(agent.root, "commit", "-qm", "filtered")
    await agent.start()
    await agent.go_to(13)
    told = await agent.session.check_write_target("load.py")
    assert (told["permitted"], "load.py (lfs) through a filter program" in told["reason"]) == (False, True)


@pytest.mark.parametrize("place", [".gitattributes", ".git/info/attributes"])
async def test_a_filter_that_was_planted_is_not_run(agent: Agent, tmp_path: Path, place: str) -> None:
    await agent.start()
    await agent.go_to(17)
    git(agent.root, "config", "filter.evil.clean", f"touch {tmp_path}/ran; cat")
    payload = await agent.prepare()
    (agent.root / place).parent.mkdir(exist_ok=True)
    (agent.root / place).write_text("*.py filter=evil\n")
    await agent.submit(payload)
    assert "filter" in problems(agent) or ".gitattributes was changed" in problems(agent)
    (agent.root / place).unlink()
    await agent.finish()
    assert not (tmp_path / "ran").exists()


async def test_a_work_tree_whose_git_file_was_led_elsewhere_commits_nothing_there(agent: Agent, tmp_path: Path) -> None:
    (agent.root / "cache.py").write_text("mine\n")
    await agent.start()
    await agent.go_to(17)
    payload, link = await agent.prepare(), agent.workspace / ".git"
    other = repository(tmp_path / "other")
    git(other, "switch", "-qc", agent.last["branch"])
    true = link.read_text()
    link.write_text(f"gitdir: {other}/.git\n")
    before = git(other, "for-each-ref")
    await agent.submit(payload)
    assert "error" in agent.last
    assert git(other, "for-each-ref") == before
    link.write_text(true)
    await agent.finish()
    assert (agent.root / "load.py").read_text() == CHANGED


async def test_a_change_is_made_in_a_linked_work_tree_of_the_user(agent: Agent, tmp_path: Path) -> None:
    git(agent.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    beside = Agent((tmp_path / "side").resolve(), tmp_path / "state")
    await beside.start()
    await beside.finish()
    assert (tmp_path / "side" / "load.py").read_text() == CHANGED
    assert git(agent.root, "status", "--porcelain") == ""


async def test_the_status_is_told_even_where_git_cannot_be_used(agent: Agent) -> None:
    (agent.root / "cache.py").write_text("mine\n")
    await agent.start()
    await agent.go_to(14)
    (agent.root / ".git").rename(agent.root / "git")
    told = await agent.session.status()
    assert (told["step"], "cannot be told" in told["notes"][0]) == (14, True)
    await agent.step()
    assert agent.last["error"]["code"] == "git_refused"
    (agent.root / "git").rename(agent.root / ".git")
    await agent.finish()


@pytest.mark.parametrize("kind", ["bare", "elsewhere", "none"])
async def test_what_is_no_work_tree_begins_no_change(agent: Agent, tmp_path: Path, kind: str) -> None:
    folder = (tmp_path / "begun").resolve()
    folder.mkdir()
    if kind == "bare":
        git(folder, "init", "-q", "--bare")
    elif kind == "elsewhere":
        (folder / ".git").write_text(f"gitdir: {agent.root}/.git\n")
    other = Agent(folder, tmp_path / "state")
    await other.start()
    assert other.last["error"]["code"] == "start_refused"
