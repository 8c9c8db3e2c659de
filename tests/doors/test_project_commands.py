"""`jeeves init`, `allow`, `outcome` and `runs` of changes, as a person uses them."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.write_guard import is_ours
from actors.capabilities.code_change.session.owners import Owner
from actors.capabilities.code_change.session.service import OWNERS
from runtime.codebase.git.linked_trees import FIX_PREFIX
from runtime.codebase.git.side_branches import open_side_tree
from runtime.codebase.git.tree_places import FIX_TREES
from runtime.contracts.loading import parse_contract
from runtime.settings import Settings
from serve.cli.change_store import open_change_records
from tests.capabilities.code_change.played_agent import Agent, git, repository
from tests.doors.program import Program
from tests.runtime.contracts.test_loading import SHIPPED


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


def test_init_writes_what_agents_need_once_and_leaves_the_work_tree_clean(jeeves: Program, project: Path) -> None:
    first = jeeves.run("init", "--repo", str(project))
    assert first.status == 0, first.err
    assert "wrote  .code-intel/guides/intervention.md" in first.out
    assert git(project, "status", "--porcelain") == ""
    entry = json.loads((project / ".mcp.json").read_text())["mcpServers"]["jeeves"]
    assert entry["args"][0] == "mcp"
    (project / ".code-intel" / "guides" / "intervention.md").write_text("ours\n")
    again = jeeves.run("init", "--repo", str(project))
    assert "wrote" not in again.out
    written = [line.split()[1] for line in first.out.splitlines() if line.startswith("wrote")]
    assert [file for file in written if not is_ours(file)] == []
    told = first.out.splitlines()
    hint = tomllib.loads("\n".join(told[told.index("[mcp_servers.jeeves]") :]))
    assert hint["mcp_servers"]["jeeves"]["args"] == entry["args"]
    assert (project / ".code-intel" / "guides" / "intervention.md").read_text() == "ours\n"


@pytest.mark.parametrize("flag", ["--contract", "--no-contract"])
def test_init_copies_the_shipped_contract_unless_told_not_to(jeeves: Program, project: Path, flag: str) -> None:
    contract = project / ".code-intel" / "phase_contract.yml"
    told = jeeves.run("init", flag, "--repo", str(project)).out
    assert contract.exists() == (flag == "--contract") == ("wrote  .code-intel/phase_contract.yml" in told)
    jeeves.run("init", "--repo", str(project)).answers()
    assert contract.read_text() == SHIPPED


def test_init_keeps_the_servers_that_a_client_has_and_refuses_what_is_no_json(jeeves: Program, project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}, "more": 1}')
    assert jeeves.run("init", "--repo", str(project)).status == 0
    known = json.loads((project / ".mcp.json").read_text())
    assert (sorted(known["mcpServers"]), known["more"]) == (["jeeves", "other"], 1)
    (project / ".mcp.json").write_text("{not json")
    refused = jeeves.run("init", "--repo", str(project))
    assert (refused.status, "is not JSON" in refused.err) == (2, True)


@pytest.mark.long
async def test_init_twice_beside_committed_files_of_the_team_changes_none_of_them(
    jeeves: Program, project: Path
) -> None:
    ours = {
        "AGENTS.md": "Never push.\n",
        "CLAUDE.md": "Be brief.\n",
        ".claude/commands/code.md": "our own command\n",
        ".code-intel/context.yml": "sources: [docs]\n",
    }
    for name, text in ours.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}}\n')
    git(project, "add", "-A")
    git(project, "commit", "-qm", "ours")
    first = jeeves.run("init", "--repo", str(project))
    entry = (project / ".mcp.json").read_text()
    again = jeeves.run("init", "--repo", str(project))
    assert (first.status, again.status) == (0, 0), first.err + again.err
    assert {line.split()[1] for line in first.out.splitlines() if line.startswith("kept")} == set(ours) - {
        "AGENTS.md",
        "CLAUDE.md",
    }
    assert {name: (project / name).read_text() for name in ours} == ours
    assert (project / ".mcp.json").read_text() == entry
    # The entry that was added to a committed file is outside of every change.
    assert git(project, "status", "--porcelain") == "M .mcp.json"
    agent = Agent(project, jeeves.state_dir)
    await agent.start()
    await agent.finish()
    assert agent.last["workspace"] == str(project)
    assert git(project, "diff", "--name-only", "main~1", "main") == "load.py"
    assert git(project, "status", "--porcelain") == "M .mcp.json"


@pytest.mark.parametrize("link", [".claude", ".code-intel", ".mcp.json", ".codex/prompts"])
def test_init_writes_nothing_through_a_link_of_the_repository(jeeves: Program, project: Path, link: str) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("{}")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(elsewhere / "file" if link.endswith("json") else elsewhere)
    refused = jeeves.run("init", "--repo", str(project))
    assert (refused.status, "is a link" in refused.err) == (2, True)
    assert [path.name for path in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text() == "{}"


@pytest.mark.long
def test_what_a_repository_brings_along_is_allowed_by_its_exact_content(jeeves: Program, project: Path) -> None:
    assert "brings no contract" in jeeves.run("allow", "--repo", str(project)).out
    (project / "AGENTS.md").write_text("Never push.\n")
    assert "new      AGENTS.md" in jeeves.run("allow", "--repo", str(project), "--yes").out
    assert "everything is allowed already" in jeeves.run("allow", "--repo", str(project)).out
    (project / "AGENTS.md").write_text("Always push.\n")
    assert "new      AGENTS.md" in jeeves.run("allow", "--repo", str(project), "--yes").out


@pytest.mark.long
def test_a_contract_that_waits_to_be_allowed_is_compared_with_the_shipped_one(jeeves: Program, project: Path) -> None:
    assert jeeves.run("init", "--repo", str(project)).status == 0
    contract = project / ".code-intel" / "phase_contract.yml"
    told = jeeves.run("allow", "--repo", str(project))
    assert "it only tightens the shipped contract, and is in force without being allowed" in told.out
    contract.write_text(SHIPPED.replace("task_failures: 3", "task_failures: 4"))
    told = jeeves.run("allow", "--repo", str(project))
    assert "it is not tighter than the shipped contract at: limits.task_failures" in told.out


@pytest.mark.long
def test_a_contract_with_faults_is_not_allowed_and_each_fault_is_told(jeeves: Program, project: Path) -> None:
    assert jeeves.run("init", "--repo", str(project)).status == 0
    contract = project / ".code-intel" / "phase_contract.yml"
    checked = "    duty: verify\n    checks: [{name: tests, command: pytest -q}]\n"
    contract.write_text(SHIPPED.replace("    duty: verify\n", checked))
    told = jeeves.run("allow", "--repo", str(project), "--yes")
    assert told.status == 2
    assert "phases.POST_IMPL_VERIFY.checks[0].command: a list of words is needed, such as [pytest, -q]" in told.err
    assert "allowed" not in told.out
    contract.write_text(SHIPPED.replace("    duty: verify\n", checked.replace("pytest -q", "[pytest, -q]")))
    assert "allowed" in jeeves.run("allow", "--repo", str(project), "--yes").out
    contract.unlink()
    assert "phase_contract.yml, which was allowed" in jeeves.run("allow", "--repo", str(project), "--yes").out
    assert "brings no contract" in jeeves.run("allow", "--repo", str(project)).out


@pytest.mark.long
async def test_a_person_answers_an_escalation_and_records_an_outcome(jeeves: Program, project: Path) -> None:
    agent = Agent(project, jeeves.state_dir)
    await agent.start(flags=["no_intervention"])
    for number in (1, 2, 3):
        await agent.go_to(15)
        await agent.step(passed=False, failed_tasks=["t1"], details="red")
        if number < 3:
            fix = {
                "id": f"f{number}",
                "description": "mend",
                "status": "pending",
                "checklist": [{"item": f"mend {number}", "status": "pending"}],
                "fixes": "t1",
                "revert_reason": "red",
            }
            known = [
                {"id": task.id, "description": task.description, "status": "completed", "checklist": [_done(task)]}
                for task in agent.session.state.tasks
            ]
            await agent.step(tasks=[*known, fix])
    assert agent.last["phase"] == "USER_ESCALATION"
    session_id = agent.session.state.session_id
    assert session_id in agent.last["instruction"]
    listed = jeeves.run("runs", "list")
    assert session_id in listed.out
    empty = jeeves.run("runs", "resume", session_id)
    assert empty.status == 2
    answered = jeeves.run("runs", "resume", session_id, "--text", "mock the clock")
    assert answered.status == 0, answered.err
    assert (await agent.session.status())["step"] == 12
    assert "mock the clock" in (await agent.session.status())["instruction"]
    again = jeeves.run("runs", "resume", session_id, "--text", "once more")
    assert (again.status, "waits for no answer" in again.err) == (2, True)
    assert jeeves.run("outcome", session_id, "failure", "--reason", "flaky").status == 0
    told = jeeves.run("outcome", session_id, "failure", "--reason", "flaky", "--phase", "EXPLORATION", "--json")
    assert (told.document["phase"], told.document["files"]) == ("EXPLORATION", list(agent.session.state.explored))
    unknown = jeeves.run("outcome", session_id, "failure", "--phase", "EXPLORING")
    assert (unknown.status, "no phase is named 'EXPLORING'; there are BRANCH_INTERVENTION" in unknown.err) == (2, True)
    assert jeeves.run("outcome", session_id, "great").status == 2
    assert jeeves.run("outcome", "c-nobody", "success").status == 2
    shown = json.loads(jeeves.run("runs", "show", session_id).out)
    assert shown["decisions"][-1]["kind"] == "answered"


@pytest.mark.long
async def test_a_person_ends_a_session_that_is_live(jeeves: Program, project: Path) -> None:
    agent = Agent(project, jeeves.state_dir)
    await agent.start()
    await agent.go_to(14)
    session_id, branch = agent.session.state.session_id, agent.last["branch"]
    done = jeeves.run("runs", "cancel", session_id, "--reason", "needless")
    assert (done.status, json.loads(done.out)["branch"]) == (0, branch)
    told = await agent.submit({"summary": "it goes on"})
    assert (told["phase"], told["outcome"], told["error"]["code"]) == ("SESSION_COMPLETE", "cancelled", "session_over")
    assert "the session is over: cancelled" in told["error"]["problems"][0]
    assert git(project, "branch", "--list", branch) != ""
    shown = json.loads(jeeves.run("runs", "show", session_id).out)
    assert shown["outcome"] == "cancelled"
    assert (shown["decisions"][-1]["kind"], shown["decisions"][-1]["reason"]) == ("cancelled", "needless")
    again = jeeves.run("runs", "cancel", session_id)
    assert (again.status, "is over already" in again.err) == (2, True)


async def test_what_sessions_left_is_listed_deleted_and_can_be_brought_back(jeeves: Program, project: Path) -> None:
    assert "nothing was left here" in jeeves.run("clean", "--repo", str(project)).out
    git(project, "branch", "llm_task_old")
    agent = Agent(project, jeeves.state_dir)
    await agent.start()
    done = jeeves.run("clean", "--repo", str(project), "--yes")
    assert done.status == 0, done.err
    assert f"session  {agent.session.state.session_id}" in done.out
    assert git(project, "branch", "--list", "llm_task_*") == ""
    command = next(line for line in done.out.splitlines() if "brings it back" in line).split(": ")[1]
    git(project, *command.split()[1:])
    assert "llm_task_old" in git(project, "branch", "--list", "llm_task_*")


async def test_a_left_branch_that_is_out_stays_and_the_others_go(jeeves: Program, project: Path) -> None:
    left = Agent(project, jeeves.state_dir)
    await left.start()
    await left.go_to(14)
    git(project, "branch", "llm_task_old")
    done = jeeves.run("clean", "--repo", str(project), "--yes")
    assert (done.status, "deleted llm_task_old" in done.out) == (0, True)
    assert f"kept    {left.last['branch']}" in done.out


async def test_what_a_client_took_up_after_it_was_listed_is_not_deleted(jeeves: Program, project: Path) -> None:
    git(project, "branch", "llm_task_old")
    left = Agent(project, jeeves.state_dir)
    await left.start()
    await left.go_to(14)
    owner = Owner(jeeves.state_dir / OWNERS)
    client = Agent(project, jeeves.state_dir, owner=owner.name)
    with open_change_records(Settings(state_dir=jeeves.state_dir)) as records:
        agreed = records.leftovers(project)
        client.last = await client.start(recovery="resume")
        assert [aside.branch for aside in records.clean(project, agreed).deleted] == ["llm_task_old"]
    owner.close()
    assert (await client.finish())["outcome"] == "completed"


@pytest.mark.long
def test_a_fix_that_was_cut_off_is_listed_and_deleted_once_nobody_touched_it_for_an_hour(
    jeeves: Program, project: Path
) -> None:
    folder = jeeves.state_dir / FIX_TREES / "7-1"
    tree = open_side_tree(project, f"{FIX_PREFIX}7-1", folder, git(project, "rev-parse", "HEAD"))
    admin = project / ".git" / "worktrees" / tree.branch
    young = jeeves.run("clean", "--repo", str(project)).out
    assert "nothing was left here" in young
    assert f"kept     {tree.branch}: touched less than" in young
    for name in ("HEAD", "index", "gitdir"):
        os.utime(admin / name, (1, 1))
    done = jeeves.run("clean", "--repo", str(project), "--yes")
    assert done.status == 0, done.err
    assert f"fix      {tree.branch}" in done.out
    assert (folder.exists(), admin.exists()) == (False, False)


async def test_a_session_is_shown_and_answered_under_the_contract_that_it_began_with(
    jeeves: Program, project: Path
) -> None:
    text = SHIPPED.replace("Divide the change into tasks", "Split the change into tasks")
    agent = Agent(project, jeeves.state_dir, parse_contract(text.replace("interventions: 2", "interventions: 1")))
    await agent.start(flags=["no_intervention"])
    await agent.go_to(12)
    session_id = agent.session.state.session_id
    assert "Split the change" in json.loads(jeeves.run("runs", "show", session_id).out)["instruction"]


def _done(task: object) -> dict[str, str]:
    return {"item": task.checklist[0].item, "status": "done", "evidence": "load.py:5"}  # type: ignore[attr-defined]
