"""Whole sessions on a real repository: what is committed, what is refused, and what survives a kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_change.session.hints import hints_of
from actors.capabilities.code_change.session.sessions import MAX_STALE
from actors.capabilities.code_change.store.session_store import OutcomeRow
from runtime.contracts.loading import parse_contract
from runtime.errors import FencedError
from tests.capabilities.code_change.played_agent import CHANGED, CODE, QUERY, Agent, git, repository
from tests.runtime.contracts.test_loading import SHIPPED


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(repository(tmp_path / "project"), tmp_path / "state")


async def test_a_change_is_made_reviewed_committed_and_merged(agent: Agent) -> None:
    await agent.start()
    assert (await agent.finish())["outcome"] == "completed"
    assert (agent.root / "load.py").read_text() == CHANGED
    assert git(agent.root, "branch", "--show-current") == "main"
    assert git(agent.root, "status", "--porcelain") == ""
    assert "Retry in load" in git(agent.root, "log", "--format=%s")


async def test_beside_uncommitted_work_the_change_is_made_in_a_work_tree_and_edits_are_noticed(agent: Agent) -> None:
    (agent.root / "cache.py").write_text("mine\n")
    await agent.start()
    await agent.go_to(13)
    assert agent.workspace != agent.root
    assert agent.last["workspace"] == str(agent.workspace)
    (agent.root / "cache.py").write_text("mine, again\n")
    await agent.step()
    assert any("was edited since this session began" in note for note in agent.last["notes"])
    await agent.finish()
    assert (agent.root / "cache.py").read_text() == "mine, again\n"
    assert (agent.root / "load.py").read_text() == CHANGED


STEPS = [3, 4, 5, 6, 8, 10, 12, 13, 14, 15, 17, 18, 19]


@pytest.mark.parametrize("step", STEPS)
async def test_a_server_killed_in_any_step_goes_on_where_it_was(agent: Agent, step: int) -> None:
    await agent.start()
    await agent.go_to(step)
    again = agent.restarted()
    assert (await again.start())["recovery_available"] is True
    resumed = await again.start(recovery="resume")
    assert (resumed["step"], resumed["phase"]) == (step, agent.last["phase"])
    await again.finish()
    assert (agent.root / "load.py").read_text() == CHANGED
    assert git(agent.root, "branch", "--list", "llm_task_*") == ""


async def test_who_was_taken_over_changes_nothing_any_more(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(5)
    again = agent.restarted()
    await again.start(recovery="resume")
    with pytest.raises(FencedError, match="taken over by another client"):
        await agent.step()
    assert (await again.session.status())["step"] == 5


async def test_a_repository_has_one_live_session(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    first = Agent(root, tmp_path / "state", is_alive=lambda owner: True)
    other = Agent(root, tmp_path / "state", is_alive=lambda owner: True, owner="other")
    await first.start()
    refused = await other.start()
    assert refused["error"]["code"] == "session_live"
    assert refused["session_id"] == first.session.state.session_id
    assert (await other.start(recovery="resume"))["error"]["code"] == "session_live"


@pytest.mark.parametrize(("minutes", "is_live"), [(29.9, True), (30.0, False)])
async def test_a_session_that_nobody_called_for_half_an_hour_is_left_over(
    tmp_path: Path, minutes: float, is_live: bool
) -> None:
    first = Agent(repository(tmp_path / "project"), tmp_path / "state", is_alive=lambda owner: True)
    other = Agent(first.root, tmp_path / "state", is_alive=lambda owner: True, owner="other", clock=first.clock)
    await first.start()
    await first.clock.advance(minutes * 60)
    answer = await other.start()
    assert ("error" in answer) is is_live
    assert ("recovery_available" in answer) is not is_live


async def test_a_discarded_session_keeps_its_branch_which_is_stale_then(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    (agent.root / "load.py").write_text(CODE)
    git(agent.root, "switch", "-q", "main")
    again = agent.restarted()
    answer = await again.start(recovery="discard")
    assert answer["phase"] == "BRANCH_INTERVENTION"
    assert len(answer["stale_branches"]) == 1
    refused = await again.step(choice="delete")
    assert refused["error"]["code"] == "not_confirmed"
    assert git(agent.root, "branch", "--list", "llm_task_*") != ""


async def test_a_person_who_agrees_has_stale_branches_deleted_and_is_told_how_to_bring_them_back(
    tmp_path: Path,
) -> None:
    asked = []

    async def agree(question: str) -> bool:
        asked.append(question)
        return True

    root = repository(tmp_path / "project")
    git(root, "branch", "llm_task_old")
    agent = Agent(root, tmp_path / "state", confirm=agree)
    await agent.start()
    assert agent.last["stale_branches"] == ["llm_task_old"]
    await agent.step(choice="delete")
    assert "llm_task_old" in asked[0]
    assert git(root, "branch", "--list", "llm_task_old") == ""
    command = agent.last["warnings"][0].split("`")[1]
    git(root, *command.split()[1:])
    assert "llm_task_old" in git(root, "branch", "--list", "llm_task_old")


async def test_a_person_who_agrees_has_stale_branches_merged_before_the_session_begins(tmp_path: Path) -> None:
    asked = []

    async def agree(question: str) -> bool:
        asked.append(question)
        return True

    root = repository(tmp_path / "project")
    git(root, "switch", "-qc", "llm_task_old")
    (root / "old.py").write_text("left = 1\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "left")
    git(root, "switch", "-q", "main")
    agent = Agent(root, tmp_path / "state", confirm=agree)
    await agent.start()
    await agent.step(choice="merge")
    assert "llm_task_old" in asked[0]
    assert agent.last["phase"] == "DOCUMENT_RESEARCH"
    assert "branch llm_task_old was merged into main" in agent.last["warnings"]
    assert (root / "old.py").read_text() == "left = 1\n"
    assert git(root, "branch", "--list", "llm_task_old") == ""
    await agent.finish()
    assert git(root, "show", "main:old.py") == "left = 1"


async def test_a_stale_branch_that_conflicts_is_told_and_leaves_all_as_it_was(tmp_path: Path) -> None:
    async def agree(_question: str) -> bool:
        return True

    root = repository(tmp_path / "project")
    git(root, "switch", "-qc", "llm_task_old")
    (root / "load.py").write_text("theirs = 1\n")
    git(root, "commit", "-qam", "left")
    git(root, "switch", "-q", "main")
    (root / "load.py").write_text("ours = 1\n")
    git(root, "commit", "-qam", "meanwhile")
    before = git(root, "for-each-ref")
    agent = Agent(root, tmp_path / "state", confirm=agree)
    await agent.start()
    refused = await agent.step(choice="merge")
    assert refused["error"]["code"] == "git_refused"
    assert "load.py" in str(refused["error"]["problems"])
    assert refused["phase"] == "BRANCH_INTERVENTION"
    assert git(root, "for-each-ref") == before
    assert (root / "load.py").read_text() == "ours = 1\n"
    await agent.step(choice="continue")
    assert agent.last["phase"] == "DOCUMENT_RESEARCH"


async def test_files_that_were_not_permitted_are_not_committed(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    payload = await agent.prepare()
    agent.edit("cache.py", "STOLEN = 1\n")
    await agent.submit(payload)
    refused = await agent.step()
    assert refused["error"]["problems"] == ["files: cache.py was changed, but check_write_target never permitted it"]
    assert (await agent.session.review_changes())["unpermitted"] == ["cache.py"]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("other.py", None),
        ("load.py", None),
        ("lib/new.py", None),
        ("docs/new.md", "nothing was explored"),
        ("unseen.py", "was never explored"),
        ("../out.py", "must be a path from the top"),
        ("/etc/passwd", "must be a path from the top"),
        ("./load.py", "must be a path from the top"),
        ("docs/../load.py", "must be a path from the top"),
        (".git/config", "git's own folder"),
        (".code-intel/phase_contract.yml", "belongs to the contract"),
        (".mcp.json", "`jeeves init` writes"),
        (".claude/commands/code.md", "`jeeves init` writes"),
        (".code-intel/agreements/notes.md", "belongs to the contract"),
        (".code-intel/agreements/../0123456789abcdef.json", "must be a path from the top"),
        (".Code-Intel/agreements/0123456789abcdef.json", "belongs to the contract"),
        ("link/x.py", "leads through the link"),
        ("", "is empty"),
    ],
)
async def test_only_explored_files_and_new_ones_beside_them_may_be_written(
    agent: Agent, file: str, reason: str | None
) -> None:
    (agent.root / "unseen.py").write_text("x = 1\n")
    (agent.root / "link").symlink_to("/tmp")
    git(agent.root, "add", "-A")
    git(agent.root, "commit", "-qm", "more")
    await agent.start(flags=["no_doc_research"])
    await agent.go_to(13)
    answer = await agent.session.check_write_target(file)
    assert answer["permitted"] is (reason is None)
    assert reason is None or reason in answer["reason"]


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ("load.py:1", "were not changed by this task's branch"),
        ("load.py:99", "are not in 'load.py', which has 10"),
        ("load.py:8-5", "are not in 'load.py'"),
        ("net.py:1", "were not changed"),
        ("none.py:1", "there is no file"),
        ("../load.py:5", "must be a path from the top"),
        ("load.py", "is no place"),
        ("deleted: load.py", "was not deleted by this change"),
        ("load.py:5; rm -rf", "is no place"),
    ],
)
async def test_forged_evidence_is_refused(agent: Agent, evidence: str, reason: str) -> None:
    await agent.start()
    await agent.go_to(13)
    payload = dict(await agent.prepare())
    payload["checklist"] = [{**payload["checklist"][0], "evidence": evidence}]
    told = await agent.submit(payload)
    assert reason in told["error"]["problems"][0]


async def test_a_deletion_is_proven_by_the_file_that_is_gone_or_the_lines_beside_the_gap(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(12)
    items = [{"item": name, "status": "pending"} for name in ("drop cache", "drop import")]
    await agent.step(tasks=[{"id": "t1", "description": "drop", "status": "pending", "checklist": items}])
    for file in ("cache.py", "load.py"):
        await agent.session.check_write_target(file)
    (agent.workspace / "cache.py").unlink()
    agent.edit("load.py", CODE.replace("import net\n\n\n", ""))
    proofs = ("deleted: cache.py", "load.py:1")
    checklist = [
        {"item": each["item"], "status": "done", "evidence": proof} for each, proof in zip(items, proofs, strict=True)
    ]
    told = await agent.submit({"task_id": "t1", "checklist": checklist, "tools_used": [], "summary": "dropped"})
    assert "error" not in told


async def test_an_empty_body_is_no_evidence(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(13)
    payload = await agent.prepare()
    agent.edit("load.py", CODE + "\n\ndef retry():\n    pass\n\n\n\n")
    payload = {**payload, "checklist": [{**payload["checklist"][0], "evidence": "load.py:8"}]}
    assert "implement nothing" in (await agent.submit(payload))["error"]["problems"][0]


async def test_a_verdict_beside_a_failing_check_of_the_contract_is_refused(tmp_path: Path) -> None:
    text = SHIPPED.replace(
        "    duty: verify\n", "    duty: verify\n    checks: [{name: tests, command: [sh, -c, 'echo red; exit 3']}]\n"
    )
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", parse_contract(text))
    await agent.start()
    await agent.go_to(15)
    told = await agent.step()
    assert "check 'tests' fails" in told["error"]["problems"][0]
    assert "red" in told["error"]["problems"][0]
    assert (await agent.step(passed=False, details="red"))["step"] == 12


async def test_tools_out_of_phase_are_answered_with_the_phase(agent: Agent) -> None:
    await agent.start()
    refused = agent.session.refusal_of("semantic_search")
    assert refused is not None
    assert (refused["error"]["code"], refused["phase"]) == ("out_of_phase", "DOCUMENT_RESEARCH")
    assert agent.session.refusal_of("search_text") is None


async def test_an_investigation_needs_no_git(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    for name in ("load.py", "net.py", "cache.py"):
        (root / name).write_text("x = 1\n")
    agent = Agent(root.resolve(), tmp_path / "state")
    await agent.start("INVESTIGATE", flags=["no_doc_research"])
    assert (await agent.finish())["outcome"] == "completed"
    assert "no git repository" in str((await Agent(root.resolve(), tmp_path / "s2").start())["error"]["problems"])


async def test_a_conflict_with_the_base_branch_is_told_and_can_be_mended(agent: Agent, tmp_path: Path) -> None:
    await agent.start()
    await agent.go_to(19)
    elsewhere = tmp_path / "elsewhere"
    git(agent.root, "worktree", "add", "-q", str(elsewhere), "main")
    (elsewhere / "load.py").write_text("import other\n")
    git(elsewhere, "commit", "-qam", "another load")
    told: dict[str, Any] = await agent.step()
    assert told["error"]["code"] == "git_refused"
    assert "conflicts in load.py" in told["error"]["problems"][0]
    assert told["phase"] == "MERGE"


async def test_every_decision_is_in_the_log(agent: Agent) -> None:
    await agent.start()
    session_id = agent.session.state.session_id
    await agent.submit({"junk": 1})
    await agent.finish()
    rows = agent.ports.store.decisions(session_id)
    assert [row.data["to"] for row in rows][-1] == "SESSION_COMPLETE"
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))


async def test_an_agreement_may_be_part_of_a_change(agent: Agent) -> None:
    file = ".code-intel/agreements/0123456789abcdef.json"
    await agent.start()
    await agent.go_to(13)
    assert (await agent.session.check_write_target(file))["permitted"] is True
    agent.edit(file, "{}\n")
    await agent.finish()
    assert git(agent.root, "show", f"HEAD:{file}") == "{}"


def outcome(query: str, verdict: str, **fields: Any) -> OutcomeRow:
    return OutcomeRow("c-1", "/r", verdict, fields.pop("reason", ""), 1, query, "MERGE", **fields)


def test_earlier_changes_for_a_like_request_are_told_the_likest_first() -> None:
    query = "Make load retry when the network fails"
    rows = [
        outcome("Paint the shed green", "failure"),
        outcome("Make load retry when the disk fails", "failure", reason="tests were flaky"),
        outcome("Make load retry when the network fails twice", "success", files=("load.py",)),
    ]
    first, second = hints_of(query, rows)
    assert ("went well" in first, "load.py" in first, "tests were flaky" in second) == (True, True, True)
    assert hints_of(query, []) == []


async def test_a_failure_that_was_recorded_is_a_hint_for_the_next_session(agent: Agent) -> None:
    await agent.start()
    session_id = agent.session.state.session_id
    await agent.finish()
    agent.ports.store.record_outcome(
        OutcomeRow(session_id, str(agent.root), "failure", "it broke the cache", 1, QUERY, "MERGE")
    )
    assert "it broke the cache" in (await agent.start())["hints"][0]
    assert "it broke the cache" in (await agent.session.status())["hints"][0]


async def test_with_the_flag_clean_a_person_agrees_to_what_goes_before_the_session_begins(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    (root / "cache.py").write_text("mine\n")
    left = Agent(root, tmp_path / "state")
    await left.start()
    await left.go_to(14)
    git(root, "branch", "llm_task_old")
    asked: list[str] = []
    said: list[bool | None] = [None, True]

    async def person(question: str) -> bool | None:
        asked.append(question)
        return said.pop(0)

    agent = Agent(root, tmp_path / "state", owner="another", confirm=person)
    refused = await agent.start(flags=("-c",))
    assert "jeeves clean" in refused["error"]["problems"][0]
    assert len(git(root, "branch", "--list", "llm_task_*").split()) == 3
    told = await agent.start(flags=("--clean",))
    assert (told["phase"], git(root, "branch", "--list", "llm_task_*")) == ("DOCUMENT_RESEARCH", "")
    session_id = left.session.state.session_id
    assert all(name in asked[1] for name in ("llm_task_old", f"llm_task_{session_id}", f"checkpoints of {session_id}"))
    command = next(note for note in told["notes"] if session_id in note).split("`")[1]
    git(root, *command.split()[1:])
    assert git(root, "show", f"llm_task_{session_id}:load.py") == CHANGED.strip()


async def test_the_flag_clean_leaves_a_live_session_alone(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    first = Agent(root, tmp_path / "state")
    await first.start()
    second = Agent(root, tmp_path / "state", owner="another", is_alive=lambda owner: True)
    assert (await second.start(flags=("clean",)))["error"]["code"] == "session_live"
    assert "error" not in await first.step()


@pytest.mark.parametrize("wish", [{"recovery": "resume"}, {"flags": ("-r",)}], ids=["recovery", "flag"])
async def test_where_no_session_was_left_none_is_resumed(agent: Agent, wish: dict[str, Any]) -> None:
    told = await agent.start(**wish)
    assert "no session was left" in told["error"]["problems"][0]
    assert agent.sessions.live is None


async def test_no_change_begins_on_the_branch_of_an_earlier_one(agent: Agent) -> None:
    await agent.start()
    await agent.go_to(14)
    (agent.root / "load.py").write_text(CODE)
    again = agent.restarted()
    told = await again.start(recovery="discard")
    assert "git switch" in told["error"]["problems"][0]
    git(agent.root, "switch", "-q", "main")
    assert (await again.start())["phase"] == "BRANCH_INTERVENTION"


async def test_a_client_drops_the_session_that_it_drives_only_if_the_person_agrees(tmp_path: Path) -> None:
    said: list[bool | None] = [None, True]

    async def person(question: str) -> bool | None:
        assert "Drop session" in question
        return said.pop(0)

    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", confirm=person)
    await agent.start()
    await agent.go_to(13)
    dropped = agent.session
    (problem,) = (await agent.start(recovery="discard"))["error"]["problems"]
    assert "You drive it" in problem
    assert f"jeeves runs cancel {dropped.state.session_id}" in problem
    agent.last = await agent.session.status()
    git(agent.root, "switch", "-q", "main")
    assert (await agent.start(recovery="discard"))["phase"] == "BRANCH_INTERVENTION"
    with pytest.raises(FencedError):
        await dropped.check_write_target("load.py")
    row = agent.ports.store.get(dropped.state.session_id)
    assert row is not None
    assert (row.state.outcome, row.state.shown) == ("discarded", {})


async def test_the_end_says_where_the_change_was_merged_and_what_the_person_can_record(agent: Agent) -> None:
    await agent.start()
    session_id = agent.session.state.session_id
    told = await agent.finish()
    assert told["merged"] == {"into": "main", "commit": git(agent.root, "rev-parse", "main")}
    assert f"jeeves outcome {session_id} success" in told["instruction"]


@pytest.mark.parametrize(("flags", "level"), [(["-g=f"], "full"), (["--gate", "full"], "full"), (["-g=a"], "auto")])
async def test_the_gate_level_may_be_given_as_a_flag(agent: Agent, flags: list[str], level: str) -> None:
    await agent.start(flags=[*flags, "-q"])
    assert (agent.session.state.gate_level, agent.session.state.flags) == (level, ("quick",))
    other = agent.restarted()
    other.last = await other.start(flags=["-g=x"], recovery="discard")
    assert "gate_level: expected one of auto, full, not 'x'" in str(other.last["error"])


async def test_a_failure_is_a_hint_for_the_next_like_request_and_in_its_status(agent: Agent) -> None:
    await agent.start()
    await agent.finish()
    state = agent.session.state if agent.sessions.live else agent.ports.store.all_sessions(1)[0].state
    row = OutcomeRow(state.session_id, str(agent.root), "failure", "the tests were flaky", 1, QUERY, "MERGE")
    agent.ports.store.record_outcome(row)
    told = await agent.start()
    assert "ended as failure: the tests were flaky" in told["hints"][0]
    assert (await agent.session.status())["hints"] == told["hints"]


async def test_no_more_left_branches_are_told_than_a_person_can_see(agent: Agent) -> None:
    for number in range(MAX_STALE + 1):
        git(agent.root, "branch", f"llm_task_{number:03d}")
    assert len((await agent.start())["stale_branches"]) == MAX_STALE


async def test_an_investigation_outside_of_git_has_a_workspace_too(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    told = await Agent(folder, tmp_path / "state").start("QUESTION")
    assert (told["workspace"], told["branch"]) == (str(folder), None)


EMPTY_BODIES = {
    "retry.js": "export function retry(load) {\n  return null;\n}\n",
    "retry.ts": "export function retry(load: () => void): void {\n}\n",
    "retry.go": "package retry\n\nfunc Retry(load func()) error {\n\treturn nil\n}\n",
    "retry.rs": "fn retry(load: fn()) {\n    todo!()\n}\n",
    "Retry.java": "class Retry {\n  void retry(Runnable load) {\n  }\n}\n",
    "retry.c": "int retry(void) {\n  return 0;\n}\n",
    "retry.rb": "def retry(load)\n  nil\nend\n",
    "retry.dart": "void retry(Function load) {\n  throw UnimplementedError();\n}\n",
    "retry.hs": "retry :: IO a -> IO a\nretry load = undefined\n",
    "retry.ex": "def retry(load), do: :ok\n",
}


@pytest.mark.parametrize("file", EMPTY_BODIES)
async def test_an_empty_body_is_no_evidence_in_any_language(agent: Agent, file: str) -> None:
    await agent.start()
    await agent.go_to(13)
    payload = await agent.prepare()
    assert (await agent.session.check_write_target(file))["permitted"] is True
    agent.edit(file, EMPTY_BODIES[file])
    evidence = f"{file}:1-{EMPTY_BODIES[file].count(chr(10))}"
    payload = {**payload, "checklist": [{**payload["checklist"][0], "evidence": evidence}]}
    told = await agent.submit(payload)
    assert told["error"]["code"] == "payload_mismatch"
    assert "implement nothing" in told["error"]["problems"][0]
    assert told["step"] == 13
