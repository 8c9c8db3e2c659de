"""Earlier answers by similarity, summaries by content hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.knowledge.earlier_answers import MAX_ANSWERS, EarlierAnswer, MemoryStore, similarity
from runtime.database.sqlite_database import SqliteDatabase
from runtime.memory.cache import CacheStore
from runtime.primitives.clock import FakeClock


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(CacheStore(SqliteDatabase(tmp_path / "cache.sqlite", "normal")), FakeClock())


def answered(question: str) -> EarlierAnswer:
    return EarlierAnswer(question, tuple(question.split()), "", ())


def questions(store: MemoryStore, asked: str, repo: str = "r") -> list[str]:
    return [known.question for known in store.recall(repo, asked.split())]


@pytest.mark.parametrize(
    ("left", "right", "share"), [("a b", "a b", 1.0), ("a b", "b c", 1 / 3), ("a", "b", 0), ("", "", 0)]
)
def test_questions_are_alike_by_the_words_that_they_share(left: str, right: str, share: float) -> None:
    assert similarity(left.split(), right.split()) == share


def test_the_most_similar_answers_of_the_same_repository_are_recalled_first(store: MemoryStore) -> None:
    for question in ("a b c d", "a b c", "x y"):
        store.keep_answer("r", answered(question))
    store.keep_answer("other", answered("a b c d e"))
    assert questions(store, "a b c") == ["a b c", "a b c d"]


@pytest.mark.parametrize(("words", "found"), [("a b", False), ("a b c", True), ("a b c d", True)])
def test_a_question_must_be_similar_enough(store: MemoryStore, words: str, found: bool) -> None:
    store.keep_answer("r", answered("a b c d e"))
    assert bool(questions(store, words)) is found


def test_a_question_that_is_answered_again_is_kept_once(store: MemoryStore) -> None:
    store.keep_answer("r", answered("a b"))
    store.keep_answer("r", answered("a b"))
    assert questions(store, "a b") == ["a b"]


def test_the_oldest_answers_of_a_repository_are_forgotten(store: MemoryStore) -> None:
    for number in range(MAX_ANSWERS + 1):
        store.keep_answer("r", answered(f"word{number}"))
    assert questions(store, "word0") == []
    assert questions(store, "word1") == ["word1"]


def test_summaries_are_found_by_the_content_that_they_are_about(store: MemoryStore) -> None:
    store.keep_summaries({"f00": {"summary": "keeps parcels"}})
    store.keep_summaries({"f00": {"summary": "said later"}, "f01": {"summary": "y"}})
    assert store.summaries(["f00", "f02"]) == {"f00": {"summary": "keeps parcels"}}
