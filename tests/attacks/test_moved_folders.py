"""A folder that was registered and is a link to another one by now is not followed: not to index it, nor to read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actors.capabilities.code_analysis.tools.services import Services
from runtime.codebase.codebase import open_elsewhere
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.errors import RepositoryError
from tests.attacks.repositories import write

SECRET = "hunter2hunter2"


def link_itself(root: Path, elsewhere: Path) -> None:
    root.rename(root.with_name("gone"))
    root.symlink_to(elsewhere / root.name)


def link_a_folder_above(root: Path, elsewhere: Path) -> None:
    root.parent.rename(root.parent.with_name("gone"))
    root.parent.symlink_to(elsewhere)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A repository, and a folder with another one of its name in it."""
    write(tmp_path, {"served/repo/a.py": "A = 1\n", "private/repo/a.py": f'A = "{SECRET}"\n'})
    return tmp_path / "served" / "repo", tmp_path / "private"


@pytest.mark.parametrize("swap", [link_itself, link_a_folder_above])
async def test_a_folder_that_leads_elsewhere_by_now_is_refused(
    folders: tuple[Path, Path], tmp_path: Path, swap: Callable[[Path, Path], None]
) -> None:
    root, elsewhere = folders
    index, services = IndexService(tmp_path / "state", IndexOptions()), Services()
    try:
        repository = await index.refresh(str(root))
        codebase = services.codebase(repository)
        assert codebase.read_lines("a.py") == ["A = 1"]
        swap(root, elsewhere)
        assert SECRET in (root / "a.py").read_text()
        told = f"{root} is, or lies below, a link to {elsewhere / 'repo'} now"
        with pytest.raises(RepositoryError, match=told):
            await index.refresh(str(root))
        with pytest.raises(RepositoryError, match=told):
            services.codebase(repository)
        with pytest.raises(RepositoryError, match=told):
            Services().codebase(repository)
        _, opened, _ = codebase.portable()
        with pytest.raises(RepositoryError, match=told):
            open_elsewhere(**opened)
    finally:
        index.close()


async def test_a_folder_that_was_put_back_or_made_anew_is_used(folders: tuple[Path, Path], tmp_path: Path) -> None:
    root, elsewhere = folders
    index = IndexService(tmp_path / "state", IndexOptions())
    try:
        link_itself(root, elsewhere)
        with pytest.raises(RepositoryError):
            await index.refresh(str(root))
        root.unlink()
        write(root, {"b.py": "B = 1\n"})
        assert Services().codebase(await index.refresh(str(root))).read_lines("b.py") == ["B = 1"]
    finally:
        index.close()
