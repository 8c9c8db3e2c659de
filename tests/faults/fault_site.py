"""A cluster with a system that keeps its runs, and the means to hurt it: whose process is whose, and who lives."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Self

import msgspec

from runtime.pipeline.config import PipelineConfig
from runtime.settings import RaySettings
from runtime.store.opening import open_run_log
from runtime.store.options import StoreOptions
from runtime.store.run_log import SqlRunLog
from tests.conformance.hosts import system_spec
from tests.faults.fault_runs import fan_pipeline, steps_pipeline

KEEPER = "faults"
PATIENCE_S = 60.0
POLL_S = 0.02
SERVICES = ("supervisor", "bus", "index", "store")


class Site:
    """The system under fault; a context manager. `store`: where it keeps its runs, in its folder without it."""

    def __init__(
        self, folder: Path, store: StoreOptions | None = None, pipelines: tuple[PipelineConfig, ...] | None = None
    ) -> None:
        self.folder = folder
        self.store = store or StoreOptions(str(folder))
        self.pipelines = pipelines or (steps_pipeline(), fan_pipeline())
        self.system: Any = None
        self.cluster: Any = None

    def __enter__(self) -> Self:
        from actors.cluster import start_local

        self.cluster = start_local(RaySettings(), self.folder)
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.shutdown()

    async def up(self) -> None:
        """Start the system and return when everybody is there."""
        from actors.system_actors import SystemSpec, start_system

        told = {**system_spec(self.folder, self.pipelines), "keeper": KEEPER}
        self.system = start_system(SystemSpec(**told, store=msgspec.to_builtins(self.store)))
        await self.system.ready()
        await self.settled()

    @property
    def agents(self) -> tuple[str, ...]:
        """Where the agents of all stages are."""
        return tuple(f"agent:{pipeline.name}.{stage.name}" for pipeline in self.pipelines for stage in pipeline.agents)

    def open_log(self) -> SqlRunLog:
        """The run log as the disk has it, beside its owner."""
        return open_run_log(self.store, f"{KEEPER}-0")

    async def pid(self, name: str) -> int:
        """The process of an actor. Raises RayError while it has none."""
        pid: int = await actor(name).__ray_call__.remote(lambda _: os.getpid())
        return pid

    async def noticed(self, name: str, pid: int, patience_s: float = PATIENCE_S) -> None:
        """Return when the cluster knows that `pid` is not the process of an actor any more."""
        from ray._private.state import actors

        actor_id = actor(name)._actor_id.hex()

        async def gone() -> bool:
            row = actors(actor_id)
            return bool(row["State"] != "ALIVE" or row["Pid"] != pid)

        await until(gone, f"nobody noticed what happened to {name}", patience_s)

    async def another(self, name: str, pid: int) -> int:
        """The process that follows `pid`, once it answers."""

        async def new() -> int | None:
            now = await answer_of(lambda: self.pid(name))
            return now if now != pid else None

        found: int = await until(new, f"{name} is not replaced")
        return found

    async def settled(self) -> None:
        """Return when the bus knows every endpoint."""
        wanted = {*SERVICES, *self.agents} - {"bus"}

        async def missing() -> bool:
            stats = await answer_of(self.system.bus_stats)
            endpoints = (stats or {}).get("endpoints", {})
            return all(endpoints.get(name) == "connected" for name in wanted)

        await until(missing, "not everybody is connected to the bus")


def actor(name: str) -> Any:
    """The handle of a named actor."""
    import ray

    return ray.get_actor(name, namespace="jeeves")


async def answer_of(call: Callable[[], Awaitable[Any]], within_s: float = 1.0) -> Any:
    """What a call gives; None when its actor is away, or does not answer in time."""
    from ray.exceptions import RayError

    from runtime.errors import ClusterError

    try:
        return await asyncio.wait_for(asyncio.ensure_future(_awaited(call)), within_s)
    except (RayError, ClusterError, TimeoutError, ValueError):
        return None  # away or late, as the docstring says


async def _awaited(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


async def until(
    look: Callable[[], Awaitable[Any]], else_: str, patience_s: float = PATIENCE_S, poll_s: float = POLL_S
) -> Any:
    """What `look` gives once it gives something. Raises AssertionError with the words of `else_`."""
    gives_up_s = time.monotonic() + patience_s
    while not (found := await look()):
        assert time.monotonic() < gives_up_s, f"{else_} after {patience_s:g} s"
        await asyncio.sleep(poll_s)
    return found


def kill(pids: Iterable[int]) -> None:
    """End processes as the kernel does when memory is short."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def go_on(pid: int) -> None:
    """Let a stopped process go on, if it is still there."""
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return
