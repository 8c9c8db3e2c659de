"""A small project with tests, in git, and work trees of it."""

from __future__ import annotations

import sys
from pathlib import Path

from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.verification.test_runs import TestLimits
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from actors.capabilities.violation_fix.verification.verdicts import Workspace
from runtime.codebase.git.linked_trees import FIX_PREFIX
from runtime.codebase.git.side_branches import open_side_tree
from tests.runtime.codebase.test_git_writing import WHO, git

CODE = """\
import os


def graded(points):
    if points > 90:
        return "a"
    if points > 80:
        return "b"
    if points > 70:
        return "c"
    return "d"


def untested(points):
    return points + 1


class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count
"""
TESTS = """\
import sys

import pytest

from pkg.marks import Counter, graded


@pytest.mark.parametrize("points, grade", [(95, "a"), (85, "b"), (75, "c"), (0, "d")])
def test_grades(points, grade):
    assert graded(points) == grade


def test_counter():
    assert Counter().add() == 1


def test_that_fails():
    assert graded(0) == "e"


@pytest.mark.skip
def test_skipped():
    raise AssertionError
"""
LIMITS = TestLimits(run_s=120.0, start_s=60.0, stall_s=5.0, reruns=1)
OPTIONS = CheckOptions(select=("C901", "F", "E9", "PLR0911", "long-function"), max_complexity=3)


def project(root: Path, **files: str) -> Path:
    """Make the project at `root`; `files`: further ones, or others instead, with `__` for a slash."""
    given = {
        "src/pkg/__init__.py": "",
        "src/pkg/marks.py": CODE,
        "tests/test_marks.py": TESTS,
        "tests/test_other.py": "def test_other():\n    assert True\n",
        "pyproject.toml": '[project]\nname = "pkg"\nrequires-python = ">=3.9"\n',
        **{name.replace("__", "/").replace("/init/", "__init__") + ".py": text for name, text in files.items()},
    }
    root = root.resolve()
    for path, text in given.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", WHO.name)
    git(root, "config", "user.email", WHO.email)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def setup() -> TestSetup:
    return TestSetup(sys.executable, "pytest")


def workspace(
    root: Path, name: str, made: TestSetup | None = None, limits: TestLimits = LIMITS, prefix: str = FIX_PREFIX
) -> Workspace:
    """A work tree of the project's last commit, on a branch of its own."""
    head = git(root, "rev-parse", "HEAD")
    tree = open_side_tree(root, f"{prefix}{name}", root.parent / "trees" / name, head)
    return Workspace(tree, made or setup(), OPTIONS, limits)
