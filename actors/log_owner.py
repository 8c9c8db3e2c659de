"""Acquires a run log by lease, renews the lease, and releases it at an orderly shutdown."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

from runtime.errors import OwnedError
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address
from runtime.store.opening import listed_log_name, open_run_log, run_log_names
from runtime.store.options import StoreOptions
from runtime.store.run_log import SqlRunLog

LEASE_MS = 5_000

# An owner writes on the event loop that answers heartbeats, so no call may take as long as a lease.
PATIENCE_S = 2.5


def holder_name(address: Address, system_id: str) -> str:
    """Return the name under which a supervisor of a system holds leases."""
    return f"{address} of system {system_id}"


def never_wait(_delay_s: float) -> None:
    """Do not wait for the lease of another owner: for owners that look again later."""


class LogOwner:
    """Owns the first log of `names` that has no other owner.

    `log_name` is the name of that log as the store lists it, `unowned_since_ms` the end of the lease before; 0 if there
    was none.

    A supervisor that restarts after its process died need not wait for its own lease to expire. With a single name,
    another owner's lease is waited for, once: that owner may have died with its machine. Raises OwnedError if every log
    has a live owner, and StateStorageError.
    """

    def __init__(
        self,
        address: Address,
        system_id: str,
        store: StoreOptions,
        names: Sequence[str],
        clock: Clock,
        wait_s: Callable[[float], None] = time.sleep,
        follows: bool = False,
        prefers_clean: bool = False,
    ) -> None:
        """Acquire a log. `wait_s` may block: an owner acquires its log before anything else runs in its process.

        `follows`: this owner had a log before its process died, and takes it again. `prefers_clean`: for an owner that
        leaves alone what others did not finish; its lease would keep these runs from being adopted.
        """
        self._wait_s = wait_s
        self._prefers_clean = prefers_clean and not follows
        self.name = holder_name(address, system_id)
        self.log_name = ""
        self.unowned_since_ms = 0
        self._clock = clock
        self._is_released = False
        self.log, self.epoch = self._taken(store, self._own_first(store, names) if follows else names)

    def renew(self) -> None:
        """Extend the lease; do nothing once it was released. Raises FencedError if another owner took the log over."""
        if not self._is_released:
            self.log.renew(self.epoch, self._clock.now_ms(), LEASE_MS)

    def release(self) -> None:
        """Release the lease, so that another owner may follow at once."""
        self._is_released = True
        self.log.release(self.epoch, self._clock.now_ms())

    def _taken(self, store: StoreOptions, names: Sequence[str]) -> tuple[SqlRunLog, int]:
        refused: OwnedError | None = None
        unclean: list[str] = []
        may_wait = len(names) == 1
        for name in itertools.chain(names, unclean):
            log = open_run_log(store, name)
            try:
                if self._prefers_clean and name not in unclean and log.unfinished():
                    unclean.append(name)
                    log.close()
                    continue
                last = log.last_lease()
                epoch = self._epoch_of(log, may_wait)
                self.unowned_since_ms = 0 if last is None else last.until_ms
                log.wait_at_most(PATIENCE_S)
                self.log_name = listed_log_name(store, name)
                return log, epoch
            except OwnedError as error:
                refused = error
                log.close()
            except BaseException:
                log.close()
                raise
        assert refused is not None, "a supervisor needs the name of a log"
        raise refused

    def _own_first(self, store: StoreOptions, names: Sequence[str]) -> Sequence[str]:
        """Return the names with the log that this owner had first; unchanged if it has no lease."""
        there = set(run_log_names(store))
        for name in names:
            if listed_log_name(store, name) in there:
                log = open_run_log(store, name, readonly=True)
                try:
                    lease = log.lease(self._clock.now_ms())
                    if lease is not None and lease.holder == self.name:
                        return (name, *names)
                finally:
                    log.close()
        return names

    def _epoch_of(self, log: SqlRunLog, may_wait: bool) -> int:
        now_ms = self._clock.now_ms()
        try:
            return log.take_over(self.name, now_ms, LEASE_MS)
        except OwnedError as error:
            if error.values["holder"] == self.name:
                return log.take_over(self.name, now_ms, LEASE_MS, force=True)
            if not may_wait:
                raise
            # A clock that was set back must not make this wait for long.
            self._wait_s(min(LEASE_MS, error.values["until_ms"] - now_ms) / 1000)
        return log.take_over(self.name, self._clock.now_ms(), LEASE_MS)
