from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.source_reader import KEPT_BYTES
from runtime.codebase.search.ripgrep import files_with
from runtime.codebase.search.text_search import byte_filter, files_listed

rg = shutil.which("rg")
needs_rg = pytest.mark.skipif(rg is None, reason="ripgrep is not installed")

FILES = {
    "a.py": b"one = 'Needle'\n",
    "sub/.hidden/b.txt": b"needle\n",
    "ignored/c.py": b"Needle\n",
    ".gitignore": b"ignored/\n",
    "wide.txt": "Needle\n".encode("utf-16"),
    "latin.txt": b"\xe9 Needle\n",
    "node_modules/d.js": b"Needle\n",
    "with nul.bin": b"\0Needle\n",
    "none.py": b"nothing\n",
}


@pytest.fixture
def folder(root: Path) -> Path:
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@needs_rg
@pytest.mark.parametrize("case_sensitive", [True, False])
@pytest.mark.parametrize("literal", ["Needle", "needle", "= '", "-x", "a.b", "zzqxw"])
def test_no_file_that_the_own_filter_lets_through_is_missed(folder: Path, literal: str, case_sensitive: bool) -> None:
    own = byte_filter(folder, literal, case_sensitive=case_sensitive)
    fast = files_listed(folder, literal, case_sensitive=case_sensitive, rg=rg)
    assert fast is not None
    wide = {"wide.txt"} if "needle" not in literal.lower() else set()
    for name in FILES.keys() - {"node_modules/d.js"} - wide:
        if literal in FILES[name].decode("utf-8", "replace") or (name == "wide.txt" and literal == "Needle"):
            assert own(name)
            assert name in fast


@pytest.mark.parametrize("script", ["sleep 30", "exit 2"])
def test_ripgrep_that_hangs_or_fails_is_done_without(folder: Path, tmp_path: Path, script: str) -> None:
    broken = tmp_path / "rg"
    broken.write_text(f"#!/bin/sh\nexec {script}\n" if "sleep" in script else f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    assert files_with(folder, "x", case_sensitive=True, command=[str(broken)], timeout_s=0.2) is None
    assert files_with(folder, "x", case_sensitive=True, command=["no-such-rg"]) is None


def test_what_ripgrep_names_decides_which_files_are_read(folder: Path, tmp_path: Path) -> None:
    double = tmp_path / "rg"
    double.write_text("#!/bin/sh\nprintf './a.py\\0./x/y.py\\0'\n")
    double.chmod(0o755)
    listed = files_listed(folder, "anything", case_sensitive=True, rg=str(double))
    assert listed == frozenset({"a.py", "x/y.py"})


@pytest.mark.parametrize(("literal", "case_sensitive"), [("", True), ("Größe", False), ("two\nlines", True)])
def test_ripgrep_lists_nothing_by_what_selects_no_file(folder: Path, literal: str, case_sensitive: bool) -> None:
    assert files_listed(folder, literal, case_sensitive=case_sensitive, rg="/no/such/rg") is None


@needs_rg
def test_what_is_listed_of_a_repository_larger_than_memory_is_searched_with_sources_first(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    for number in range(KEPT_BYTES // 900_000 + 1):
        (root / f"large{number}.txt").write_text(("x" * 89_999 + "\n") * 10)
    for name in ("docs/a.md", "z.py", "tests/test_b.py", "b.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("def sea_of_seals(): ...\n")
    codebase = opened(root)
    assert sum(file.size for file in codebase.files()) > KEPT_BYTES
    for pattern, regex in (("sea_of_seals", False), (r"def \w+_seals\(", True)):
        found = codebase.search_text(pattern, regex=regex)
        assert [hit.file for hit in found.hits] == ["b.py", "z.py", "docs/a.md", "tests/test_b.py"]
    assert [hit.file for hit in codebase.search_text("SEALS", case_sensitive=False, scope="tests").hits] == [
        "tests/test_b.py"
    ]
