"""What tools keep beside sources is known by folder and kind; what could stand for a source is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.files.tool_caches import cache_folder, caches_told, is_tool_cache

CACHES = [
    "pkg/__pycache__/a.cpython-311.pyc",
    "__pycache__/a.cpython-311.opt-1.pyc",
    "__pycache__/a.cpython-311.pyc.139",
    "__pycache__/a.f-12.py311.nbi",
    ".pytest_cache/v/cache/lastfailed",
    ".pytest_cache/README.md",
    "pkg/.mypy_cache/3.11/a.data.json",
    ".ruff_cache/0.1/12345",
    ".hypothesis/examples/ab/cd",
    ".import_linter_cache/CACHEDIR.TAG",
]
OTHERS = [
    "pkg/a.pyc",
    "__pycache__",
    "pkg/__pycache__/",
    "__pycache__/conftest.py",
    "__pycache__/a.so",
    "__pycache__/notes.txt",
    "__pycache__/sub/a.py",
    "my__pycache__/a.pyc",
    "__PYCACHE__/a.pyc",
    ".pytest_cache/conftest.py",
    ".pytest_cache/v/a.PY",
    ".mypy_cache/a.pth",
    "node_modules/a/index.js",
    ".venv/bin/python",
    "build/lib/a.py",
    ".tox/log",
    ".cache/a",
    ".benchmarks/a.json",
    ".ipynb_checkpoints/a.ipynb",
    "",
]


@pytest.mark.parametrize("file", CACHES)
def test_what_a_tool_keeps_is_told_by_its_folder_and_name(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_bytes(b"\xa7\r\r\n" + bytes(12))
    assert is_tool_cache(tmp_path, file)
    assert cache_folder(file) in file.split("/")


@pytest.mark.parametrize("file", OTHERS)
def test_sources_dependencies_and_what_is_built_are_no_caches(file: str) -> None:
    assert cache_folder(file) == ""


def test_a_compiled_module_that_is_used_without_a_look_at_its_source_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    for flags in (0, 1, 2, 3):
        (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"\xa7\r\r\n" + flags.to_bytes(4, "little") + bytes(8))
        assert is_tool_cache(tmp_path, "__pycache__/a.pyc") is (flags != 1)


def test_a_link_and_what_is_not_there_are_no_caches(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "kept").write_bytes(bytes(16))
    (tmp_path / "__pycache__" / "a.pyc").symlink_to(tmp_path / "kept")
    assert not is_tool_cache(tmp_path, "__pycache__/a.pyc")
    assert not is_tool_cache(tmp_path, "__pycache__/b.pyc")


def test_they_are_counted_by_their_folders() -> None:
    files = ["a/__pycache__/a.pyc", "__pycache__/b.pyc", ".hypothesis/examples/a", "other.py"]
    assert caches_told(files) == "1 file in .hypothesis, 2 files in __pycache__"
    assert caches_told([]) == ""
