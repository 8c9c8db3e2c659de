"""Each part of the store is declared once: what it answers, what it forgets, and where it lives follow from that."""

from __future__ import annotations

import shutil
import typing
from pathlib import Path

import msgspec
import pytest

from runtime.database.database import Backend
from runtime.database.sqlite_database import SqliteDatabase
from runtime.database.store_part import AnyPart
from runtime.errors import DuplicateHandlerError, SettingsError
from runtime.memory.cache import CACHE
from runtime.memory.sessions import SESSIONS
from runtime.primitives.clock import FakeClock
from runtime.settings import StoreSettings
from runtime.store.backends.backend_registry import BACKENDS
from runtime.store.opening import databases_of, open_run_log, open_store, part_state, store_queries
from runtime.store.options import StoreOptions
from runtime.store.parts import PARTS, all_parts
from runtime.store.run_log_part import RUN_LOGS
from serve.contributions import store_parts

EVERY = all_parts(store_parts())
CORPUS = Path(__file__).resolve().parents[2] / "corpus"


@pytest.mark.parametrize("part", EVERY, ids=lambda part: part.name)
def test_a_part_answers_the_queries_that_it_declares_and_brings_its_schema(part: AnyPart, tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "part.sqlite", "normal")
    opened = part.open(database, FakeClock())
    assert part.schema.version_in(database) == len(part.schema.migrations)
    assert tuple(part.handlers(opened) if part.handlers else ()) == part.queries
    database.close()


def test_parts_have_databases_and_queries_of_their_own() -> None:
    queries = [query for part in EVERY for query in part.queries]
    assert len(queries) == len(set(queries))
    own = [part.name for part in EVERY if part.shares is None]
    assert sorted(own) == [
        "cache",
        "code_changes",
        "journal",
        "queues",
        "relations",
        "run_metrics",
        "runs",
        "sessions",
        "tokens",
        "tool_metrics",
        "usage",
    ]
    assert {part.shares for part in EVERY} - {None} <= set(own)


def test_parts_that_answer_nothing_are_not_opened(tmp_path: Path) -> None:
    stores = open_store(StoreOptions(str(tmp_path), durability="normal"), FakeClock())
    assert list(store_queries((RUN_LOGS, CACHE, SESSIONS), stores.part)) == list(SESSIONS.queries)
    assert [path.name for path in tmp_path.glob("*.sqlite")] == ["sessions.sqlite"]
    with pytest.raises(DuplicateHandlerError, match="two parts of the store answer"):
        store_queries((SESSIONS, SESSIONS), stores.part)
    stores.close()


def test_what_is_contributed_is_found_by_its_name_or_told() -> None:
    assert all_parts() == PARTS
    for spec, told in (
        ("runtime.nowhere:PART", "part of the store 'runtime.nowhere:PART' cannot be loaded"),
        ("runtime.memory.cache:NOBODY", "has no attribute 'NOBODY'"),
        ("runtime.memory.cache:SCHEMA", "is a Schema, not a StorePart"),
        ("runtime.memory.cache:CACHE", "two parts of the store are named cache"),
    ):
        with pytest.raises(SettingsError, match=told):
            all_parts((spec,))


def test_the_databases_of_a_part_are_those_that_are_there(tmp_path: Path) -> None:
    options = StoreOptions(str(tmp_path), durability="normal")
    assert [name for part in EVERY for name in databases_of(options, part)] == []
    for name in ("local", "service-0"):
        open_run_log(options, name).close()
    stores = open_store(options, FakeClock())
    stores.part(CACHE)
    stores.close()
    assert databases_of(options, RUN_LOGS) == ["runs/local", "runs/service-0"]
    assert databases_of(options, CACHE) == ["cache"]


def test_the_state_of_a_part_tells_which_schemas_would_be_migrated_and_migrates_none(tmp_path: Path) -> None:
    options = StoreOptions(str(tmp_path), durability="normal")
    assert (part_state(options, RUN_LOGS), part_state(options, CACHE)) == ("0 databases", "not made yet")
    open_run_log(options, "local").close()
    newest = len(RUN_LOGS.schema.migrations)
    assert part_state(options, RUN_LOGS) == f"1 database, schema {newest} of {newest}"
    shutil.copy(CORPUS / "2026_11_schema_2" / "schema_3.sqlite", tmp_path / "runs" / "old.sqlite")
    before = (tmp_path / "runs" / "old.sqlite").read_bytes()
    assert part_state(options, RUN_LOGS) == f"2 databases, schema 5, {newest} of {newest}"
    assert (tmp_path / "runs" / "old.sqlite").read_bytes() == before


def test_the_settings_and_the_registry_know_the_same_backends() -> None:
    assert tuple(BACKENDS) == typing.get_args(Backend)
    assert typing.get_args(StoreSettings.model_fields["backend"].annotation) == typing.get_args(Backend)


def test_options_travel_as_plain_data() -> None:
    options = StoreOptions("/f", "postgres", "postgresql://x", "normal", "s")
    assert msgspec.convert(msgspec.to_builtins(options), StoreOptions) == options
