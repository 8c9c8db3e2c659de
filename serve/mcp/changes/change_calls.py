"""Carries calls of changes to where sessions are held: in this process or in the warm system.

Which one is chosen at the first call. A server that loses the warm system goes on by itself, from the same store, and
stays by itself: two processes must not hold one session. One whose own store is deleted or replaced says so once, and
opens the one that is there at the next call: what the lost one held is not told as if it were still kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

import msgspec

from actors.capabilities.code_change.session.calls import Answer, Call, ChangeCalls, name_of
from actors.capabilities.code_change.session.service import open_host
from actors.capabilities.code_change.session.session_host import RAISED
from actors.origin import code_version
from runtime.bus.queries import error_from_wire
from runtime.errors import ClusterError, StateStorageError
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings, open_state_dir
from runtime.store.opening import open_store
from runtime.store.options import store_options
from serve.runtimes.warm import WarmRecord, WarmRuntime, read_record, settings_digest
from serve.wiring import change_settings

log = logging.getLogger(__name__)


class OwnCalls:
    """Holds sessions in this process."""

    def __init__(self, settings: Settings) -> None:
        """Open the store. Raises StateStorageError."""
        open_state_dir(settings.state_dir)
        self._stores = open_store(store_options(settings), SystemClock())
        self._host = open_host(change_settings(settings), self._stores.part)

    async def call(self, call: Call) -> Answer:
        return await self._host.call(call)

    async def close(self) -> None:
        await self._host.close()
        self._stores.close()


class WarmCalls:
    """Sends calls to the sessions' host on the bus of the warm system."""

    def __init__(self, record: WarmRecord) -> None:
        self._runtime = WarmRuntime(record, record.code_version)

    async def call(self, call: Call) -> Answer:
        told = await self._runtime.query(name_of(call), msgspec.to_builtins(call))
        if RAISED in told:
            raise error_from_wire(told[RAISED])
        return told

    async def close(self) -> None:
        await self._runtime.close()


def warm_calls(settings: Settings) -> WarmCalls | None:
    """Return calls to the warm system; None if none is up, or one of other settings or another version."""
    record = None if settings.ray.mode == "in_process" else read_record(settings)
    if record is None or record.settings_digest != settings_digest(settings) or record.code_version != code_version():
        return None
    return WarmCalls(record)


class ChosenCalls:
    """Chooses where sessions are held when the first call comes."""

    def __init__(
        self,
        own: Callable[[], ChangeCalls],
        warm: Callable[[], ChangeCalls | None],
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        """Choose nothing yet. `on_lost`: called when the store of this process is lost, with all its sessions."""
        self._own = own
        self._on_lost = on_lost
        self._warm = warm
        self._chosen: ChangeCalls | None = None
        self._warm_calls: ChangeCalls | None = None
        self._lock = asyncio.Lock()
        self._lost: list[ChangeCalls] = []
        self._under_way: Counter[int] = Counter()

    async def call(self, call: Call) -> Answer:
        chosen = await self._choice()
        self._under_way[id(chosen)] += 1
        try:
            return await self._called(chosen, call)
        finally:
            await self._left(chosen)

    async def _called(self, chosen: ChangeCalls, call: Call) -> Answer:
        try:
            return await chosen.call(call)
        except ClusterError as error:
            # Calls that were under way together all lose the warm system, and only the first of them leaves it.
            if chosen is not self._warm_calls:
                raise
            log.warning("change.warm_system_lost", extra={"reason": error.message})
        except StateStorageError as error:
            if error.values.get("problem") != "lost" or chosen is self._warm_calls:
                raise
            log.warning("change.store_lost", extra={"reason": error.message})
            await self._let_go(chosen)
            if "mark" in error.values:  # the file alone is gone: it is refused until a copy is there
                raise
            told = "or go on without what it held: no session is under way now, and start_session begins one"
            raise StateStorageError(f"{error.message}; {told}", **error.values) from error
        return await (await self._own_instead(chosen)).call(call)

    async def close(self) -> None:
        for place in (*self._lost, *([self._chosen] if self._chosen is not None else [])):
            await place.close()

    async def _choice(self) -> ChangeCalls:
        async with self._lock:
            if self._chosen is not None:
                return self._chosen
            warm = await asyncio.to_thread(self._warm)
            self._warm_calls = warm
            chosen: ChangeCalls = await asyncio.to_thread(self._own) if warm is None else warm
            self._chosen = chosen
            return chosen

    async def _let_go(self, lost: ChangeCalls) -> None:
        async with self._lock:
            # Calls that were under way together all lose the store, and only the first of them lets it go.
            if self._chosen is lost:
                self._chosen = None
                self._lost.append(lost)
                self._on_lost()

    async def _left(self, place: ChangeCalls) -> None:
        """Close a lost store behind its last call: those under way have their own error to tell."""
        self._under_way[id(place)] -= 1
        if self._under_way[id(place)]:
            return
        del self._under_way[id(place)]
        if place in self._lost:
            self._lost.remove(place)
            await place.close()

    async def _own_instead(self, lost: ChangeCalls) -> ChangeCalls:
        async with self._lock:
            if self._chosen is not None and self._chosen is not lost:
                return self._chosen
            await lost.close()
            self._chosen = own = await asyncio.to_thread(self._own)
            return own
