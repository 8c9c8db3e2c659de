"""What a run leaves on the disk: what changed in each hop, and never the state that it led to.

SQLite keeps rows in pages of 4 KiB: a row of a little more than half of one has a page to itself, and so takes slightly
more than twice its size. Rows of other sizes, and all sizes together, stay below. A hop has some 800 bytes of its own
(two events with their keys): one that gives less than that takes more than twice what it gave.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import msgspec
import pytest

from runtime.store.run_log import SqliteRunLog
from runtime.testing import PipelineBuilder, ScriptedRunner

HOPS = 20
MOST_TIMES = 2.0


@pytest.mark.parametrize("sizes", [(900,), (1_200,), (4_000,), (20_000,), (600, 1_200, 2_000, 4_000, 20_000)])
async def test_a_run_takes_no_more_than_twice_the_bytes_that_its_hops_changed(
    tmp_path: Path, sizes: tuple[int, ...]
) -> None:
    builder = PipelineBuilder("line", max_agent_hops=HOPS)
    names = [f"s{number}" for number in range(HOPS)]
    for name, after in zip(names, [*names[1:], "end"], strict=True):
        builder.stage(name, default_next=after)
    # All outputs are kept, so that a record of the whole state would grow with every hop.
    sized = zip(names, itertools.cycle(sizes), strict=False)
    outputs = {name: {"found": os.urandom(size // 2).hex()} for name, size in sized}
    path = tmp_path / "runs.sqlite"
    log = SqliteRunLog(path)
    log.close()
    empty = path.stat().st_size
    kit = ScriptedRunner(builder.build(), {name: [outputs[name]] for name in names}, log=SqliteRunLog(path))
    envelope = await kit.run("what is it?")
    assert (envelope.usage.agent_hops, envelope.outputs) == (HOPS, outputs)
    kit.log.close()  # leaves nothing beside the file
    grown = path.stat().st_size - empty
    changed = sum(len(msgspec.json.encode(part)) for part in (*outputs.values(), *envelope.history))
    assert grown <= MOST_TIMES * changed, f"{grown / changed:.2f} times"
