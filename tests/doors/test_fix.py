"""`jeeves fix` mends what it can on a branch of its own, proves it, and leaves the user's folder alone."""

from __future__ import annotations

import json
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.doors.endpoint import ModelEndpoint, model_endpoint
from tests.doors.program import Program, wait_until
from tests.runtime.codebase.test_git_writing import WHO, git

__all__ = ["model_endpoint"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

# Complexity 9; the loop over the entries is what a person would move.
CODE = '''\
def report(entries, title, wide):
    """Return the lines of a report."""
    lines = []
    if title:
        lines.append(title)
    if wide and title:
        lines.append("=" * len(title))
    total = 0
    # Sum up the amounts of all valid entries.
    for entry in entries:
        if entry is None:
            continue
        if entry < 0 and not wide:
            total -= entry
        elif entry > 100 or entry == 50:
            total += 100
        else:
            total += entry
    if total > 1000:
        lines.append("much")
    elif total > 100:
        lines.append("some")
    lines.append(str(total))
    return lines


def unwatched(a, b, c, d):
    if a:
        return 1
    if b:
        return 2
    if c:
        return 3
    if d:
        return 4
    if a and b:
        return 5
    if c and d:
        return 6
    if a or c:
        return 7
    if b or d:
        return 8
    return 9
'''
TESTS = """\
import pytest

from pkg.report import report


@pytest.mark.parametrize(
    ("entries", "title", "wide", "lines"),
    [
        ([1, None, -2], "t", False, ["t", "3"]),
        ([1, None, -2], "t", True, ["t", "=", "-1"]),
        ([500, 50], "", False, ["some", "200"]),
        ([500] * 11, "", False, ["much", "1100"]),
    ],
)
def test_report(entries, title, wide, lines):
    assert report(entries, title, wide) == lines
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    files = {"pkg/__init__.py": "", "pkg/report.py": CODE, "tests/test_report.py": TESTS, "conftest.py": ""}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", WHO.name)
    git(root, "config", "user.email", WHO.email)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def fixed(jeeves: Program, project: Path, *options: str) -> dict[str, Any]:
    chosen = ("--select", "C901", "--max-complexity", "7")
    done = jeeves.run("fix", "--repo", str(project), *chosen, "--json", *options, timeout_s=240)
    assert done.status in {0, 1}, done.err
    report: dict[str, Any] = json.loads(done.out)
    # Told at the start: who interrupts it would not know the id otherwise.
    assert f"jeeves fix resume {report['fix_id']}" in done.err
    return report


def by_symbol(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["symbol"]: row for row in report["violations"]}


def test_a_watched_function_is_mended_and_an_unwatched_one_is_told(jeeves: Program, project: Path) -> None:
    (project / "pkg/report.py").write_text(CODE + "\n\n# not committed\n")
    head = git(project, "rev-parse", "HEAD")
    report = fixed(jeeves, project)
    rows = by_symbol(report)
    assert rows["report"]["ending"] == "fixed", rows
    assert rows["report"]["is_tested"]
    assert rows["unwatched"]["ending"] == "skipped"
    assert "--untested" in rows["unwatched"]["reason"]
    assert (project / "pkg/report.py").read_text() == CODE + "\n\n# not committed\n"
    assert (git(project, "rev-parse", "HEAD"), git(project, "branch", "--show-current")) == (head, "main")
    branch = report["branch"]
    assert git(project, "branch", "--format=%(refname:short)").split() == [branch, "main"]
    assert git(project, "diff", "--name-only", "main", branch).split() == ["pkg/report.py"]
    assert git(project, "worktree", "list").count("\n") <= 1
    moved = git(project, "show", f"{branch}:pkg/report.py")
    assert moved.startswith(("def report(", "def _")) and "noqa" not in moved
    assert "Mend C901 of report" in git(project, "log", "-1", "--format=%s", branch)


def test_a_dry_run_shows_the_diff_and_leaves_no_branch(jeeves: Program, project: Path) -> None:
    report = fixed(jeeves, project, "--dry-run")
    row = by_symbol(report)["report"]
    assert row["ending"] == "fixed" and not row["commit"]
    assert "+++ b/pkg/report.py" in row["diff"]
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]
    shown = jeeves.run("fix", "show", report["fix_id"], "--json")
    assert by_symbol(json.loads(shown.out)) == by_symbol(report)


def test_a_fix_that_is_resumed_does_nothing_twice(jeeves: Program, project: Path) -> None:
    report = fixed(jeeves, project, "--limit", "1")
    again = jeeves.run("fix", "resume", report["fix_id"], "--json", timeout_s=240)
    assert json.loads(again.out)["violations"] == report["violations"]
    assert jeeves.run("fix", "show", "no-such-fix").status == 2
    assert "no fix has the id" in jeeves.run("fix", "show", "../x").err


def counting(project: Path, runs: Path) -> None:
    """Commit a conftest.py that notes each run of the tests."""
    (project / "conftest.py").write_text(f"with open({str(runs)!r}, 'a') as file:\n    file.write('run\\n')\n")
    git(project, "commit", "-qam", "note runs")


def test_tests_do_not_run_again_for_a_fix_that_has_ended_nor_before_one_of_the_same_commit(
    jeeves: Program, project: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    counting(project, runs)
    report = fixed(jeeves, project, "--limit", "1")
    first = len(runs.read_text().splitlines())
    resumed = jeeves.run("fix", "resume", report["fix_id"], "--json", timeout_s=240)
    assert json.loads(resumed.out)["violations"] == report["violations"]
    assert len(runs.read_text().splitlines()) == first
    again = jeeves.run(
        *("fix", "--repo", str(project), "--select", "C901", "--max-complexity", "7", "--limit", "1"), timeout_s=240
    )
    assert "the tests ran on this commit before" in again.err, again.err
    assert len(runs.read_text().splitlines()) < 2 * first


def test_an_interruption_while_the_tests_run_ends_the_command_at_once(
    jeeves: Program, project: Path, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    slow = (
        f"import pathlib, time\n\n\ndef test_slow():\n    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(100)\n"
    )
    (project / "tests/test_slow.py").write_text(slow)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "slow")
    process = jeeves.start("fix", "--repo", str(project), "--select", "C901", "--max-complexity", "7")
    wait_until(begun.exists)
    began_s = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "did not stop" not in err
    assert time.monotonic() - began_s < 5


def test_a_full_disk_is_told_with_what_to_do(jeeves: Program, project: Path) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_048, 2_048))

    chosen = ("--select", "C901", "--max-complexity", "7")
    # Python would cut off the compiled modules that it writes.
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    done = jeeves.run("fix", "--repo", str(project), *chosen, env=env, preexec_fn=no_room)
    assert done.status == 1
    assert "nothing more can be written below" in done.err
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]


def test_a_violation_outside_functions_is_mended_by_the_linter(jeeves: Program, project: Path) -> None:
    (project / "pkg/report.py").write_text("import os\n" + CODE)
    git(project, "commit", "-qam", "unused")
    done = jeeves.run("fix", "--repo", str(project), "--select", "F401", "--json", timeout_s=240)
    (row,) = json.loads(done.out)["violations"]
    assert row["ending"] == "fixed", row


def test_nothing_to_fix_is_told_without_running_a_test(jeeves: Program, project: Path) -> None:
    done = jeeves.run("fix", "--repo", str(project), "--select", "C901", "--max-complexity", "40")
    assert (done.status, "nothing to fix" in done.out) == (0, True), done.err
    missing = jeeves.run("fix", "--repo", str(project), "--violation", "C901-000000000000")
    assert missing.status == 2
    assert "no violation has the id C901-000000000000" in missing.err


def test_a_fix_with_an_id_of_its_own_goes_on_when_it_is_asked_for_again(jeeves: Program, project: Path) -> None:
    asked = ("fix", "--repo", str(project), "--select", "C901", "--max-complexity", "40", "--id", "nightly-17")
    first = jeeves.run(*asked)
    again = jeeves.run(*asked)
    assert (first.status, "begun before" in first.err) == (0, False), first.err
    assert (again.status, "fix nightly-17 was begun before, and goes on" in again.err) == (0, True), again.err
    assert again.out == first.out
    refused = jeeves.run("fix", "--repo", str(project), "--id", "../x")
    assert (refused.status, "letters, digits and dashes" in refused.err) == (2, True)


def test_files_that_cannot_be_read_or_are_generated_are_named(jeeves: Program, project: Path) -> None:
    (project / "pkg/latin.py").write_bytes(b'# coding: latin-1\nNAME = "\xe9"\n')
    (project / "pkg/made.py").write_text("# Generated by protoc. DO NOT EDIT!\n" + CODE)
    (project / ".tools").mkdir()
    (project / ".tools/run.py").write_text("# Automatic runs are generated by this tool's users.\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "more")
    chosen = ("--select", "C901", "--max-complexity", "7", "--path", "pkg/made.py", "--path", "pkg/latin.py")
    done = jeeves.run("fix", "--repo", str(project), *chosen, "--json")
    assert done.status == 1, done.err
    report = json.loads(done.out)
    assert {each["reason"] for each in report["left"]} == {
        "a program makes the file; --violation with its id mends it all the same"
    }
    assert any("not checked: pkg/latin.py" in note for note in report["notes"])
    hidden = jeeves.run("fix", "--repo", str(project), "--select", "C901", "--path", ".tools/run.py")
    assert (hidden.status, "nothing to fix" in hidden.out) == (0, True), hidden.err
    absolute = jeeves.run("fix", "--repo", str(project), "--select", "C901", "--path", str(project / ".tools"))
    assert (absolute.status, "nothing to fix" in absolute.out) == (0, True), absolute.err
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--python", "/no/such/python"], "cannot run Python"),
        (["--test-command", "'"], "cannot be split into words"),
        (["--test-command", ""], "--test-command is empty"),
        (["--test-command", "/nope -x"], "/nope is no program that can be run"),
        (["--test-command", "pkg/report.py"], "pkg/report.py is no program that can be run"),
        (["--report", "/no/such/folder/report.md"], "there is no folder /no/such/folder"),
        (["--report", "/"], "is a folder; name a file"),
        (["--path", "nowhere.py"], "no file or folder nowhere.py"),
        (["--confirm"], "ask at a terminal, and there is none"),
        (["--review"], "ask at a terminal, and there is none"),
    ],
)
def test_a_fix_that_cannot_begin_leaves_nothing_behind(
    jeeves: Program, project: Path, options: list[str], told: str
) -> None:
    done = jeeves.run("fix", "--repo", str(project), "--select", "C901", "--max-complexity", "7", *options)
    assert (done.status, told in done.err) == (2, True), done.err
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]
    assert git(project, "worktree", "list").count("\n") <= 1


def action(name: str, **parameters: Any) -> str:
    return json.dumps({"action": name, "parameters": parameters, "reasoning": "so"})


def test_a_model_that_lies_changes_nothing_but_the_file_and_proves_nothing(
    jeeves: Program, project: Path, tmp_path: Path, model_endpoint: ModelEndpoint
) -> None:
    answers = [
        action("remove_everything", path="/"),
        action("complete"),
        action("write_file", path="../../escaped.py", text="x = 1\n"),
        action("edit_file", path="tests/test_report.py", old="assert", new="assert True or"),
        action("write_file", text=CODE.replace("def report(", "def report(  # noqa: C901\n    ")),
        action("write_file", text="def report(entries, title, wide):\n    return []\n"),
        action("cannot_fix", reason="I give up"),
    ]
    port, asked = model_endpoint(answers)
    deployment = {"backend": "openai", "base_url": f"http://127.0.0.1:{port}/v1", "model": "m", "max_model_len": 16_384}
    models = tmp_path / "models.yaml"
    models.write_text(json.dumps({"deployments": {"main": deployment}, "roles": {"default": {"deployment": "main"}}}))
    head = git(project, "rev-parse", "HEAD")
    report = fixed(jeeves, project, "--reasoner", "llm", "--models", str(models), "--limit", "1")
    (row,) = report["violations"]
    assert row["ending"] == "escalated", row
    assert "remove_everything" in asked[1]
    assert len(asked) == len(answers)
    assert not list(tmp_path.rglob("escaped.py"))
    assert (git(project, "rev-parse", "HEAD"), git(project, "status", "--short")) == (head, "")
    assert git(project, "branch", "--format=%(refname:short)").split() == ["main"]
