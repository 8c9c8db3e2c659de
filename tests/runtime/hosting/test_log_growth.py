"""What a run leaves on the disk: what changed in each hop, and never the state that it led to."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from runtime.store.run_log import SqliteRunLog
from runtime.testing import PipelineBuilder, ScriptedRunner

HOPS = 20
BYTES_PER_OUTPUT = 2_000
MOST_TIMES = 2.0


async def test_a_run_takes_no_more_than_twice_the_bytes_that_its_hops_changed(tmp_path: Path) -> None:
    builder = PipelineBuilder("line", max_agent_hops=HOPS)
    names = [f"s{number}" for number in range(HOPS)]
    for name, after in zip(names, [*names[1:], "end"], strict=True):
        builder.stage(name, default_next=after)
    # All outputs are kept, so that a record of the whole state would grow with every hop.
    outputs = {name: {"found": os.urandom(BYTES_PER_OUTPUT // 2).hex()} for name in names}
    path = tmp_path / "runs.sqlite"
    log = SqliteRunLog(path)
    log.close()
    empty = path.stat().st_size
    kit = ScriptedRunner(builder.build(), {name: [outputs[name]] for name in names}, log=SqliteRunLog(path))
    envelope = await kit.run("what is it?")
    assert (envelope.usage.agent_hops, envelope.outputs) == (HOPS, outputs)
    kit.log.close()  # leaves nothing beside the file
    grown = path.stat().st_size - empty
    changed = sum(len(msgspec.json.encode(output)) for output in outputs.values())
    assert grown <= MOST_TIMES * changed, f"{grown / changed:.2f} times"
