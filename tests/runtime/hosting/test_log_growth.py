"""What a run leaves on the disk: what changed in each hop, and never the state that it led to.

The bytes that changed are those of what the events say, encoded: their payloads. SQLite keeps rows in pages of 4 KiB: a
row of a little more than half of one has a page to itself, and so takes almost twice its size. Rows of other sizes, and
all sizes together, stay well below; where a hop says next to nothing, keys and rows weigh as much as what is said. On
PostgreSQL, rows and index entries are larger, and pages have 8 KiB.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.pipeline.config import PipelineConfig
from runtime.store.run_log import SqliteRunLog
from runtime.store.sql_run_log import SqlRunLog
from runtime.testing import PipelineBuilder, ScriptedRunner
from tests.postgres_server import PostgresServer
from tests.runtime.store.conftest import Place

HOPS = 20
RUNS = 20
POSTGRES_RUNS = 60
MOST_TIMES = 2.0


def line() -> PipelineConfig:
    names = [f"s{number}" for number in range(HOPS)]
    builder = PipelineBuilder("line", max_agent_hops=HOPS)
    for name, after in zip(names, [*names[1:], "end"], strict=True):
        builder.stage(name, default_next=after)
    return builder.build()


async def said_after(log: SqlRunLog, outputs: dict[str, dict[str, Any]], runs: int) -> int:
    """The bytes of what all events of the log say, after so many more runs."""
    kit = ScriptedRunner(line(), {name: [output] for name, output in outputs.items()}, log=log)
    for _ in range(runs):
        envelope = await kit.run("what is it?")
        assert (envelope.usage.agent_hops, envelope.outputs) == (HOPS, outputs)
    events = [event for run in kit.log.runs(2 * POSTGRES_RUNS) for event in kit.log.events(run.run_id)]
    kit.log.close()  # leaves nothing beside the file
    return sum(len(msgspec.msgpack.encode(event.payload)) for event in events)


@pytest.mark.long
@pytest.mark.parametrize(
    "sizes", [(10,), (100,), (900,), (1_200,), (2_000,), (4_000,), (20_000,), (2_000, 5_000, 10_000, 20_000)]
)
def test_a_run_takes_no_more_than_twice_the_bytes_that_its_hops_changed(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    # All outputs are kept, so that a record of the whole state would grow with every hop.
    sized = zip(line().stages, itertools.cycle(sizes), strict=False)
    outputs = {str(name): {"found": os.urandom(size // 2).hex()} for name, size in sized}
    path = tmp_path / "runs.sqlite"
    # The first run brings tables and the rules.
    said_before = asyncio.run(said_after(SqliteRunLog(path, "normal"), outputs, 1))
    size_before = path.stat().st_size
    said = asyncio.run(said_after(SqliteRunLog(path, "normal"), outputs, RUNS)) - said_before
    times = (path.stat().st_size - size_before) / said
    assert times <= MOST_TIMES, f"{times:.2f} times"


@pytest.mark.long
@pytest.mark.parametrize("size", [10, 100, 900, 2_000])
def test_so_it_does_on_a_postgresql_server(postgres: PostgresServer, tmp_path: Path, size: int) -> None:
    outputs = {str(name): {"found": os.urandom(size // 2).hex()} for name in line().stages}
    place = Place("postgres", tmp_path, postgres)
    said_before = asyncio.run(said_after(SqlRunLog(place.open()), outputs, 1))
    size_before = _bytes_of(place)
    said = asyncio.run(said_after(SqlRunLog(place.open()), outputs, POSTGRES_RUNS)) - said_before
    times = (_bytes_of(place) - size_before) / said
    place.close()
    assert times <= MOST_TIMES, f"{times:.2f} times"


def _bytes_of(place: Place) -> int:
    """The pages of all tables and indexes of a schema."""
    with place.open().read() as queries:
        sizes = queries.rows(
            "SELECT sum(pg_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relkind IN ('r', 'i', 't')",
            (place.schema,),
        )
    return int(sizes[0][0])
