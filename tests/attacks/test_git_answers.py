"""Answers about repositories that would have git run something, or show the history of another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.attacks.repositories import Canary, git, grow
from tests.capabilities.code_analysis.support import AnalysisHarness

QUESTION = "Who changed alpha_thing last?"


async def ask(root: Path, state: Path) -> dict[str, Any]:
    desk = await AnalysisHarness.open(root, state)
    return dict(await desk.ask(QUESTION))


async def test_who_changed_a_thing_is_answered_and_nothing_of_the_repository_is_run(tmp_path: Path) -> None:
    root, canary = grow(tmp_path / "repo"), Canary(tmp_path / "canary")
    config = f'\n[filter "a=b"]\n\tclean = {canary.program}\n[diff "evil"]\n\ttextconv = {canary.program}\n'
    with (root / ".git/config").open("a") as file:
        file.write(config)
    (root / ".gitattributes").write_text("* filter=a=b diff=evil\n")
    document = await ask(root, tmp_path / "state")
    assert not canary.sang()
    assert git(root, "rev-parse", "HEAD~1").strip() in {commit["sha"] for commit in document["commits"]}
    assert "Add a gamma" in document["answer"]
    git(root, "log", "-p", "-Salpha")
    assert canary.sang()


async def test_the_history_of_another_repository_is_no_answer(tmp_path: Path) -> None:
    grow(tmp_path / "other")
    root = grow(tmp_path / "repo")
    (root / ".git").rename(tmp_path / "gone")
    (root / ".git").write_text("gitdir: ../other/.git\n")
    document = await ask(root, tmp_path / "state")
    assert document["commits"] == []
    assert "git's data of this folder leads out of it" in document["answer"]
