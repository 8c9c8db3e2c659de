"""Compiled modules beside sources are removed, but for those that are to be kept; links lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.files.compiled_modules import remove_compiled

FILES = ("load.py", "net/io.py")
COMPILED = ("__pycache__/load.cpython-311.pyc", "net/__pycache__/io.cpython-311-pytest-8.pyc", "net/__pycache__/a.pyo")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (*FILES, *COMPILED, "__pycache__/notes.txt", "other/__pycache__/b.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def present(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_those_beside_the_files_are_gone_and_nothing_else_is(root: Path) -> None:
    assert remove_compiled(root, FILES, frozenset()) == ()
    assert present(root) == {*FILES, "__pycache__/notes.txt", "other/__pycache__/b.pyc"}


def test_those_that_are_to_be_kept_stay(root: Path) -> None:
    assert remove_compiled(root, FILES, {COMPILED[0]}) == ()
    assert COMPILED[0] in present(root)


def test_what_a_link_leads_to_stays_and_the_link_is_gone(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    away = tmp_path_factory.mktemp("away")
    (away / "io.pyc").write_bytes(b"x")
    (root / "net/__pycache__").rename(root / "moved")
    (root / "net/__pycache__").symlink_to(away)
    (root / "linked").symlink_to(away)
    (away / "__pycache__").mkdir()
    (away / "__pycache__/c.pyc").write_bytes(b"x")
    assert remove_compiled(root, (*FILES, "linked/c.py", "../c.py", "/c.py"), frozenset()) == ()
    assert not (root / "net/__pycache__").exists()
    assert present(away) == {"io.pyc", "__pycache__/c.pyc"}


def test_what_is_no_folder_is_told(root: Path) -> None:
    (root / "lib").mkdir()
    (root / "lib/__pycache__").write_text("")
    assert remove_compiled(root, ("lib/a.py",), frozenset()) == ("lib/__pycache__/",)
