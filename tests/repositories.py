"""Small repositories that tests ask about: each is a folder in `tests/fixtures/repositories`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "fixtures" / "repositories"


def repository_files(name: str) -> dict[str, str]:
    """What each file of a repository says, by its path; to be written where a test may change it."""
    root = FOLDER / name
    paths = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert paths, f"there is no repository {name} in {FOLDER}"
    return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in paths}


def write_files(root: Path, files: Mapping[str, str], age_s: float = 60) -> Path:
    """Write files below a folder, with times that lie `age_s` seconds back; a refresh trusts those a minute old."""
    past = time.time() - age_s
    for path, text in files.items():
        full = root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8", newline="")
        os.utime(full, (past, past))
    return root
