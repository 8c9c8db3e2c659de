"""Sources are read below the root alone, also where a folder or file on their way turns into a link meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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


def test_a_link_outwards_of_the_same_size_and_time_never_shows_what_lies_outside(root: Path) -> None:
    reader = SourceReader(root)
    reader.source("pkg/a.py")
    outside = root.parent / "outside" / "a.py"
    outside.write_text("y = 2\n")
    status = (root / "pkg" / "a.py").stat()
    os.utime(outside, ns=(status.st_atime_ns, status.st_mtime_ns))
    (root / "pkg").rename(root / "kept")
    (root / "pkg").symlink_to(outside.parent)
    assert reader.source("pkg/a.py").text == "x = 1\n"


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
