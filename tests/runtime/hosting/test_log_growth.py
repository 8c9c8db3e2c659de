"""What a run leaves on the disk: what changed in each hop, and never the state that it led to.

The bytes that changed are those of what the events say, encoded: their payloads. SQLite keeps rows in pages of 4 KiB: a
row of a little more than half of one has a page to itself, and so takes almost twice its size. Rows of other sizes, and
all sizes together, stay well below; where a hop says next to nothing, keys and rows weigh as much as what is said.
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
from runtime.testing import PipelineBuilder, ScriptedRunner

HOPS = 20
RUNS = 20
MOST_TIMES = 2.0


def line() -> PipelineConfig:
    names = [f"s{number}" for number in range(HOPS)]
    builder = PipelineBuilder("line", max_agent_hops=HOPS)
    for name, after in zip(names, [*names[1:], "end"], strict=True):
        builder.stage(name, default_next=after)
    return builder.build()


async def said_after(path: Path, outputs: dict[str, dict[str, Any]], runs: int) -> int:
    """The bytes of what all events of the log say, after so many more runs."""
    kit = ScriptedRunner(line(), {name: [output] for name, output in outputs.items()}, log=SqliteRunLog(path, "normal"))
    for _ in range(runs):
        envelope = await kit.run("what is it?")
        assert (envelope.usage.agent_hops, envelope.outputs) == (HOPS, outputs)
    events = [event for run in kit.log.runs(RUNS * 2) for event in kit.log.events(run.run_id)]
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
    said_before = asyncio.run(said_after(path, outputs, 1))  # brings tables and the rules
    size_before = path.stat().st_size
    said = asyncio.run(said_after(path, outputs, RUNS)) - said_before
    times = (path.stat().st_size - size_before) / said
    assert times <= MOST_TIMES, f"{times:.2f} times"
