"""A workspace with very many files is compared by a few processes of git, not by one for each file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_change.evidence.changed_lines import changed_lines
from actors.capabilities.code_change.evidence.lost_tests import lost_tests
from actors.capabilities.code_change.evidence.write_guard import is_ours
from runtime.codebase.git.differences import differences
from runtime.codebase.git.git_writer import MAX_ARGUMENTS, GitWriter
from runtime.codebase.git.work_trees import files_in
from tests.capabilities.code_change.played_agent import git, repository

ODD = ["a b.py", "ä.py", 'q"uote.py', "[a].py", ":x.py", "*.py", "tab\there.py", "diff --git.py"]


class Counter:
    """Counts the processes of git that this process starts while it counts."""

    def __init__(self) -> None:
        self.counts, self.started = False, 0
        sys.addaudithook(self._heard)

    def _heard(self, event: str, details: tuple[Any, ...]) -> None:
        if self.counts and event == "subprocess.Popen" and "git" in str(details[1]):
            self.started += 1

    def of(self, work: Callable[[], object]) -> int:
        self.counts, self.started = True, 0
        try:
            work()
        finally:
            self.counts = False
        return self.started


@pytest.fixture(scope="module")
def processes() -> Counter:
    return Counter()


@pytest.mark.parametrize("how", ["new", "edited", "shortened"])
def test_as_many_processes_compare_hundreds_of_files_as_a_few(tmp_path: Path, processes: Counter, how: str) -> None:
    counts = []
    for many in (5, 300):
        root = repository(tmp_path / f"project{many}")
        for number in range(many):
            (root / f"test_{number}.py").write_text(f"A = {number}\n\nB = 2\n" * (how != "new"))
        if how != "new":
            git(root, "add", "-A")
            git(root, "commit", "-qm", "many")
            for number in range(many):
                (root / f"test_{number}.py").write_text(f"A = {number}\n" + "B = 3\n" * (how == "edited"))
        base = git(root, "rev-parse", "HEAD")
        found = changed_lines(root, base, is_ours)
        assert len(found.files) == many
        counts.append(processes.of(partial(changed_lines, root, base, is_ours)))
        counts[-1] += processes.of(partial(lost_tests, root, base, found))
    assert counts[0] == counts[1]
    assert counts[0] > 0


def test_names_of_every_kind_are_compared_each_with_itself(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    names = ["load.py", *ODD]
    for name in names:
        (root / name).write_text(f"NAME = {name!r}\nKEPT = 1\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "odd")
    base = git(root, "rev-parse", "HEAD")
    for name in names:
        (root / name).write_text(f"NAME = {name!r}\ndiff --git a/{name} b/{name}\n")
    with GitWriter(root) as writer:
        told = differences(writer, base, names)
        assert files_in(writer, base, [*names, "gone.py", "docs"]) == set(names)
    assert set(told) == set(names)
    assert all(each.count("\n@@ ") == 1 and "+diff --git" in each for each in told.values())
    found = changed_lines(root, base, is_ours)
    assert all(found.before(name, 2, 2) == ("KEPT = 1",) for name in names)


@pytest.mark.parametrize("many", [MAX_ARGUMENTS - 1, MAX_ARGUMENTS, MAX_ARGUMENTS + 1])
def test_more_names_than_one_process_takes_are_all_looked_for(tmp_path: Path, many: int) -> None:
    root = repository(tmp_path / "project")
    names = [f"f{number}.txt" for number in range(many)]
    for name in names:
        (root / name).write_text("x\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "many")
    with GitWriter(root) as writer:
        assert len(files_in(writer, git(root, "rev-parse", "HEAD"), [*names, "none.txt"])) == many
