"""The journal: an effect that was made is not made again, whatever dies in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.effects.journal import Declaration, Journal, JournalRecord, MemoryJournal, effect_key, resolve
from runtime.errors import FencedError
from runtime.primitives.ids import RunId, StageKey
from runtime.store.sql_journal import SqlJournal
from tests.runtime.store.conftest import make_place

STAGE = StageKey(RunId("r-1"), 3, 1)
DECLARATIONS: tuple[Declaration, ...] = ("repeatable", "check_first", "ask")

declarations = st.sampled_from(DECLARATIONS)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal()
        return
    place = make_place(request.param, request, tmp_path)
    yield SqlJournal(place.open())
    place.close()


def attempt(number: int) -> StageKey:
    return StageKey(RunId("r-1"), 3, 1, number)


def test_the_key_of_a_call_does_not_depend_on_the_attempt() -> None:
    assert effect_key(attempt(1), 1, b"x") == effect_key(attempt(7), 1, b"x")


@pytest.mark.parametrize(
    "other",
    [
        effect_key(STAGE, 2, b"x"),
        effect_key(STAGE, 1, b"y"),
        effect_key(StageKey(RunId("r-1"), 4, 1), 1, b"x"),
        effect_key(StageKey(RunId("r-1"), 3, 2), 1, b"x"),
        effect_key(StageKey(RunId("r-2"), 3, 1), 1, b"x"),
    ],
)
def test_other_calls_have_other_keys(other: object) -> None:
    assert other != effect_key(STAGE, 1, b"x")


def test_a_call_that_nobody_was_about_to_make_is_made() -> None:
    assert [resolve(None, declaration).action for declaration in DECLARATIONS] == ["run"] * 3


@given(st.binary(), declarations)
def test_a_call_that_was_made_is_reused_whatever_its_tool_declares(result: bytes, declaration: Declaration) -> None:
    key = effect_key(STAGE, 1, b"x")
    resolution = resolve(JournalRecord(key, 1, result), declaration)
    assert (resolution.action, resolution.result) == ("reuse", result)


def test_a_call_in_doubt_is_decided_by_its_tools_declaration() -> None:
    record = JournalRecord(effect_key(STAGE, 1, b"x"), 1)
    assert not record.is_done
    assert [resolve(record, declaration).action for declaration in DECLARATIONS] == ["run", "check", "ask"]


def test_the_first_result_stays(journal: Journal) -> None:
    key = effect_key(STAGE, 1, b"x")
    journal.intend(key, 1)
    journal.done(key, b"first")
    journal.done(key, b"second")
    journal.intend(key, 2)
    assert journal.find(key) == JournalRecord(key, 1, b"first")


def test_a_result_whose_intention_was_lost_is_kept_all_the_same(journal: Journal) -> None:
    key = effect_key(STAGE, 1, b"x")
    journal.done(key, b"made")
    assert resolve(journal.find(key), "ask").result == b"made"


def test_an_attempt_begins_once_and_never_after_a_newer_one(journal: Journal) -> None:
    assert journal.begin(attempt(1), "agent-1")
    assert journal.begin(attempt(1), "agent-1"), "whoever asks again after an answer was lost learns that it holds it"
    assert not journal.begin(attempt(1), "agent-2")
    assert journal.begin(attempt(2), "agent-2")
    assert not journal.begin(attempt(1), "agent-1")
    assert not journal.begin(attempt(2), "agent-1")


def test_an_overtaken_attempt_cannot_make_another_call(journal: Journal) -> None:
    journal.begin(attempt(1), "agent-1")
    journal.intend(effect_key(STAGE, 1, b"x"), 1)
    journal.begin(attempt(2), "agent-2")
    with pytest.raises(FencedError, match="overtaken by attempt 2"):
        journal.intend(effect_key(STAGE, 2, b"y"), 1)
    assert journal.find(effect_key(STAGE, 2, b"y")) is None


def test_a_run_that_is_over_can_be_forgotten(journal: Journal) -> None:
    key = effect_key(STAGE, 1, b"x")
    journal.begin(attempt(1), "a")
    journal.done(key, b"made")
    journal.forget(RunId("r-1"))
    journal.forget(RunId("r-1"))
    assert journal.find(key) is None
    assert journal.begin(attempt(1), "b")


@given(st.lists(declarations, min_size=1, max_size=5), st.lists(st.integers(0, 14), max_size=6))
def test_however_often_a_stage_dies_in_its_calls_none_that_must_not_be_repeated_is_made_twice(
    tools: list[Declaration], deaths: list[int]
) -> None:
    """Each call takes three steps (intend, make, done); the stage dies after so many steps as `deaths` say."""
    journal = MemoryJournal()
    made: dict[int, int] = {}

    def steps(number: int) -> Iterator[None]:
        for call, declaration in enumerate(tools, start=1):
            key = effect_key(STAGE, call, b"x")
            action = resolve(journal.find(key), declaration).action
            if action == "reuse":
                continue
            journal.intend(key, number)
            yield
            if action == "run" or call not in made:
                made[call] = made.get(call, 0) + 1
            yield
            journal.done(key, b"ok")
            yield

    for number, lived in enumerate([*deaths, 1_000], start=1):
        for step, _ in enumerate(steps(number), start=1):
            if step >= lived:
                break
    for call, declaration in enumerate(tools, start=1):
        assert made[call] == 1 or declaration == "repeatable"
        assert journal.find(effect_key(STAGE, call, b"x")).is_done  # type: ignore[union-attr]
