"""Tests that run git in their working directory reach no repository, and the work tree is one again afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.violation_fix.verification.hidden_git import show_git, without_git
from actors.capabilities.violation_fix.verification.verifier import Verifier
from tests.capabilities.violation_fix.fixed_project import project, workspace
from tests.runtime.codebase.test_git_writing import WHO, git

MEDDLING = """\
import subprocess


def test_meddles():
    for command in (["config", "user.name", "evil"], ["tag", "evil"], ["commit", "--allow-empty", "-qm", "evil"]):
        subprocess.run(["git", *command], check=False)
    subprocess.run(["git", "init", "-q"], check=False)
"""


@pytest.mark.long
def test_what_tests_do_with_git_does_not_reach_the_users_repository(tmp_path: Path) -> None:
    root = project(tmp_path / "project", tests__test_meddling=MEDDLING)
    before = git(root, "for-each-ref")
    place = workspace(root, "7")
    made = git(root, "for-each-ref")
    baseline = Verifier(place).baseline(["src/pkg/marks.py"])
    assert "tests/test_meddling.py::test_meddles" in baseline.passed
    assert git(root, "config", "user.name") == WHO.name
    assert git(root, "for-each-ref") == made != before
    assert (Path(place.tree.folder) / ".git").is_file()


def test_a_link_that_a_kill_left_hidden_is_shown_again(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: /somewhere\n")
    with without_git(tree):
        assert not (tree / ".git").exists()
        (tmp_path / "copy").write_bytes((tmp_path / "tree.git-link").read_bytes())
    assert (tree / ".git").read_text() == "gitdir: /somewhere\n"
    (tree / ".git").rename(tmp_path / "tree.git-link")
    (tree / ".git").mkdir()
    show_git(tree)
    assert (tree / ".git").read_text() == "gitdir: /somewhere\n"
    show_git(tree)


def test_a_repository_of_its_own_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with without_git(tmp_path):
        assert (tmp_path / ".git").is_dir()
