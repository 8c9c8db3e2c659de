"""Paths that a contract protects: no change holds them, whatever was explored, and no session is asked to agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.write_guard import protected_refusal
from tests.capabilities.code_change.host_site import Driver, HostSite
from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository
from tests.capabilities.code_change.test_checked_commits import contract as named_checks
from tests.capabilities.code_change.test_project_contract import bring_contract
from tests.runtime.contracts.session_player import CONTRACT
from tests.runtime.contracts.test_loading import SHIPPED


@pytest.mark.parametrize(
    ("pattern", "file", "is_protected"),
    [
        ("migrations/", "migrations/one.sql", True),
        ("migrations/", "pkg/migrations/deep/one.sql", True),
        ("/migrations/", "pkg/migrations/one.sql", False),
        ("migrations/", "migrations", False),
        ("*.lock", "pkg/a.lock", True),
        ("*.lock", "a.lock.py", False),
        ("deploy/prod", "deploy/prod/a.yaml", True),
        ("deploy/**/secret.yaml", "deploy/a/b/secret.yaml", True),
        ("ü*", "pkg/über.py", True),
    ],
)
def test_a_pattern_protects_what_gitignore_would_ignore(pattern: str, file: str, is_protected: bool) -> None:
    assert (protected_refusal([pattern], file) is not None) == is_protected


def test_any_of_several_patterns_protects_and_without_one_nothing_does() -> None:
    assert protected_refusal(["a/", "b/"], "a/x.py") is not None
    assert protected_refusal(["b/", "a/"], "a/x.py") is not None
    assert protected_refusal([], "a/x.py") is None


async def test_a_protected_file_is_never_permitted_and_an_edit_of_it_ends_before_the_commit(tmp_path: Path) -> None:
    contract = CONTRACT.model_copy(update={"protected_paths": ("load.py",)})
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", contract)
    await agent.start()
    await agent.go_to(13)
    told = await agent.session.check_write_target("load.py")
    assert told["permitted"] is False
    assert "'load.py' is among the protected_paths of the contract" in told["reason"]
    agent.edit("load.py", CHANGED)
    await agent.step()
    assert agent.last["step"] in (13, 14)
    assert (await agent.session.review_changes())["unpermitted"] == ["load.py"]
    assert git(agent.root, "rev-parse", "HEAD") == git(agent.root, "rev-parse", "main")


async def test_a_contract_of_the_repository_that_protects_paths_needs_no_consent(tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    bring_contract(project, SHIPPED.replace("\nphases:", "\nprotected_paths: [migrations/, '*.lock']\n\nphases:", 1))
    told = await Driver(HostSite(tmp_path / "state"), project).start(flags=("no_doc_research",))
    assert "it only tightens the shipped contract" in told["notes"][0]


async def test_that_a_file_is_protected_is_told_before_anybody_explores_for_it(tmp_path: Path) -> None:
    contract = CONTRACT.model_copy(update={"protected_paths": ("migrations/", "cache.py")})
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", contract)
    await agent.start(flags=["fast"])
    await agent.go_to(13)
    for file in ("migrations/two.py", "new/migrations/two.py", "cache.py"):
        told = await agent.session.check_write_target(file)
        assert told["reason"].startswith(f"'{file}' is among the protected_paths of the contract")
    assert "protected" not in (await agent.session.check_write_target("../migrations/two.py"))["reason"]


def merges_a_side_branch(folder: Path) -> None:
    """Merge a branch that the agent made beside the session's into that one: it edits a protected file."""
    branch = git(folder, "branch", "--show-current")
    git(folder, "switch", "-qc", "side", "main")
    (folder / "cache.py").write_text("KEPT = {0: 0}\n")
    git(folder, "commit", "-qam", "side")
    git(folder, "switch", "-q", branch)
    git(folder, "merge", "-q", "--no-edit", "side")


def commits(folder: Path) -> None:
    (folder / "cache.py").write_text("KEPT = {0: 0}\n")
    git(folder, "commit", "-qam", "own")


@pytest.mark.parametrize("brings", [merges_a_side_branch, commits])
@pytest.mark.parametrize("step", [14, pytest.param(19, marks=pytest.mark.long)])
async def test_what_commits_of_the_agent_bring_into_a_protected_file_is_not_merged(
    tmp_path: Path, brings: Callable[[Path], None], step: int
) -> None:
    contract = CONTRACT.model_copy(update={"protected_paths": ("cache.py",)})
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", contract)
    await agent.start()
    await agent.go_to(14)
    if step > 14:
        await agent.go_to(17)
        await agent.step()
    if step == 14:
        git(agent.root, "stash", "-q")
    brings(agent.workspace)
    if step == 14:
        git(agent.root, "stash", "pop", "-q")
    problem = str((await agent.step())["error"]["problems"])
    assert "check_write_target never permitted" in problem
    assert "cache.py" in problem
    assert git(agent.root, "show", "main:cache.py") == "KEPT = {}"


@pytest.mark.long
async def test_a_check_that_writes_a_protected_file_brings_it_into_no_change(tmp_path: Path) -> None:
    checks = named_checks("echo 1 >> cache.py", "verify").model_copy(update={"protected_paths": ("cache.py",)})
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state", checks)
    await agent.start()
    await agent.go_to(17)
    assert "cache.py was changed" in str((await agent.step())["error"]["problems"])
    git(agent.root, "checkout", "-q", "--", "cache.py")
    assert "if a check writes files" in str((await agent.step())["error"]["problems"])
    assert git(agent.root, "log", "--all", "--format=%s", "--", "cache.py") == "first"
