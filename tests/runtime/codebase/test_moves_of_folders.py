"""A folder that was moved is noticed, also when it is back in its place; what is written in it is no move."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runtime.codebase.files.moved_folders import FolderWatch


@pytest.fixture(params=["notices", "times"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "times":
        monkeypatch.setattr(sys, "platform", "another")
    top = tmp_path / "project"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").write_text("x")
    (top / "c").mkdir()
    return top


def there_and_back(folder: Path) -> None:
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.mkdir()
    folder.rmdir()
    aside.rename(folder)


def test_a_folder_that_is_back_in_its_place_was_moved(root: Path) -> None:
    with FolderWatch(root, ["a", "a/b", "c"]) as watch:
        there_and_back(root / "a" / "b")
        assert watch.moved() == ("a/b",)


def test_a_folder_that_is_gone_or_another_one_was_moved(root: Path) -> None:
    with FolderWatch(root, ["a", "a/b", "c"]) as watch:
        (root / "a").rename(root / "d")
        (root / "c").rename(root / "e")
        (root / "c").mkdir()
        assert set(watch.moved()) >= {"a", "c"}


@pytest.mark.parametrize("levels", [0, 1])
def test_the_root_and_what_it_lies_in_are_watched_too(root: Path, levels: int) -> None:
    place = [root, root.parent][levels]
    with FolderWatch(root, ["a"]) as watch:
        there_and_back(place)
        assert str(place) in watch.moved()


def test_what_comes_and_goes_in_folders_moves_none_of_them(root: Path) -> None:
    with FolderWatch(root, ["a", "a/b", "c"]) as watch:
        (root / "a" / "b" / "__pycache__").mkdir()
        (root / "a" / "b" / "file").write_text("y")
        (root / "a" / "new").write_text("x")
        (root / "a" / "new").rename(root / "c" / "new")
        (root / "c" / "new").unlink()
        assert watch.moved() == ()


def test_a_folder_that_is_not_there_is_not_watched(root: Path) -> None:
    with FolderWatch(root, ["nowhere", "a/b/file"]) as watch:
        (root / "nowhere").mkdir()
        assert watch.moved() == ()
