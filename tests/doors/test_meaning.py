"""What the commands tell of search by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.settings import Settings
from serve.cli.meaning import meaning, told_of_meaning


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (None, "meaning: not used; `jeeves doctor` says why\n"),
        ({"kept": 5, "made": 0, "wanted": 0}, "meaning: 5 vectors kept\n"),
        ({"kept": 5, "made": 0, "wanted": 4}, "meaning: 5 vectors kept, 0 of 4 requested computed\n"),
    ],
)
def test_the_state_of_vectors_is_told_in_a_line(state: dict[str, int] | None, told: str) -> None:
    assert told_of_meaning(state) == told


def settings(folder: Path, **section: Any) -> Settings:
    return Settings.model_validate({"state_dir": str(folder), "code_index": section})


def test_vectors_that_are_made_in_the_background_are_counted(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "index" / "vectors.sqlite")
    cache.note("somebody", 3, 7)
    cache.close()
    assert meaning(settings(tmp_path)) == {"kept": 0, "made": 3, "wanted": 7}


def test_without_search_by_meaning_there_is_nothing_to_count(tmp_path: Path) -> None:
    assert meaning(settings(tmp_path, embeddings=False)) is None
