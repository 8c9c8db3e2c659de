"""What the commands tell of search by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.settings import Settings
from serve.cli.output.meaning import meaning, told_of_meaning, told_of_share
from tests.doors.program import Program, processes_that_mention, wait_until
from tests.doors.sample_repo import FILES, QUESTION, write_files


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


@pytest.mark.parametrize(("share", "told"), [(None, ""), (1.0, ""), (0.9999, "knew 99 %"), (0.0, "knew 0 %")])
def test_what_meaning_could_not_count_is_told(share: float | None, told: str) -> None:
    said = told_of_share(share)
    assert (told in said) if told else (said == "")


@pytest.mark.long
def test_waiting_for_vectors_makes_all_of_them_and_questions_say_what_counted(tmp_path: Path) -> None:
    jeeves = Program(tmp_path / "state", JEEVES_CODE_INDEX__EMBEDDINGS="true", JEEVES_RAY__MODE="in_process")
    repo = write_files(tmp_path / "repo", FILES)
    waited = jeeves.run("index", "--repo", repo, "--wait-vectors", "--json").answers().document["vectors"]
    assert waited["ready"] == 1.0
    assert waited["pieces"] > 0
    assert "vectors: " in jeeves.run("index", "--repo", repo, "--wait-vectors").answers().out
    document = jeeves.run("ask", QUESTION, "--repo", repo, "--json").answers().document
    assert document["meaning"] == 1.0
    wait_until(lambda: not processes_that_mention(str(tmp_path / "state")), 5)


@pytest.mark.long
def test_there_are_no_vectors_to_wait_for_without_search_by_meaning(tmp_path: Path) -> None:
    jeeves = Program(tmp_path / "state", JEEVES_CODE_INDEX__EMBEDDINGS="false", JEEVES_RAY__MODE="in_process")
    repo = write_files(tmp_path / "repo", FILES)
    jeeves.run("index", "--repo", repo, "--wait-vectors").complains(2, "no vectors to wait for", "embeddings")
    assert "meaning" not in jeeves.run("ask", QUESTION, "--repo", repo, "--json").answers().document
