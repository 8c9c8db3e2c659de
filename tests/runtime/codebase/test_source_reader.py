"""Sources are read below the root alone, also where a folder or file on their way turns into a link meanwhile."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import pytest

from runtime.codebase.files.folder_memory import STILL_NS
from runtime.codebase.files.paths import is_denied, is_plainly_readable
from runtime.codebase.files.source_reader import SourceReader
from runtime.errors import RepositoryError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "a.py").write_text("x = 1\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("secret = 12345\n")
    return folder


def settled_reader(root: Path) -> SourceReader:
    """A reader for which all files have been as they are for a while."""
    return SourceReader(root, lambda: time.time_ns() + 10 * STILL_NS)


def test_an_edit_is_seen_at_the_next_read(root: Path) -> None:
    reader = SourceReader(root)
    assert reader.source("pkg/a.py").text == "x = 1\n"
    (root / "pkg" / "a.py").write_text("x = 22\n")
    assert reader.source("pkg/a.py").text == "x = 22\n"


@pytest.mark.parametrize("was_read", [True, False])
def test_a_folder_that_became_a_link_outwards_is_refused(root: Path, was_read: bool) -> None:
    reader = SourceReader(root)
    if was_read:
        reader.source("pkg/a.py")
    (root / "pkg").rename(root / "kept")
    (root / "pkg").symlink_to(root.parent / "outside")
    with pytest.raises(RepositoryError) as raised:
        reader.source("pkg/a.py")
    assert is_denied(raised.value)


def test_an_edit_of_the_same_size_whose_time_is_set_back_is_seen(root: Path) -> None:
    file = root / "pkg" / "a.py"
    reader = settled_reader(root)
    assert reader.source("pkg/a.py").text == "x = 1\n"
    before = file.stat()
    file.write_text("x = 2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reader.source("pkg/a.py").text == "x = 2\n"


@pytest.mark.parametrize(
    ("age_ns", "text"), [(STILL_NS - 1, "x = 3\n"), (STILL_NS, "x = 2\n"), (STILL_NS + 1, "x = 2\n")]
)
def test_a_text_counts_as_it_was_only_if_its_file_was_still_for_two_seconds(root: Path, age_ns: int, text: str) -> None:
    file = root / "pkg" / "a.py"
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[4:5] = b"2"
        before = file.stat()
        reader = SourceReader(root, lambda: max(before.st_mtime_ns, before.st_ctime_ns) + age_ns)
        assert reader.source("pkg/a.py").text == "x = 2\n"
        # What is written again through memory changes no time: it stands for an edit within the resolution of times.
        mapped[4:5] = b"3"
        assert file.stat() == before
        assert reader.source("pkg/a.py").text == text


def test_a_file_that_was_removed_or_replaced_by_another_of_the_same_size_and_time_is_not_taken_from_memory(
    root: Path,
) -> None:
    file = root / "pkg" / "a.py"
    reader = settled_reader(root)
    reader.source("pkg/a.py")
    before = file.stat()
    other = root / "pkg" / "b.py"
    other.write_text("y = 3\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    assert reader.source("pkg/a.py").text == "y = 3\n"
    file.unlink()
    with pytest.raises(RepositoryError, match="no file"):
        reader.source("pkg/a.py")


def test_a_folder_that_was_moved_out_with_a_link_left_in_its_place_is_refused(root: Path) -> None:
    reader = settled_reader(root)
    reader.source("pkg/a.py")
    (root / "pkg").rename(root.parent / "moved")
    (root / "pkg").symlink_to(root.parent / "moved")
    with pytest.raises(RepositoryError) as raised:
        reader.source("pkg/a.py")
    assert is_denied(raised.value)


def test_a_link_outwards_of_the_same_size_and_time_never_shows_what_lies_outside(root: Path) -> None:
    reader = settled_reader(root)
    reader.source("pkg/a.py")
    outside = root.parent / "outside" / "a.py"
    outside.write_text("y = 2\n")
    status = (root / "pkg" / "a.py").stat()
    os.utime(outside, ns=(status.st_atime_ns, status.st_mtime_ns))
    (root / "pkg").rename(root / "kept")
    (root / "pkg").symlink_to(outside.parent)
    with pytest.raises(RepositoryError) as raised:
        reader.source("pkg/a.py")
    assert is_denied(raised.value)


def test_a_file_that_became_a_link_is_refused_outwards_and_followed_inwards(root: Path) -> None:
    reader = SourceReader(root)
    (root / "out.py").symlink_to(root.parent / "outside" / "a.py")
    (root / "in.py").symlink_to("pkg/a.py")
    assert reader.source("in.py").text == "x = 1\n"
    with pytest.raises(RepositoryError):
        reader.source("out.py")


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../a", "a/../b", "a//b", "/a", "a/", "./a", " a", "a ", "a\0b", ".git/config", "x/.env"]
)
def test_a_path_that_is_written_otherwise_is_followed(path: str) -> None:
    assert not is_plainly_readable(path)


def test_a_secret_behind_a_plain_name_is_refused(root: Path) -> None:
    (root / ".env").write_text("KEY=1\n")
    (root / "plain.txt").symlink_to(".env")
    reader = SourceReader(root)
    for name in (".env", "plain.txt"):
        with pytest.raises(RepositoryError):
            reader.source(name)
    assert reader.source(".env", allow_secrets=True).text == "KEY=1\n"
