"""The exit status of `jeeves fix` is 0 only where no violation that was found is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serve.batch.fix_record import FixPlan, FixResult, left_over
from serve.cli.command_table import COMMANDS
from tests.doors.program import Program
from tests.runtime.codebase.test_git_writing import WHO, git

TRIED = ({"name": "f-1", "violation": {"path": "a.py"}}, {"name": "f-2", "violation": {"path": "a.py"}})


def plan(*, requests: tuple[dict[str, Any], ...] = TRIED, left: int = 0, is_dry_run: bool = False) -> FixPlan:
    return FixPlan("f", "/r", "c", "b", 0, requests, left=({"reason": "so"},) * left, is_dry_run=is_dry_run)


def results(*endings: tuple[str, str]) -> dict[str, FixResult]:
    """Results by name; each an ending and why it was dropped."""
    told = [(f"f-{number}", *each) for number, each in enumerate(endings, 1)]
    return {name: FixResult(name, fix={"ending": ending}, dropped=why) for name, ending, why in told}


def repository(root: Path, code: str) -> Path:
    """A repository with one file, committed."""
    root.mkdir()
    (root / "shop.py").write_text(code)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", WHO.name)
    git(root, "config", "user.email", WHO.email)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


@pytest.mark.parametrize(
    ("planned", "ended", "left"),
    [
        (plan(requests=()), {}, 0),
        (plan(), results(("fixed", ""), ("fixed", "")), 0),
        (plan(), results(("fixed", ""), ("escalated", "")), 1),
        (plan(), results(("fixed", ""), ("fixed", "a test fails with the others")), 1),
        (plan(), results(("fixed", "")) | {"f-2": FixResult("f-2")}, 1),
        (plan(), results(("fixed", ""), ("gone", "")), 0),
        (plan(), results(("fixed", "a test fails with the others"), ("gone", "")), 2),
        (plan(requests=(), left=2), {}, 2),
        (plan(left=1), results(("fixed", ""), ("fixed", "")), 1),
        (plan(is_dry_run=True), results(("fixed", ""), ("fixed", "")), 2),
    ],
    ids=[
        "none",
        "all",
        "some",
        "taken back",
        "cut off",
        "went along",
        "came back",
        "not tried",
        "beside fixed ones",
        "dry run",
    ],
)
def test_what_is_left_is_counted(planned: FixPlan, ended: dict[str, FixResult], left: int) -> None:
    assert left_over(planned, ended) == left


@pytest.mark.long
def test_a_violation_that_went_with_the_fix_of_another_is_not_left(jeeves: Program, tmp_path: Path) -> None:
    root = repository(tmp_path / "project", "import os\nimport sys\n")
    done = jeeves.run("fix", "--repo", str(root), "--select", "F401", "--json", timeout_s=120)
    counts = json.loads(done.out)["counts"]
    assert (done.status, counts) == (0, {"fixed": 1, "gone": 1}), done.out + done.err


def test_the_help_says_what_the_exit_status_means() -> None:
    (entry,) = [each for each in COMMANDS if each.name == "fix"]
    assert "Exit status 0:" in (entry.load().help or "")


def test_the_help_says_where_violations_are_mended() -> None:
    (entry,) = [each for each in COMMANDS if each.name == "fix"]
    assert "in work trees below the state folder" in (entry.load().help or "")


def test_a_violation_that_no_rule_mends_ends_with_status_1_and_is_counted(jeeves: Program, tmp_path: Path) -> None:
    root = repository(tmp_path / "project", "l = 1\n")
    done = jeeves.run("fix", "--repo", str(root), "--select", "E741", "--id", "one")
    assert (done.status, ": 1 not tried\n" in done.out) == (1, True), done.out + done.err
    resumed = jeeves.run("fix", "resume", "one")
    assert (resumed.status, resumed.out) == (1, done.out), resumed.err
    none = jeeves.run("fix", "--repo", str(root), "--select", "F401")
    assert (none.status, ": nothing to fix\n" in none.out) == (0, True), none.out + none.err
