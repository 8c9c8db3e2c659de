"""Disposable parts of the store, damaged while they are open: each call is answered all the same."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.database.sqlite_database import IN_MEMORY, SqliteDatabase
from runtime.database.store_part import AnyPart
from runtime.errors import StateStorageError
from runtime.memory.cache import CACHE, CacheStore
from runtime.memory.usage_log import USAGE, Use
from runtime.primitives.clock import SystemClock
from runtime.store.disposable_store import DisposableStore, Ways
from runtime.store.opening import Stores, open_store
from runtime.store.options import StoreOptions
from runtime.store.parts import PARTS


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_store(StoreOptions(str(tmp_path)), SystemClock())
    yield opened
    opened.close()


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def garbage(path: Path) -> None:
    path.write_bytes(b"garbage!" * 2_000)


def broken_pages(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


def replaced(path: Path) -> None:
    other = CacheStore(SqliteDatabase(path.with_name("other.sqlite")))
    other.put("other", b"value", 1)
    path.with_name("other.sqlite").rename(path)


@pytest.mark.parametrize("harm", [cut_to_nothing, garbage, broken_pages, replaced, Path.unlink])
def test_damage_during_operation_costs_the_content_and_no_call(
    stores: Stores, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    cache = stores.part(CACHE)
    for number in range(200):
        cache.put(f"key {number}", b"x" * 1_000, 1)
    path = tmp_path / "cache.sqlite"
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink()
    harm(path)
    for _ in range(2):
        cache.get("key 7", 2)
        cache.put("new", b"value", 3)
    assert cache.get("new", 4).value == b"value"  # type: ignore[union-attr]
    cache.unused(5)


@pytest.mark.parametrize("harm", [garbage, broken_pages])
def test_damaged_counts_of_callers_are_set_aside_and_begun_anew(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    now_ms = SystemClock().now_ms()
    uses = [Use(f"user {number}", "requests", now_ms, 1) for number in range(2_000)]
    for expected in (len(uses), 1):
        opened = open_store(StoreOptions(str(tmp_path)), SystemClock())
        usage = opened.part(USAGE)
        usage.add(uses if expected > 1 else uses[:1])
        assert len(usage.since(0)) == expected
        opened.close()
        if expected > 1:
            harm(tmp_path / "usage.sqlite")
    assert (tmp_path / "usage.sqlite.damaged").is_file()


class Refusing:
    """A store whose file fails every call."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.calls = 0

    def get(self) -> str:
        self.calls += 1
        raise StateStorageError("no", problem=self.problem)


class Working:
    def get(self) -> str:
        return "worked"


def cannot_be_moved(_reason: str) -> Any:
    raise PermissionError("immutable")


def test_what_can_be_neither_used_nor_moved_is_kept_in_memory() -> None:
    store = DisposableStore("cache", "its content", Ways(lambda: Refusing("damaged"), cannot_be_moved, Working))
    assert store.get() == "worked"


@pytest.mark.parametrize("problem", ["full", "away"])
def test_a_problem_that_passes_replaces_nothing(problem: str) -> None:
    refusing = Refusing(problem)
    store = DisposableStore("cache", "its content", Ways(lambda: refusing, cannot_be_moved, Working))
    with pytest.raises(StateStorageError):
        store.get()
    assert refusing.calls == 1


def never_moved(_reason: str) -> Any:
    raise AssertionError("a file that another process holds was moved")


def test_a_file_that_becomes_held_is_replaced_in_memory_without_waiting_again() -> None:
    refusing = Refusing("busy")
    opened: list[Refusing] = []

    def again() -> Refusing:
        opened.append(refusing)
        return refusing

    store = DisposableStore("cache", "its content", Ways(again, never_moved, Working))
    assert [store.get(), store.get()] == ["worked", "worked"]
    assert (len(opened), refusing.calls) == (1, 1)


def test_a_damaged_file_that_is_held_when_it_is_used_again_is_not_moved() -> None:
    refusals = iter([Refusing("damaged"), Refusing("busy")])
    store = DisposableStore("cache", "its content", Ways(lambda: next(refusals), never_moved, Working))
    assert store.get() == "worked"


def test_a_file_that_is_held_when_it_is_opened_is_replaced_in_memory(caplog: pytest.LogCaptureFixture) -> None:
    def held() -> Any:
        raise StateStorageError("another process holds it", problem="busy")

    store = DisposableStore("cache", "its content", Ways(held, never_moved, Working))
    assert [store.get(), store.get()] == ["worked", "worked"]
    assert [record.message for record in caplog.records] == ["store.in_memory"]


DISPOSABLE = [part for part in PARTS if part.is_disposable]


@pytest.mark.parametrize(
    "part", [pytest.param(part, id=part.name, marks=[pytest.mark.long] * (part is not USAGE)) for part in DISPOSABLE]
)
def test_whoever_holds_a_file_is_told_of_once_with_what_it_costs_and_what_to_do(
    tmp_path: Path, part: AnyPart, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / f"{part.database}.sqlite"
    database = SqliteDatabase(path)
    part.open(database, SystemClock())
    database.close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode=exclusive")
    holder.execute("BEGIN EXCLUSIVE")
    opened = open_store(StoreOptions(str(tmp_path)), SystemClock())
    opened.part(part)
    opened.close()
    holder.close()
    (record,) = [record for record in caplog.records if record.message == "store.in_memory"]
    assert record.levelname == "WARNING"
    told = vars(record)
    assert (told["part"], told["cost"]) == (part.name, part.cost_of_loss)
    assert str(path) in told["reason"]
    assert "start jeeves again" in told["cure"]


def test_usage_that_is_kept_in_memory_costs_the_quotas_their_past() -> None:
    assert "daily quotas" in USAGE.cost_of_loss


@pytest.mark.long
def test_a_cache_that_another_process_holds_stays_whole_and_costs_no_call(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    database = SqliteDatabase(path)
    CacheStore(database).put("kept", b"value", 1)
    database.close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode=exclusive")
    holder.execute("BEGIN EXCLUSIVE")
    opened = open_store(StoreOptions(str(tmp_path)), SystemClock())
    cache = opened.part(CACHE)
    cache.put("new", b"other", 2)
    assert cache.get("new", 3).value == b"other"  # type: ignore[union-attr]
    opened.close()
    holder.close()
    assert not list(tmp_path.glob("*.damaged"))
    assert CacheStore(SqliteDatabase(path)).get("kept", 4).value == b"value"  # type: ignore[union-attr]


def test_a_call_that_fails_on_a_new_file_too_is_an_error() -> None:
    store = DisposableStore(
        "cache",
        "its content",
        Ways(lambda: Refusing("invalid"), lambda _reason: Refusing("invalid"), lambda: Refusing("invalid")),
    )
    with pytest.raises(StateStorageError):
        store.get()


def test_a_store_in_memory_works() -> None:
    cache = CacheStore(SqliteDatabase(IN_MEMORY))
    cache.put("key", b"value", 1)
    assert cache.get("key", 2).value == b"value"  # type: ignore[union-attr]
