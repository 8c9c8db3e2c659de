"""`jeeves check --new-since`: violations that the base commit had are told as old and fail nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.repositories import git
from tests.doors.program import Outcome, Program

RULES = """
rules:
  - {id: no-print, pattern: "print"}
  - {id: todo, command: [sh, -c, "grep -n TODO a.py /dev/null | sed 's/TODO.*/todo/'; true"]}
"""
OLD = """import os


def f():
    x = 1
    print("a")


def g():
    return 1


# TODO
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    (made / ".jeeves").mkdir(parents=True)
    (made / ".jeeves" / "checks.yaml").write_text(RULES)
    (made / "a.py").write_text(OLD)
    (made / "same.py").write_text("import os\n")
    git(made, "init", "--quiet", "--initial-branch=main")
    commit(made)
    git(made, "checkout", "--quiet", "-b", "branch")
    return made


def commit(repo: Path) -> None:
    git(repo, "add", "--all")
    git(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "more")


def checked(jeeves: Program, repo: Path, *arguments: str) -> Outcome:
    jeeves.run("allow", "--repo", str(repo), "--yes").answers()
    return jeeves.run("check", "--repo", str(repo), "--new-since", "main", *arguments)


def new_places(done: Outcome) -> list[tuple[str, int, str]]:
    return [(each["path"], each["line"], each["check_id"]) for each in done.document["violations"]]


def test_a_branch_that_adds_no_violation_passes_with_the_old_ones_told(jeeves: Program, repo: Path) -> None:
    (repo / "a.py").write_text('"""Says something."""\n\n' + OLD.replace("return 1", "return 2"))
    done = checked(jeeves, repo)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("no new violations in 2 files\n5 old violations, there already in ")


def test_a_second_one_of_the_same_kind_fails_and_only_it_is_listed(jeeves: Program, repo: Path) -> None:
    (repo / "a.py").write_text("import re\n" + OLD.replace("return 1", 'print("a")'))
    commit(repo)
    done = checked(jeeves, repo, "--json")
    assert done.status == 1
    assert new_places(done) == [("a.py", 1, "F401"), ("a.py", 11, "no-print")]
    assert done.document["counts"] == {"F401": 1, "no-print": 1}
    assert len(done.document["base_commit"]) == 40
    assert {each["check_id"] for each in done.document["old"]} == {"F401", "F841", "no-print", "todo"}


def test_what_a_command_finds_is_new_where_its_line_was_changed(jeeves: Program, repo: Path) -> None:
    (repo / "a.py").write_text("# above\n" + OLD + "# TODO\n")
    assert new_places(checked(jeeves, repo, "--select", "todo", "--json")) == [("a.py", 15, "todo")]


def test_a_command_is_not_run_on_the_base_commit(jeeves: Program, repo: Path, tmp_path: Path) -> None:
    rule = f"rules: [{{id: own, command: [sh, -c, 'echo ran >> {tmp_path}/runs; echo a.py:1: wrong']}}]"
    (repo / ".jeeves" / "checks.yaml").write_text(rule)
    (repo / "a.py").write_text("import re\n" + OLD)
    assert checked(jeeves, repo).status == 1
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_a_renamed_file_keeps_its_old_violations_and_an_untracked_one_has_none(jeeves: Program, repo: Path) -> None:
    git(repo, "mv", "a.py", "moved.py")
    commit(repo)
    (repo / "other.py").write_text("import os\n")
    assert new_places(checked(jeeves, repo, "--json")) == [("other.py", 1, "F401")]


def test_what_the_base_branch_mended_meanwhile_does_not_count_against_the_branch(jeeves: Program, repo: Path) -> None:
    git(repo, "checkout", "--quiet", "main")
    (repo / "same.py").write_text("")
    commit(repo)
    git(repo, "checkout", "--quiet", "branch")
    assert checked(jeeves, repo).status == 0


def test_old_violations_are_found_by_the_present_settings_and_rules(jeeves: Program, repo: Path) -> None:
    (repo / "ruff.toml").write_text('[lint]\nselect = ["ANN"]\n')
    (repo / ".jeeves" / "checks.yaml").write_text("rules: [{id: no-return, pattern: return}]")
    (repo / "a.py").write_text("y = 1\n" + OLD)
    done = checked(jeeves, repo, "--project-config", "--json")
    assert (done.status, done.document["counts"]) == (0, {})
    assert {each["check_id"] for each in done.document["old"]} == {"ANN201", "no-return"}


@pytest.mark.parametrize("name", ["-m.py", "@a.py", ":(top)a.py", 'x "y.py', "*.py", "\u00fc/\u00e4 a.py", "a\tb.py"])
def test_a_file_of_any_name_is_compared(jeeves: Program, repo: Path, name: str) -> None:
    git(repo, "checkout", "--quiet", "main")
    (repo / name).parent.mkdir(exist_ok=True)
    (repo / name).write_text("import os\n")
    commit(repo)
    git(repo, "checkout", "--quiet", "-B", "branch")
    (repo / name).write_text("import re\nimport os\n")
    assert new_places(checked(jeeves, repo, "--json")) == [(name, 1, "F401")]


def test_what_a_link_of_the_base_commit_leads_to_is_no_code_of_it(jeeves: Program, repo: Path) -> None:
    git(repo, "checkout", "--quiet", "main")
    (repo / "link.py").symlink_to("import os")
    commit(repo)
    git(repo, "checkout", "--quiet", "-B", "branch")
    (repo / "link.py").unlink()
    (repo / "link.py").write_text("import os\n")
    assert new_places(checked(jeeves, repo, "--json")) == [("link.py", 1, "F401")]


def test_a_file_that_was_too_big_to_compare_is_named_and_its_violations_are_new(jeeves: Program, repo: Path) -> None:
    git(repo, "checkout", "--quiet", "main")
    (repo / "big.py").write_text(f"import os\nX = '{'x' * 2_000_000}'\n")
    commit(repo)
    git(repo, "checkout", "--quiet", "-B", "branch")
    (repo / "big.py").write_text("import os\nX = 1\n")
    done = checked(jeeves, repo)
    assert done.status == 1
    assert "all its violations count as new: big.py: it had more than 2000000 bytes" in done.err


@pytest.mark.parametrize("revision", ["gone", "-x", "HEAD:a.py", "main..branch"])
def test_a_revision_that_is_no_commit_is_refused(jeeves: Program, repo: Path, revision: str) -> None:
    done = jeeves.run("check", "--repo", str(repo), f"--new-since={revision}")
    assert (done.status, done.out) == (2, "")
    assert f"{revision!r} names no commit of the repository" in done.err


def test_a_branch_without_a_commit_in_common_is_refused_with_the_usual_cause(jeeves: Program, repo: Path) -> None:
    git(repo, "checkout", "--quiet", "--orphan", "alone")
    (repo / "same.py").write_text("import re\n")
    commit(repo)
    done = jeeves.run("check", "--repo", str(repo), "--new-since", "main")
    assert done.status == 2
    assert "have no commit in common; a shallow clone may lack it" in done.err


def test_a_folder_below_the_top_is_compared_by_its_own_paths(jeeves: Program, repo: Path) -> None:
    git(repo, "checkout", "--quiet", "main")
    (repo / "sub").mkdir()
    (repo / "sub" / "a.py").write_text("import os\n")
    commit(repo)
    git(repo, "checkout", "--quiet", "-B", "branch")
    (repo / "sub" / "a.py").write_text("import re\nimport os\n")
    assert new_places(checked(jeeves, repo / "sub", "--json")) == [("a.py", 1, "F401")]


def test_comments_that_a_branch_adds_excuse_nothing_where_they_are_ignored_and_those_of_the_base_do(
    jeeves: Program, repo: Path
) -> None:
    allow = "  # jeeves: allow no-print - a command"
    git(repo, "checkout", "--quiet", "main")
    (repo / "same.py").write_text(f"import os  # noqa\nprint(1){allow}\n")
    commit(repo)
    git(repo, "checkout", "--quiet", "-B", "branch")
    (repo / "same.py").write_text(f"import re  # noqa\nimport os  # noqa\nprint(1){allow}\nprint(2){allow}\n")
    honoured = checked(jeeves, repo)
    assert honoured.status == 0
    assert "2 violations excused by a comment; --ignore-noqa lists all" in honoured.out
    ignored = checked(jeeves, repo, "--ignore-noqa", "--json")
    assert ignored.status == 1
    assert new_places(ignored) == [("same.py", 1, "F401"), ("same.py", 4, "no-print")]


def test_an_empty_revision_is_refused_as_of_a_variable_that_is_not_set(jeeves: Program, repo: Path) -> None:
    jeeves.run("check", "--repo", str(repo), "--new-since", "").complains(2, "--new-since is empty")


def test_a_base_that_did_not_parse_is_told_where_what_ruff_finds_counts_as_new(jeeves: Program, repo: Path) -> None:
    git(repo, "checkout", "--quiet", "main")
    (repo / "same.py").write_text("import os\nprint(1)\ndef (:\n")
    commit(repo)
    git(repo, "checkout", "--quiet", "-B", "branch")
    (repo / "same.py").write_text("import os\nprint(1)\n")
    done = checked(jeeves, repo, "--json")
    assert new_places(done) == [("same.py", 1, "F401")]
    assert "same.py did not parse in " in done.document["notes"][0]
    assert done.document["base_commits"] == [done.document["base_commit"]]
