"""The entity graph of a repository: what it keeps, how much of it, and beside whom."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from runtime.codebase.knowledge import relation_store as limits
from runtime.codebase.knowledge.relation import Relation, bare_name
from runtime.codebase.knowledge.relation_store import RelationStore, relation_queries
from runtime.primitives.clock import FakeClock
from tests.runtime.store.conftest import Place


def call(source: str, target: str = "Depot.accept", **more: Any) -> Relation:
    made = Relation(source, "van.py", "calls", target, "depot.py", 9, 9, "f00")
    return msgspec.structs.replace(made, **more)


def store_at(place: Place) -> RelationStore:
    return RelationStore(place.open(), FakeClock(1_000))


@pytest.mark.parametrize(
    ("name", "part"), [("Depot.accept", "accept"), ("accept", "accept"), ("a/b.py", "a/b.py"), ("x.", "x.")]
)
def test_the_last_part_of_a_name(name: str, part: str) -> None:
    assert bare_name(name) == part


def test_what_one_process_keeps_another_finds_by_either_end(place: Place) -> None:
    store_at(place).keep("r", [call("deliver")])
    later = store_at(place)
    for name in ("accept", "Depot.accept", "deliver"):
        assert later.about("r", [name]) == [call("deliver")]
    assert later.about("r", ["Depot"]) == []
    assert later.about("another", ["accept"]) == []


def test_a_relation_is_kept_once_with_the_lines_that_showed_it_last(place: Place) -> None:
    store = store_at(place)
    store.keep("r", [call("deliver")])
    store.keep("r", [call("deliver", start_line=12, end_line=12, content_sha256="f01")])
    assert [(found.start_line, found.content_sha256) for found in store.about("r", ["accept"])] == [(12, "f01")]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_beyond_its_limit_a_repository_forgets_what_was_shown_longest_ago(place: Place, more: int) -> None:
    store, most = store_at(place), limits.MAX_RELATIONS_PER_REPOSITORY
    names = [f"f{number}" for number in range(most + more)]
    store.keep("other", [call("f0")])
    for start in range(0, len(names), limits.MAX_RELATIONS_AT_ONCE):
        store.keep("r", [call(name) for name in reversed(names[start : start + limits.MAX_RELATIONS_AT_ONCE])])
    assert store.count("r") == min(len(names), most)
    assert bool(store.about("r", ["f0"])) is (more < 1)
    assert store.about("r", ["f1"])
    assert store.count("other") == 1


def test_what_is_shown_again_is_the_newest(place: Place) -> None:
    store, most = store_at(place), limits.MAX_RELATIONS_PER_REPOSITORY
    for start in range(0, most, limits.MAX_RELATIONS_AT_ONCE):
        store.keep("r", [call(f"f{start + number}") for number in reversed(range(limits.MAX_RELATIONS_AT_ONCE))])
    store.keep("r", [call("f0")])
    store.keep("r", [call("new")])
    assert store.about("r", ["f0"])
    assert not store.about("r", ["f1"])


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_only_so_many_are_kept_at_once_the_first_of_them(place: Place, more: int) -> None:
    store, most = store_at(place), limits.MAX_RELATIONS_AT_ONCE
    given = [call(f"f{number}") for number in range(most + more)]
    assert store.keep("r", given) == min(most, len(given))
    assert store.about("r", ["accept"], most + 2) == given[:most]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_name_that_is_too_long_is_left_out(place: Place, more: int) -> None:
    store = store_at(place)
    long = "n" * (limits.MAX_NAME_CHARS + more)
    assert store.keep("r", [call(long), call("short")]) == (1 if more == 1 else 2)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_only_so_many_names_are_looked_up_at_once(place: Place, more: int) -> None:
    store = store_at(place)
    names = [f"f{number}" for number in range(limits.MAX_NAMES_AT_ONCE + more)]
    store.keep("r", [call(name, target=f"to_{name}") for name in names])
    assert len(store.about("r", names)) == min(len(names), limits.MAX_NAMES_AT_ONCE)


def test_two_sessions_that_write_at_once_lose_nothing(place: Place) -> None:
    stores = [store_at(place), store_at(place)]
    batches = 15

    def write(number: int) -> None:
        for batch in range(batches):
            stores[number].keep("r", [call(f"s{number}_{batch}_{item}") for item in range(5)])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store_at(place).count("r") == 2 * batches * 5


def test_a_relation_that_another_version_wrote_is_as_good_as_none(place: Place) -> None:
    store = store_at(place)
    store.keep("r", [call("deliver")])
    with place.open().transaction("write as another version") as changes:
        changes.execute("UPDATE relations SET body = ?", (msgspec.msgpack.encode({"v": 9}),))
    assert store.about("r", ["accept"]) == []


@pytest.mark.parametrize(("before_ms", "goes"), [(999, 0), (1_000, 0), (1_001, 1)])
def test_relations_go_by_when_they_were_shown_last(place: Place, before_ms: int, goes: int) -> None:
    store = store_at(place)
    store.keep("r", [call("deliver")])
    assert store.unused(before_ms) == goes
    assert store.drop_unused(before_ms) == goes
    assert store.count("r") == 1 - goes


async def test_agents_keep_and_ask_by_query(place: Place) -> None:
    queries = relation_queries(store_at(place))
    relation = msgspec.to_builtins(call("deliver"))
    assert await queries["memory.keep_relations"]({"repo": "r", "relations": [relation]}) == {"kept": 1}
    assert await queries["memory.relations"]({"repo": "r", "names": ["accept"]}) == {"relations": [relation]}
    assert await queries["memory.keep_relations"]({"repo": "r", "relations": []}) == {"kept": 0}
