"""Finds out whether all that a request needs answers, within a bounded time."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from runtime.errors import JeevesError
from runtime.primitives.clock import SystemClock
from runtime.store.opening import listed_log_name, open_run_log, run_log_names
from runtime.store.options import StoreOptions
from serve.http.answering.answering_runs import RunSystem

CHECK_TIMEOUT_S = 3.0
MAX_NAMED = 5


class Readiness:
    """Asks the parts of a system. `keeper`: the name of the run logs that its supervisors own."""

    def __init__(self, runs: RunSystem, store: StoreOptions, keeper: str, timeout_s: float = CHECK_TIMEOUT_S) -> None:
        self._runs = runs
        self._store = store
        self._keeper = keeper
        self._timeout_s = timeout_s
        self._reading: asyncio.Future[None] | None = None
        self.runs_under_way = 0

    async def faults(self) -> dict[str, str]:
        """Return what is wrong with which part: supervisor, bus, endpoints, store; empty if all answer."""
        checks = {"supervisor": self._supervisor(), "bus": self._bus(), "store": self._stored()}
        found = await asyncio.gather(*(self._fault(check) for check in checks.values()))
        return {part: fault for part, fault in zip(checks, found, strict=True) if fault}

    async def _fault(self, check: Any) -> str:
        try:
            async with asyncio.timeout(self._timeout_s):
                await check
        except JeevesError as error:
            return error.message
        except TimeoutError:
            return f"no answer within {self._timeout_s:g} s"
        return ""

    async def _supervisor(self) -> None:
        self.runs_under_way = await self._runs.running()

    async def _bus(self) -> None:
        """Raise JeevesError unless every endpoint is connected: agents, index and store are."""
        endpoints: dict[str, str] = (await self._runs.bus_stats())["endpoints"]
        away = sorted(address for address, presence in endpoints.items() if presence != "connected")
        if away:
            told = ", ".join(away[:MAX_NAMED]) + (f" and {len(away) - MAX_NAMED} more" if len(away) > MAX_NAMED else "")
            states = ", ".join(f"{number} {state}" for state, number in Counter(endpoints.values()).items())
            raise JeevesError(f"not connected: {told} ({states})")

    async def _stored(self) -> None:
        """Raise JeevesError unless a run log can be read, and its owner still writes. One thread reads at a time."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(asyncio.to_thread(check_store, self._store, self._keeper))
        await asyncio.shield(self._reading)


def check_store(store: StoreOptions, keeper: str) -> None:
    """Raise JeevesError unless a run log of `keeper` can be read and has a lease that its owner renews."""
    now_ms = SystemClock().now_ms()
    prefix = listed_log_name(store, f"{keeper}-")
    names = [name for name in run_log_names(store) if name.startswith(prefix)]
    for name in names:
        log = open_run_log(store, name, readonly=True)
        try:
            if log.lease(now_ms) is not None:
                return
        finally:
            log.close()
    told = f"nobody renews the lease of {', '.join(names[:MAX_NAMED])}" if names else f"there is no run log {keeper}-0"
    raise JeevesError(f"{told}: the supervisor does not write")
