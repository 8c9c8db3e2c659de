from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runtime.codebase.search.ripgrep import files_with
from runtime.codebase.search.text_search import byte_filter

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
    fast = byte_filter(folder, literal, case_sensitive=case_sensitive, rg=rg)
    wide = {"wide.txt"} if "needle" not in literal.lower() else set()
    for name in FILES.keys() - {"node_modules/d.js"} - wide:
        if literal in FILES[name].decode("utf-8", "replace") or (name == "wide.txt" and literal == "Needle"):
            assert own(name)
            assert fast(name), name


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
    may_have = byte_filter(folder, "anything", case_sensitive=True, rg=str(double))
    assert [name for name in ("a.py", "x/y.py", "none.py") if may_have(name)] == ["a.py", "x/y.py"]
