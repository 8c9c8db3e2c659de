from __future__ import annotations

from pathlib import Path

from tests.doors.http_site import open_site


def open_files(folder: Path) -> list[Path]:
    """The files below a folder that this process has open."""
    files = [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return [file for file in files if file.is_relative_to(folder)]


async def test_a_site_that_was_closed_has_no_file_open(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        assert (await site.ask("Who?")).status == 200
        assert open_files(tmp_path)
    assert open_files(tmp_path) == []
