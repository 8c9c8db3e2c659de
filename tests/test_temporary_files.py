"""The files of tests are kept in memory only where they fit."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import has_room


def test_a_folder_has_room_for_what_fits_and_for_no_more(tmp_path: Path) -> None:
    assert has_room(tmp_path, 1) == Path("/proc/meminfo").exists()
    assert not has_room(tmp_path, 2**60)


def test_a_folder_that_is_not_there_has_no_room(tmp_path: Path) -> None:
    assert not has_room(tmp_path / "nowhere", 0)
