from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.codebase.files.folder_memory import MAX_REMEMBERED_FILES, STILL_NS, FolderMemory
from runtime.codebase.files.path_kinds import MAX_KEPT_PATHS
from runtime.codebase.files.walk import WalkOptions, walk
from runtime.codebase.index.refresh_memory import MAX_ENTRIES
from runtime.errors import RepositoryError

FOLDERS = ("", "a/", "a/b/", "build/", "c/")
NAMES = ("x.py", "y.log", "z.txt", ".env", "pyvenv.cfg", "HEAD", ".gitignore")
LINES = ("*.log\n", "/a/b/\n", "!y.log\n", "z.txt\nc/\n", "", "x" * 5_000)


def long_after() -> int:
    """The time, far enough ahead that every folder has been still."""
    return time.time_ns() + 10 * STILL_NS


def until_times_differ(root: Path) -> None:
    """Return once a change would get another time than the last one: file systems count in steps."""
    probe = root.parent / "probe"
    probe.write_text("")
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == first:
        probe.write_text("")


def change(root: Path, kind: str, folder: str, name: str, line: str) -> None:
    """Change something below the root, where that can be done."""
    path = root / folder / name
    if kind == "write" and not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True) if path.is_symlink() else None
        path.write_text(line)
    elif kind == "remove" and path.is_file():
        path.unlink()
    elif kind == "rename" and path.exists() and not (root / folder / "x.py").is_dir():
        path.rename(root / folder / "x.py")
    elif kind == "drop" and folder and (root / folder).is_dir() and not (root / folder.rstrip("/")).is_symlink():
        shutil.rmtree(root / folder)
    elif kind == "link" and not path.exists() and path.parent.is_dir() and not path.is_symlink():
        path.symlink_to(root / "a")
    elif kind == "lead_elsewhere" and (root / "a").is_dir() and not (root / "a").is_symlink():
        (root / "a").rename(root.parent / f"moved-{time.time_ns()}")
        (root / "a").symlink_to(root.parent)
    elif kind == "set_back" and path.is_file():
        before = path.parent.stat()
        path.unlink()
        os.utime(path.parent, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = st.tuples(
    st.sampled_from(("write", "write", "write", "remove", "rename", "drop", "link", "lead_elsewhere", "set_back")),
    st.sampled_from(FOLDERS),
    st.sampled_from(NAMES),
    st.sampled_from(LINES),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CHANGES, max_size=12))
def test_a_walk_that_remembers_finds_what_one_that_does_not_finds(
    tmp_path: Path, changes: list[tuple[str, ...]]
) -> None:
    root = tmp_path / f"root-{time.time_ns()}"
    for folder in FOLDERS:
        change(root, "write", folder, "x.py", "x\n")
    memory = FolderMemory(now_ns=long_after)
    for kind, folder, name, line in changes:
        until_times_differ(root)
        change(root, kind, folder, name, line)
        assert walk(root, WalkOptions(), memory) == walk(root)
        assert walk(root, WalkOptions(), memory) == walk(root)


def set_time_back(root: Path) -> None:
    before = (root / "a").stat()
    (root / "a" / "z.py").write_text("x\n")
    os.utime(root / "a", ns=(before.st_atime_ns, before.st_mtime_ns))


def put_a_link_in_its_place(root: Path) -> None:
    (root / "a").rename(root.parent / "moved")
    (root / "a").symlink_to(root.parent / "moved")


@pytest.mark.parametrize(
    "changed",
    [
        set_time_back,
        put_a_link_in_its_place,
        lambda root: (root / ".gitignore").write_text("x.py\n"),
        lambda root: (root / "a" / ".gitignore").write_text("b/\n"),
        lambda root: (root / ".gitignore").unlink(),
        lambda root: (root / "a" / "b" / "z.py").write_text("x\n"),
        lambda root: (root / "a" / "b" / "x.py").write_text("longer\n"),
        lambda root: (root / "a" / "x.py").replace(root / "a" / "b" / "y.log"),
        lambda root: (root / "a" / "pyvenv.cfg").write_text(""),
        lambda root: (root / "a").chmod(0o700),
    ],
)
def test_each_change_is_seen_by_a_walk_that_remembers(root: Path, changed: Callable[[Path], object]) -> None:
    (root / "a" / "b").mkdir(parents=True)
    for path in ("x.py", "a/x.py", "a/b/x.py", "a/b/y.log"):
        (root / path).write_text("x\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "a" / ".gitignore").write_text("*.txt\n")
    memory = FolderMemory(now_ns=long_after)
    walk(root, WalkOptions(), memory)
    until_times_differ(root)
    changed(root)
    assert walk(root, WalkOptions(), memory) == walk(root)


def test_an_unchanged_folder_is_not_listed_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").mkdir()
    (root / "a" / "x.py").write_text("x\n")
    memory = FolderMemory(now_ns=long_after)
    found = walk(root, WalkOptions(), memory)
    listed: list[str] = []
    scandir = os.scandir

    def noted(path: str) -> Iterator[os.DirEntry[str]]:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    assert walk(root, WalkOptions(), memory) == found
    assert listed == []


@pytest.mark.parametrize(("age_ns", "is_kept"), [(STILL_NS - 1, False), (STILL_NS, True), (STILL_NS + 1, True)])
def test_a_folder_is_remembered_once_it_has_been_still_for_two_seconds(root: Path, age_ns: int, is_kept: bool) -> None:
    (root / "x.py").write_text("x\n")
    status = root.stat()
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    memory = FolderMemory(now_ns=lambda: changed_ns + age_ns)
    walk(root, WalkOptions(), memory)
    assert (memory.listing(str(root), "", ()) is not None) == is_kept


@pytest.mark.parametrize(("limit", "is_kept"), [(1, False), (2, True), (3, True)])
def test_no_more_files_than_the_limit_are_remembered(root: Path, limit: int, is_kept: bool) -> None:
    for name in ("x.py", "y.py"):
        (root / name).write_text("x\n")
    memory = FolderMemory(limit, now_ns=long_after)
    walk(root, WalkOptions(), memory)
    assert (memory.listing(str(root), "", ()) is not None) == is_kept


def test_as_many_files_are_remembered_as_a_repository_may_have() -> None:
    assert WalkOptions().max_files == MAX_REMEMBERED_FILES == MAX_ENTRIES == MAX_KEPT_PATHS


def test_files_are_told_as_they_were_only_while_size_time_and_kind_are_the_same(tmp_path: Path) -> None:
    names = ("same.py", "longer.py", "later.py", "gone.py", "link.py", "new.py")
    for name in names[:-1]:
        (tmp_path / name).write_text("x")
    memory = FolderMemory(now_ns=long_after)
    before = {entry.path: entry for entry in walk(tmp_path, WalkOptions(), memory).entries}
    (tmp_path / "longer.py").write_text("xx")
    os.utime(tmp_path / "later.py", ns=(0, 1))
    (tmp_path / "gone.py").unlink()
    (tmp_path / "link.py").unlink()
    (tmp_path / "link.py").symlink_to("same.py")
    (tmp_path / "new.py").write_text("x")
    assert memory.unchanged(str(tmp_path), names) == [before["same.py"], None, None, None, None, None]


@pytest.mark.parametrize(("files", "is_refused"), [(2, False), (3, False), (4, True)])
def test_a_walk_that_remembers_is_bounded_in_files_too(tmp_path: Path, files: int, is_refused: bool) -> None:
    memory = FolderMemory(now_ns=long_after)
    for number in range(files):
        (tmp_path / f"{number}.py").write_text("x")
    for _ in range(2):
        with pytest.raises(RepositoryError, match="more than 3 files") if is_refused else nullcontext():
            assert len(walk(tmp_path, WalkOptions(max_files=3), memory).entries) == files
