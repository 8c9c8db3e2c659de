"""A system of actors in a process of its own, which a test kills: the argument is JSON, each answer a line of JSON.

`spec`: further fields of the system; `requests`: what is asked of it. It says the ids of the runs when the first stage
of each has started or asked a question, and then goes on until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from actors.addresses import shard_of
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.settings import RaySettings
from tests.conformance.hosts import PIPELINES, system_spec

LINE = PIPELINES[0]


class SystemProcess:
    """Starts the process, and kills it."""

    def __init__(self, state_dir: Path, requests: list[Request], **spec: Any) -> None:
        told = {"state_dir": str(state_dir), "spec": spec, "requests": msgspec.to_builtins(requests)}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.actors.system_process", json.dumps(told)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.run_ids: list[str] = json.loads(line)

    def kill(self) -> None:
        """End it as the kernel does when memory is short; its cluster ends with it."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.communicate()


async def submitted(system: Any, told: dict[str, Any]) -> list[RunId]:
    """Submit the requests, and the last one again until each shard has a run: their ids are random."""
    requests = [msgspec.convert(each, Request) for each in told["requests"]]
    shards = told["spec"].get("shards", 1)
    run_ids = [await system.submit(request) for request in requests]
    while requests and len({shard_of(run_id, shards) for run_id in run_ids}) < shards:
        run_ids.append(await system.submit(requests[-1]))
    return run_ids


async def keep(told: dict[str, Any]) -> None:
    from actors.system_actors import SystemSpec, start_system

    system = start_system(SystemSpec(**{**system_spec(Path(told["state_dir"]), (LINE,)), **told["spec"]}))
    await system.ready()
    run_ids = await submitted(system, told)
    for run_id in run_ids:
        async for event in system.watch(run_id):
            if event.type in ("stage.started", "interrupt.raised"):
                break
    sys.stdout.write(json.dumps(run_ids) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    from actors.cluster import start_local

    told = json.loads(sys.argv[1])
    with start_local(RaySettings(), Path(told["state_dir"])):
        asyncio.run(keep(told))


if __name__ == "__main__":
    main()
