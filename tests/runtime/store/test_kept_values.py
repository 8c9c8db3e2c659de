"""Sessions, cached results and client events, on every backend."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runtime.errors import InputError
from runtime.hosting.run_table import RunTable
from runtime.memory.cache import USE_NOTED_EVERY_MS, CacheStore
from runtime.memory.sessions import SessionStore, Turn
from runtime.primitives.clock import FakeClock
from runtime.primitives.hashing import content_hash
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.store.opening import open_run_log, open_store
from runtime.store.options import StoreOptions
from runtime.store.parts import all_parts
from runtime.supervision.commands import RunStage
from runtime.supervision.events import StageSucceeded
from runtime.supervision.replay import client_events_of
from runtime.testing import PipelineBuilder
from serve.contributions import store_parts
from tests.runtime.store.conftest import LogOpener, Place


def turn(number: int) -> Turn:
    return Turn(f"question {number}?", "answer", number)


def test_the_newest_turns_of_a_session_come_back_oldest_first(place: Place) -> None:
    store = SessionStore(place.open())
    for number in range(7):
        store.append("s", turn(number))
    store.append("other", turn(99))
    again = SessionStore(place.open())
    assert again.turns("s") == [turn(number) for number in range(2, 7)]
    assert again.turns("s", 1) == [turn(6)]
    assert again.turns("new") == []
    with pytest.raises(InputError):
        again.append("", turn(1))


def append_all(store: SessionStore, numbers: range) -> None:
    for number in numbers:
        store.append("s", turn(number))


def test_turns_that_are_appended_at_once_are_all_kept(place: Place) -> None:
    stores = [SessionStore(place.open()) for _ in range(3)]
    threads = [
        threading.Thread(target=append_all, args=(store, range(20 * number, 20 * number + 20)))
        for number, store in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores[0].turns("s", 100)) == 60


def test_a_turn_that_is_appended_twice_in_a_row_is_kept_once(place: Place) -> None:
    store = SessionStore(place.open())
    for number in (1, 1, 2, 1):
        store.append("s", turn(number))
    assert store.turns("s") == [turn(1), turn(2), turn(1)]


def test_a_cached_result_is_found_until_it_is_long_unused(place: Place) -> None:
    cache = CacheStore(place.open())
    cache.put("k", b"old", 0)
    put = cache.put("k", b"new", 0)
    assert cache.get("k", 1) == put
    assert (put.value, put.content_hash) == (b"new", content_hash(b"new"))
    assert cache.get("none", 1) is None
    cache.get("k", USE_NOTED_EVERY_MS - 1)
    cache.put("other", b"", 1)
    assert cache.get("k", USE_NOTED_EVERY_MS) == put
    assert cache.drop_unused(USE_NOTED_EVERY_MS) == 1
    assert cache.get("k", USE_NOTED_EVERY_MS) == put
    assert cache.drop_unused(USE_NOTED_EVERY_MS + 1) == 1


def test_a_damaged_result_is_a_miss(place: Place) -> None:
    cache = CacheStore(place.open())
    cache.put("k", b"x", 0)
    with place.open().transaction("spoil it") as changes:
        changes.execute("UPDATE cache SET body = ?", (b"y",))
    assert cache.get("k", 1) is None


def test_client_events_are_read_from_the_log_as_they_were_seen(open_log: LogOpener) -> None:
    pipeline = PipelineBuilder().stage("a", default_next="b").stage("b").build()
    runs = RunTable({"sample": pipeline}, open_log(), FakeClock())
    run_id, commands = runs.submit(Request("sample", "?"), RunId("r-1"))
    for _ in range(2):
        (stage,) = [command for command in commands if isinstance(command, RunStage)]
        commands = runs.handle(run_id, StageSucceeded(stage.key, {"x": 1}))
    seen = runs.client_events(run_id)
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert list(client_events_of(pipeline, open_log().events(run_id))) == seen


def test_everything_is_opened_where_the_options_say(place: Place, tmp_path: Path) -> None:
    dsn = "" if place.server is None else place.server.dsn
    prefix = place.schema
    options = StoreOptions(str(tmp_path / "state"), place.backend, dsn, "normal", prefix)  # type: ignore[arg-type]
    stores = open_store(options, FakeClock())
    parts = [stores.part(part) for part in all_parts(store_parts()) if not part.is_family]
    log = open_run_log(options, "supervisor-0")
    log.close()
    stores.close()
    assert len(parts) == 12
    assert "open sesame" not in repr(options)
    if place.server is None:
        found = sorted(str(path.relative_to(tmp_path / "state")) for path in (tmp_path / "state").rglob("*.sqlite"))
        names = [
            "cache.sqlite",
            "code_changes.sqlite",
            "journal.sqlite",
            "queues.sqlite",
            "relations.sqlite",
            "run_metrics.sqlite",
            "sessions.sqlite",
        ]
        names += ["tokens.sqlite", "tool_metrics.sqlite", "usage.sqlite"]
        assert found == sorted([*names, "runs/supervisor-0.sqlite"])
        return
    with place.open().transaction("look, and drop them") as changes:
        schemas = [
            row[0] for row in changes.rows("SELECT nspname FROM pg_namespace WHERE nspname LIKE ?", (f"{prefix}_%",))
        ]
        for schema in schemas:
            changes.execute(f'DROP SCHEMA "{schema}" CASCADE')
    names = ["cache", "code_changes", "journal", "queues", "relations", "run_metrics", "runs_supervisor_0"]
    names += ["sessions", "tokens", "tool_metrics", "usage"]
    assert sorted(schemas) == [f"{prefix}_{name}" for name in names]
