"""Sites of other kinds: on a small disk, on a PostgreSQL server, and in one process under a clock that jumps."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

from runtime.agents.capability import load_capability
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import journal_queries
from runtime.errors import StateStorageError
from runtime.hosting.local_runner import LocalRunner
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse
from runtime.store.opening import open_run_log
from runtime.store.options import StoreOptions
from runtime.supervision.commands import ClientEvent
from tests.conformance.hosts import SAMPLE
from tests.faults.fault_rounds import Round
from tests.faults.fault_site import KEEPER, Site, kill, until
from tests.postgres_server import MISSING, PostgresServer, binaries

DISK_MIB = 24  # three write-ahead logs of 4 MB each, and room
DOWN_S = 2.0
LONG_DOWN_S = 75.0
STEPS_S = (3_600.0, -3_600.0, 86_400.0, -86_400.0)


class CannotStrike(Exception):
    """The fault cannot be made on this machine; says what it would take."""


class SmallDiskSite(Site):
    """Keeps its runs on a disk of a few megabytes, in memory."""

    def __init__(self, folder: Path) -> None:
        self._disk = folder / "disk"
        self._disk.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, StoreOptions(str(self._disk)))

    def __enter__(self) -> Self:
        mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(self._disk)]
        done = subprocess.run(mounting, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotStrike(f"a small disk cannot be mounted: {done.stderr.strip()}; run as root")
        try:
            return super().__enter__()
        except BaseException:
            self._unmount()
            raise

    def __exit__(self, *about: object) -> None:
        try:
            super().__exit__(*about)
        finally:
            self._unmount()

    def _unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self._disk)], check=True)


class PostgresSite(Site):
    """Keeps its runs on a PostgreSQL server of its own."""

    def __init__(self, folder: Path) -> None:
        found = binaries()
        if found is None:
            raise CannotStrike(MISSING)
        self.server = PostgresServer(found)
        super().__init__(folder, StoreOptions(str(folder), "postgres", self.server.dsn))

    def __exit__(self, *about: object) -> None:
        try:
            super().__exit__(*about)
        finally:
            self.server.close()


async def postgres_restarted(around: Round) -> None:
    """The server of the run log is stopped, or killed, once with the supervisor, and is back two seconds later."""
    await _postgres_down(around, DOWN_S)


async def postgres_away(around: Round) -> None:
    """The same, and the server is back after more than a minute."""
    await _postgres_down(around, LONG_DOWN_S)


async def _postgres_down(around: Round, down_s: float) -> None:
    site = around.site
    assert isinstance(site, PostgresSite)
    around.struck()
    await asyncio.to_thread(site.server.kill if around.number % 2 else site.server.stop)
    around.place.open_gate()

    async def refused() -> bool:
        try:
            await around.add("line")
        except StateStorageError:
            return True
        return False

    await until(refused, "a server that is down refuses nobody")
    around.detected()
    if around.number % 4 == 3:
        kill([await site.pid("supervisor")])
    await asyncio.sleep(down_s)
    around.struck()
    await asyncio.to_thread(site.server.start)
    await around.probe()


class JumpingClock(SystemClock):
    """The machine's clock, put forward or back by `offset_s`; what goes by between two instants stays the same."""

    def __init__(self) -> None:
        self.offset_s = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + round(self.offset_s * 1000)


class _LocalSystem:
    """A local runner with the calls that rounds make of a system."""

    def __init__(self, runner: LocalRunner) -> None:
        self._runner = runner
        self.submit = runner.submit

    def watch(self, run_id: RunId) -> AsyncIterator[ClientEvent]:
        return self._runner.watch(run_id)

    async def envelope(self, run_id: RunId) -> Envelope:
        return self._runner.envelope(run_id)

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        await self._runner.answer(run_id, interrupt_id, user_id, response)


class LocalSite(Site):
    """Runs in this process, under a clock that can be made to jump."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.clock = JumpingClock()

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    async def up(self) -> None:
        capability, queries = load_capability(SAMPLE), LocalQueries()
        queries.register(journal_queries(MemoryJournal()))
        agents: dict[str, dict[str, Any]] = {
            pipeline.name: {
                config.name: Agent(config, capability, "rules", {}, self.clock, queries) for config in pipeline.agents
            }
            for pipeline in self.pipelines
        }
        self._log = open_run_log(self.store, f"{KEEPER}-0")
        configs = {pipeline.name: pipeline for pipeline in self.pipelines}
        self.system = _LocalSystem(LocalRunner(configs, agents, self._log, self.clock))


async def clock_stepped(around: Round) -> None:
    """The wall clock jumps by an hour or a day, forward or back, while runs are in flight."""
    site = around.site
    assert isinstance(site, LocalSite)
    around.struck()
    site.clock.offset_s += STEPS_S[around.number % len(STEPS_S)]
    await around.probe()
    around.detected()
