"""`jeeves check`, as a person and a program use it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.doors.program import JEEVES, Program


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    (made / "a.py").write_text("import os\nimport sys\n")
    (made / "b.py").write_text("x = 1\n")
    return made


def test_violations_are_listed_with_their_ids_and_status_1(jeeves: Program, repo: Path) -> None:
    done = jeeves.run("check", "--repo", str(repo))
    assert (done.status, done.err) == (1, "")
    first, second, total = done.out.splitlines()
    assert first.startswith("a.py:1:8: F401 `os` imported but unused [F401-")
    assert second.startswith("a.py:2:8: F401 `sys` imported but unused [F401-")
    assert total == "2 violations in 1 of 2 files"


def test_no_violation_is_status_0(jeeves: Program, repo: Path) -> None:
    done = jeeves.run("check", "--repo", str(repo), "b.py").answers()
    assert done.out == "no violations in 1 file\n"


def test_a_program_gets_one_json_document_with_every_field(jeeves: Program, repo: Path) -> None:
    (repo / "c.py").write_text("def f(a):\n    if a:\n        return 1\n    return 2\n")
    done = jeeves.run("check", "--repo", str(repo), "--select", "C901,F", "--max-complexity", "1", "--json")
    assert (done.status, done.err) == (1, "")
    read = done.document
    assert (read["root"], read["checked"], read["counts"]) == (str(repo), 3, {"C901": 1, "F401": 2})
    assert read["unchecked"] == read["notes"] == []
    complexity = next(each for each in read["violations"] if each["check_id"] == "C901")
    assert complexity.pop("violation_id").startswith("C901-")
    assert complexity == {
        "path": "c.py",
        "line": 1,
        "column": 5,
        "check_id": "C901",
        "message": "`f` is too complex (2 > 1)",
        "severity": "warning",
        "end_line": 1,
        "symbol": "f",
        "text": "def f(a):",
        "measured": 2,
        "allowed": 1,
        "fix": "",
        "hint": "",
    }


def test_counts_name_each_check_once(jeeves: Program, repo: Path) -> None:
    done = jeeves.run("check", "--repo", str(repo), "--counts")
    assert done.out == "     2  F401\n2 violations in 1 of 2 files\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--select", "nonsense"], "no check is named 'nonsense'"),
        (["--select", "XYZ1"], "ruff refuses its rules or settings"),
        (["--max-complexity", "0"], "max_complexity is 0"),
        (["--timeout-s", "0"], "--timeout-s is 0"),
        (["gone.py"], "no file or folder gone.py"),
        (["/etc/passwd"], "no file or folder /etc/passwd"),
    ],
)
def test_bad_input_is_status_2_with_one_line(jeeves: Program, repo: Path, arguments: list[str], told: str) -> None:
    jeeves.run("check", "--repo", str(repo), *arguments).complains(2, told)


def test_a_folder_that_is_none_is_status_2(jeeves: Program, repo: Path) -> None:
    jeeves.run("check", "--repo", str(repo / "a.py")).complains(2, "is not a folder")
    jeeves.run("check", "--repo", str(repo / "gone")).complains(2, "does not exist")


def test_a_listing_beyond_its_time_is_status_2_and_says_what_to_do(jeeves: Program, repo: Path) -> None:
    jeeves.run("check", "--repo", str(repo), "--timeout-s", "0.01").complains(2, "within 0.01 s", "--timeout-s")


def test_what_cannot_be_checked_is_told_beside_the_rest(jeeves: Program, repo: Path) -> None:
    (repo / "latin.py").write_bytes(b'x = "\xe9"\n')
    os.mkfifo(repo / "pipe.py")
    done = jeeves.run("check", "--repo", str(repo))
    assert done.status == 1
    assert done.err.splitlines() == [
        "not checked: latin.py: not valid utf-8, bytes replaced",
        "not checked: pipe.py: it is no regular file",
    ]


@pytest.mark.long
def test_a_strict_check_fails_for_what_was_not_checked(jeeves: Program, repo: Path) -> None:
    strict = ("check", "--repo", str(repo), "--strict", "b.py")
    assert jeeves.run(*strict).status == 0
    rules = repo / ".jeeves" / "checks.yaml"
    rules.parent.mkdir()
    rules.write_text("rules: [{id: fails, command: ['false'], message: never}]\n")
    inert = jeeves.run(*strict)
    assert (inert.status, "is not in force" in inert.err, "--strict" in inert.err) == (2, True, True)
    assert jeeves.run(*strict[:3], "b.py").status == 0
    assert jeeves.run(*strict, "--select", "F401").status == 0
    jeeves.run("allow", "--repo", str(repo), "--yes")
    failing = jeeves.run(*strict, "--json")
    told = json.loads(failing.out)
    assert (failing.status, told["is_whole"], "rule fails failed" in told["notes"][0]) == (2, False, True)
    (repo / "b.py").write_bytes(b'x = "\xe9"\n')
    rules.unlink()
    unread = jeeves.run(*strict)
    assert (unread.status, "not checked: b.py" in unread.err) == (2, True)


def test_a_read_only_repository_is_checked_and_nothing_is_written_into_it(jeeves: Program, repo: Path) -> None:
    before = sorted(path.name for path in repo.iterdir())
    repo.chmod(0o555)
    try:
        assert jeeves.run("check", "--repo", str(repo)).status == 1
    finally:
        repo.chmod(0o755)
    assert sorted(path.name for path in repo.iterdir()) == before


@pytest.mark.long
def test_rules_of_the_project_count_once_they_are_allowed(jeeves: Program, repo: Path) -> None:
    (repo / ".jeeves").mkdir()
    (repo / ".jeeves" / "checks.yaml").write_text("rules: [{id: no-one, pattern: '= 1', message: not one}]\n")
    first = jeeves.run("check", "--repo", str(repo), "b.py")
    assert (first.status, "is not in force until you run `jeeves allow`" in first.err) == (0, True)
    by_name = ("--repo", str(repo), "--select", "no-one", "b.py")
    jeeves.run("check", *by_name).complains(2, "no check is named 'no-one'; .jeeves/checks.yaml is not in force")
    assert "new      .jeeves/checks.yaml" in jeeves.run("allow", "--repo", str(repo), "--yes").out
    then = json.loads(jeeves.run("check", "--repo", str(repo), "--json", "b.py").out)
    assert [each["check_id"] for each in then["violations"]] == ["no-one"]
    assert jeeves.run("check", *by_name).status == 1


def test_a_hostile_name_does_not_reach_the_terminal_as_it_is(jeeves: Program, repo: Path) -> None:
    (repo / "\x1b[31mred.py").write_text("import os\n")
    assert "\x1b" not in jeeves.run("check", "--repo", str(repo)).out


def test_a_terminal_gets_rows_below_each_path(repo: Path, tmp_path: Path) -> None:
    """Through a terminal of its own, as a person sees it."""
    master, slave = pty.openpty()
    program = Program(tmp_path / "state")
    running = subprocess.Popen(
        [str(JEEVES), "check", "--repo", str(repo)], stdout=slave, stderr=subprocess.PIPE, env=program.env, cwd=tmp_path
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        shown += piece
    os.close(master)
    _, complaint = running.communicate()
    rows = shown.decode().replace("\r\n", "\n").splitlines()
    assert (running.returncode, complaint) == (1, b"")
    assert rows[0] == "a.py"
    assert rows[1].startswith("  1:8  F401-")
    assert rows[1].endswith("  `os` imported but unused")
    assert rows[-1] == "2 violations in 1 of 2 files"
