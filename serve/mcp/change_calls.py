"""Carries calls of changes to where sessions are held: in this process or in the warm system.

Which one is chosen at the first call. A server that loses the warm system goes on by itself, from the same store, and
stays by itself: two processes must not hold one session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from actors.capabilities.code_change.session.calls import Answer, Call, ChangeCalls
from actors.capabilities.code_change.session.consent import Consent
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.session_host import MemoryLimits, SessionHost
from actors.capabilities.code_change.store.session_store import CODE_CHANGES
from runtime.contracts.loading import load_contract
from runtime.errors import ClusterError
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings, open_state_dir
from runtime.store.opening import open_store
from runtime.store.options import store_options

SHIPPED = Path(__file__).resolve().parents[2] / "configs" / "contracts" / "code_change.yaml"
WORK_TREES = "work_trees"

log = logging.getLogger(__name__)


class OwnCalls:
    """Holds sessions in this process."""

    def __init__(self, settings: Settings, is_alive: Callable[[str], bool]) -> None:
        """Open the store. Raises StateStorageError."""
        clock = SystemClock()
        open_state_dir(settings.state_dir)
        self._stores = open_store(store_options(settings), clock)
        ports = Ports(self._stores.part(CODE_CHANGES), clock, settings.state_dir / WORK_TREES, "", is_alive)
        limits = MemoryLimits(settings.code_change.sessions_in_memory, settings.code_change.session_idle_s)
        self._host = SessionHost(load_contract(SHIPPED), Consent(settings.state_dir), ports, limits)

    async def call(self, call: Call) -> Answer:
        return await self._host.call(call)

    async def close(self) -> None:
        await self._host.close()
        self._stores.close()


class ChosenCalls:
    """Chooses where sessions are held when the first call comes."""

    def __init__(self, own: Callable[[], ChangeCalls], warm: Callable[[], ChangeCalls | None]) -> None:
        self._own = own
        self._warm = warm
        self._chosen: ChangeCalls | None = None
        self._is_warm = False
        self._lock = asyncio.Lock()

    async def call(self, call: Call) -> Answer:
        chosen = await self._choice()
        try:
            return await chosen.call(call)
        except ClusterError as error:
            if not self._is_warm:
                raise
            log.warning("change.warm_system_lost", extra={"reason": error.message})
        return await (await self._own_instead(chosen)).call(call)

    async def close(self) -> None:
        if self._chosen is not None:
            await self._chosen.close()

    async def _choice(self) -> ChangeCalls:
        async with self._lock:
            if self._chosen is not None:
                return self._chosen
            warm = await asyncio.to_thread(self._warm)
            self._is_warm = warm is not None
            chosen: ChangeCalls = await asyncio.to_thread(self._own) if warm is None else warm
            self._chosen = chosen
            return chosen

    async def _own_instead(self, lost: ChangeCalls) -> ChangeCalls:
        async with self._lock:
            if self._chosen is not None and self._chosen is not lost:
                return self._chosen
            await lost.close()
            self._is_warm = False
            self._chosen = own = await asyncio.to_thread(self._own)
            return own
