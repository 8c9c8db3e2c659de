"""Sessions of a user: listed by their beginning, continued from an earlier one, deleted; on every backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.knowledge.earlier_answers import EarlierAnswer, MemoryStore
from runtime.memory.cache import CacheStore
from runtime.memory.owned_sessions import IDS_AT_ONCE, TURNS_COPIED, OwnedSession, SessionOwner
from runtime.memory.sessions import SessionStore, Turn
from runtime.primitives.clock import FakeClock
from tests.runtime.store.conftest import Place


def turn(number: int, repo: str = "/r") -> Turn:
    return Turn(f"question {number}?", "answer", number, repo)


@pytest.fixture
def store(place: Place) -> SessionStore:
    return SessionStore(place.open(), FakeClock(1_000))


def clock_of(store: SessionStore) -> FakeClock:
    clock = store.owned._clock
    assert isinstance(clock, FakeClock)
    return clock


async def test_sessions_of_a_user_are_listed_in_pages_the_newest_first(store: SessionStore) -> None:
    for number in range(5):
        if number % 2 == 0:
            await clock_of(store).advance(1)
        store.owned.open("me", f"s{number}", f"id{number}")
    store.owned.open("other", "s9", "id9")
    everything = store.owned.listed("me", 10)
    assert [each.name for each in everything] == ["s4", "s3", "s2", "s1", "s0"]
    paged: list[OwnedSession] = []
    before = None
    while page := store.owned.listed("me", 2, before):
        paged += page
        before = (page[-1].opened_at_ms, page[-1].name)
    assert paged == everything
    assert store.owned.listed("nobody", 10) == []


@pytest.mark.parametrize("asked", [IDS_AT_ONCE - 1, IDS_AT_ONCE, IDS_AT_ONCE + 1])
def test_owners_are_found_by_the_ids_of_their_sessions(store: SessionStore, asked: int) -> None:
    store.owned.open("me", "tour", "id-last")
    ids = [*(f"id-{number}" for number in range(asked - 1)), "id-last"]
    assert store.owned.owners(ids) == {"id-last": SessionOwner("me", "tour")}
    assert store.owned.owners([]) == {}


async def test_a_session_that_is_used_again_keeps_its_place_and_its_beginning(store: SessionStore) -> None:
    store.owned.open("me", "s1", "id1")
    await clock_of(store).advance(1)
    store.owned.open("me", "s2", "id2")
    await clock_of(store).advance(1)
    store.owned.open("me", "s1", "id1")
    assert [(each.name, each.opened_at_ms, each.used_at_ms) for each in store.owned.listed("me", 10)] == [
        ("s2", 2_000, 2_000),
        ("s1", 1_000, 3_000),
    ]


def test_a_session_is_shown_to_its_user_alone(store: SessionStore) -> None:
    store.owned.open("me", "s", "id")
    for number in range(3):
        store.append("id", turn(number))
    store.keep_state("id", {"n": 1})
    shown = store.owned.shown("me", "s", "derived", 2)
    assert shown is not None
    assert (shown.turns, shown.has_more, shown.has_state) == ((turn(1), turn(2)), True, True)
    whole = store.owned.shown("me", "s", "derived", 3)
    assert whole is not None
    assert not whole.has_more
    assert store.owned.shown("other", "s", "derived", 2) is None


def test_a_session_that_is_older_than_the_register_is_shown_and_deleted_by_its_derived_id(store: SessionStore) -> None:
    store.append("derived", turn(1))
    shown = store.owned.shown("me", "s", "derived", 5)
    assert shown is not None
    assert shown.turns == (turn(1),)
    assert store.owned.delete("me", "s", "derived").turns == 1
    assert store.turns("derived") == []


def test_a_session_continues_another_one_without_changing_it(store: SessionStore) -> None:
    for number in range(7):
        store.append("first", turn(number))
    store.keep_state("first", {"n": 1})
    assert store.owned.continue_from("me", "chat", "second", "first", []) == TURNS_COPIED
    store.append("second", turn(7))
    store.keep_state("second", {"n": 2})
    assert store.turns("second", 100) == [turn(number) for number in range(2, 8)]
    assert (store.turns("first", 100)[-1], store.state("first")) == (turn(6), {"n": 1})


def test_a_question_that_is_asked_again_continues_from_before_it(store: SessionStore) -> None:
    store.append("first", turn(1))
    for _ in range(2):
        store.owned.continue_from("me", "chat", "second", "first", [])
        assert (store.turns("second"), store.state("second")) == ([turn(1)], None)
        store.append("second", turn(2))
        store.keep_state("second", {"n": 2})


def test_what_the_caller_tells_takes_the_place_of_turns_that_are_gone(store: SessionStore) -> None:
    told = [turn(number) for number in range(TURNS_COPIED + 2)]
    assert store.owned.continue_from("me", "chat", "second", "gone", told) == TURNS_COPIED
    assert store.turns("second") == told[2:]
    assert store.owned.continue_from("me", "chat", "third", None, []) == 0


def test_sessions_of_one_name_are_deleted_together_and_once(store: SessionStore) -> None:
    store.append("first", turn(1, "/r1"))
    store.owned.open("me", "chat", "first")
    store.owned.continue_from("me", "chat", "second", "first", [])
    store.append("second", turn(2, "/r2"))
    store.keep_state("second", {"n": 1})
    store.owned.open("other", "chat", "theirs")
    store.append("theirs", turn(3))
    deleted = store.owned.delete("me", "chat", "derived")
    assert (set(deleted.session_ids), deleted.turns, deleted.states) == ({"first", "second"}, 3, 1)
    assert set(deleted.repos) == {"/r1", "/r2"}
    assert store.owned.delete("me", "chat", "derived").session_ids == ()
    assert (store.turns("second"), store.state("second"), store.owned.listed("me", 9)) == ([], None, [])
    assert store.turns("theirs") == [turn(3)]


async def test_a_session_that_was_not_used_for_long_leaves_no_owner(store: SessionStore) -> None:
    store.owned.open("me", "asked", "id1")
    store.append("id1", turn(1))
    store.owned.open("me", "empty", "id2")
    await clock_of(store).advance(1)
    store.owned.open("me", "new", "id3")
    assert store.drop_unused(2_000) == ["id1"]
    assert [each.name for each in store.owned.listed("me", 9)] == ["new"]


def test_answers_are_forgotten_with_the_session_that_they_came_of(place: Place) -> None:
    memory = MemoryStore(CacheStore(place.open()), FakeClock(1_000))
    for name in ("mine", "theirs", ""):
        memory.keep_answer("/r", EarlierAnswer(f"what of {name}?", (name,), "text", (), session_id=name))
    memory.keep_answer("/other", EarlierAnswer("what?", ("mine",), "text", (), session_id="mine"))
    assert memory.forget(["/r"], ["mine", "unknown"]) == 1
    assert memory.recall("/r", ["mine"]) == []
    (kept,) = memory.recall("/r", ["theirs"])
    assert (kept.question, kept.session_id) == ("what of theirs?", "")
    assert len(memory.recall("/other", ["mine"])) == 1
    assert memory.forget(["/r", "/other", "/none"], ["mine"]) == 1


def test_a_store_of_an_older_version_gets_its_register(tmp_path: Path) -> None:
    old = SessionStore(tmp_path / "s.sqlite")
    old.append("s", turn(1))
    with old._database.transaction("go back") as changes:
        changes.execute("DROP TABLE session_owners")
        changes.execute("UPDATE schema_versions SET version = 2 WHERE component = 'sessions'")
    old.close()
    again = SessionStore(tmp_path / "s.sqlite")
    assert (again.turns("s"), again.owned.listed("me", 9)) == ([turn(1)], [])
