"""Writes to a work tree are made once, survive kills, and are taken back byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.actions.edit_journal import EditJournal, digest_of
from runtime.errors import FileEditError

OLD, NEW = b"one\r\ntwo\xff\n", b"three\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree/pkg").mkdir(parents=True)
    (tmp_path / "tree/pkg/a.py").write_bytes(OLD)
    return tmp_path / "tree"


def journal(tree: Path) -> EditJournal:
    return EditJournal(tree, tree.parent / "edits")


def test_a_write_is_made_recorded_and_taken_back_to_the_byte(tree: Path) -> None:
    (tree / "pkg/a.py").chmod(0o755)
    record = journal(tree).write("1", "pkg/a.py", OLD, NEW)
    assert (tree / "pkg/a.py").read_bytes() == NEW
    assert (tree / "pkg/a.py").stat().st_mode & 0o777 == 0o755
    assert (record.before, record.after) == (digest_of(OLD), digest_of(NEW))
    journal(tree).take_back(record)
    assert (tree / "pkg/a.py").read_bytes() == OLD
    journal(tree).take_back(record)
    assert (tree / "pkg/a.py").read_bytes() == OLD


def test_the_same_write_asked_for_again_is_made_once(tree: Path) -> None:
    first = journal(tree).write("1", "pkg/a.py", OLD, NEW)
    assert journal(tree).write("1", "pkg/a.py", OLD, NEW) == first
    assert journal(tree).writes() == [first]


def test_a_write_that_a_kill_left_recorded_but_unmade_is_made_when_asked_again(tree: Path) -> None:
    first = journal(tree).write("1", "pkg/a.py", OLD, NEW)
    (tree / "pkg/a.py").write_bytes(OLD)
    assert journal(tree).write("1", "pkg/a.py", OLD, NEW) == first
    assert (tree / "pkg/a.py").read_bytes() == NEW


def test_a_file_that_somebody_else_changed_is_neither_written_nor_restored(tree: Path) -> None:
    record = journal(tree).write("1", "pkg/a.py", OLD, NEW)
    (tree / "pkg/a.py").write_bytes(b"theirs")
    with pytest.raises(FileEditError, match="changed by somebody else"):
        journal(tree).write("2", "pkg/a.py", NEW, b"ours")
    with pytest.raises(FileEditError, match="changed since its edit 1"):
        journal(tree).take_back(record)
    assert (tree / "pkg/a.py").read_bytes() == b"theirs"


@pytest.mark.parametrize("file", ["../out.py", "/etc/passwd", "pkg/../../out.py", ".git/config", "a\0b"])
def test_no_path_leads_out_of_the_work_tree_or_into_git(tree: Path, file: str) -> None:
    with pytest.raises(FileEditError, match="not a path inside"):
        journal(tree).write("1", file, OLD, NEW)


def test_links_are_not_written_wherever_they_lead(tree: Path) -> None:
    (tree.parent / "out").mkdir()
    (tree.parent / "out/a.py").write_bytes(OLD)
    (tree / "link").symlink_to(tree.parent / "out")
    (tree / "file.py").symlink_to("pkg/a.py")
    for file in ("link/a.py", "file.py"):
        with pytest.raises(FileEditError, match="links are not written"):
            journal(tree).write("1", file, OLD, NEW)
    assert (tree.parent / "out/a.py").read_bytes() == OLD


def test_pipes_missing_and_read_only_files_are_refused_with_the_reason(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with pytest.raises(FileEditError, match="no regular file"):
        journal(tree).read("pipe")
    with pytest.raises(FileEditError, match="No such file"):
        journal(tree).read("missing.py")
    (tree / "pkg/a.py").chmod(0o444)
    with pytest.raises(FileEditError, match="read-only"):
        journal(tree).write("1", "pkg/a.py", OLD, NEW)
    assert (tree / "pkg/a.py").read_bytes() == OLD


def test_a_failed_write_leaves_no_file_behind(tree: Path) -> None:
    with pytest.raises(FileEditError):
        journal(tree).write("1", "pkg/a.py", b"other", NEW)
    assert sorted(path.name for path in (tree / "pkg").iterdir()) == ["a.py"]
    assert not journal(tree).writes()
