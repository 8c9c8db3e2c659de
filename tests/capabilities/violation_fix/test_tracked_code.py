"""Files that git tracks are checked where an ignore file names them too, or are named as not checked."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.violation import CheckReport

UNUSED = "import os\n"


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    git(made, "init", "-q")
    (made / "a.py").write_text("")
    return made


def track(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(UNUSED)
    git(root, "add", "-f", *paths)


def listed(root: Path, *paths: str) -> CheckReport:
    return list_violations(root, paths, CheckOptions(select=("F",)))


def found(report: CheckReport) -> list[str]:
    return [each.path for each in report.violations]


@pytest.mark.parametrize("path", ["kept.py", "old/deep/b.py", "build/b.py", "dist/b.py", "target/sub/b.py"])
def test_a_tracked_file_is_checked_also_where_git_would_ignore_it(root: Path, path: str) -> None:
    (root / ".gitignore").write_text("kept.py\nold/\n")
    track(root, path)
    report = listed(root)
    assert (found(report), report.checked, report.notes, report.is_whole) == ([path], 2, (), True)


def test_a_folder_is_not_hidden_by_names_of_gits_own_data(root: Path) -> None:
    track(root, "src/HEAD", "src/config", "src/objects/x", "src/refs/x", "src/b.py")
    assert found(listed(root)) == ["src/b.py"]


def test_an_ignored_file_that_git_does_not_track_is_not_checked(root: Path) -> None:
    (root / ".gitignore").write_text("kept.py\n")
    (root / "kept.py").write_text(UNUSED)
    report = listed(root)
    assert (found(report), report.is_whole) == ([], True)


@pytest.mark.parametrize("folder", ["node_modules", ".venv", "src/venv", "__pycache__", ".code-intel", "a.egg-info"])
def test_tracked_code_in_a_folder_that_holds_no_source_is_told_and_makes_the_report_not_whole(
    root: Path, folder: str
) -> None:
    (root / folder).mkdir(parents=True)
    (root / folder / "untracked.py").write_text(UNUSED)
    assert listed(root).is_whole
    track(root, f"{folder}/b.py", f"{folder}/data.txt")
    report = listed(root)
    assert (found(report), report.is_whole) == ([], False)
    (note,) = report.notes
    told = "not checked: 1 tracked file in folders of packages, environments or caches"
    assert note == f"{told}: {folder}/b.py; name a file to have it checked"
    assert found(listed(root, f"{folder}/b.py")) == [f"{folder}/b.py"]


def test_a_folder_that_is_made_an_environment_is_told(root: Path) -> None:
    track(root, *(f"src/{name}.py" for name in "abcdef"), "src/pyvenv.cfg")
    report = listed(root)
    assert not report.is_whole
    assert "6 tracked files" in report.notes[0]
    assert "src/e.py, …;" in report.notes[0]


@pytest.mark.parametrize("name", [b"old/b\xff.py", b"old/b\nc.py"])
def test_an_ignored_name_that_no_walk_lists_is_told(root: Path, name: bytes) -> None:
    (root / ".gitignore").write_text("old/\n")
    track(root, os.fsdecode(name))
    report = listed(root)
    assert not report.is_whole
    assert report.notes[0].startswith("not checked: 1 tracked file named with a line break or not in UTF-8: old/b\\")


def test_only_what_was_asked_for_is_told(root: Path) -> None:
    (root / ".gitignore").write_text("old/\n")
    track(root, "node_modules/b.py", "old/b.py", "src/b.py")
    report = listed(root, "src")
    assert (found(report), report.is_whole) == (["src/b.py"], True)
    assert found(listed(root, "old")) == ["old/b.py"]


def test_tracked_files_that_are_gone_or_lie_behind_a_link_are_not_looked_for(root: Path, tmp_path: Path) -> None:
    (root / ".gitignore").write_text("old/\nother/\n")
    track(root, "old/b.py", "other/b.py", "old/c.py")
    (root / "old" / "b.py").unlink()
    shutil.move(root / "other", tmp_path / "elsewhere")
    (root / "other").symlink_to(tmp_path / "elsewhere")
    assert found(listed(root)) == ["old/c.py"]


def test_below_a_repository_its_own_tracked_files_count(root: Path) -> None:
    (root / ".gitignore").write_text("*.py\n")
    track(root, "sub/old/b.py", "c.py")
    (root / "sub" / ".gitignore").write_text("old/\n")
    assert found(listed(root / "sub")) == ["old/b.py"]


def test_where_git_cannot_be_asked_the_report_is_not_whole(root: Path, tmp_path: Path) -> None:
    shutil.move(root / ".git" / "objects", tmp_path / "objects")
    (root / ".git" / "objects").symlink_to(tmp_path / "objects")
    report = listed(root)
    assert not report.is_whole
    assert report.notes[0].startswith("files that git tracks and also ignores may be missing: ")
