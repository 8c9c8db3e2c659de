"""Defines the records of a run log (entries, summaries, snapshots) and the protocol of its backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from runtime.errors import FencedError, OwnedError, StateStorageError
from runtime.primitives.clock import seconds
from runtime.primitives.ids import RunId
from runtime.supervision.events import Event


class RunUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts what one run, or several, have used; `cost_micro` in millionths of the currency of model prices."""

    llm_calls: int = 0
    tool_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micro: int = 0

    def plus(self, other: RunUsage) -> RunUsage:
        """Return the sum of both."""
        return RunUsage(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class UsedRun(msgspec.Struct, frozen=True):
    """Holds what a run of the log has used, whose it is, and when it began."""

    run_id: RunId
    user_id: str
    session_id: str
    started_at_ms: int
    usage: RunUsage


class Entry(msgspec.Struct, frozen=True):
    """Carries one event to record; `ends`: it is the last of its run.

    `lifecycle`, `terminal_reason` and `usage` are those of the run after it, for the summary; None leaves them
    unchanged.
    """

    pipeline: str
    event: Event
    ends: bool = False
    lifecycle: str | None = None
    terminal_reason: str | None = None
    usage: RunUsage | None = None


class RunSummary(msgspec.Struct, frozen=True):
    """Summarizes a run in the log; `finished`: an event was recorded as its end."""

    run_id: RunId
    pipeline: str
    started_at_ms: int
    events: int
    finished: bool = False
    last_at_ms: int = 0
    user_id: str = ""
    session_id: str = ""
    config_hash: str = ""
    lifecycle: str = ""
    terminal_reason: str | None = None


class RunPlace(NamedTuple):
    """Locates a run in lists, which are ordered by start and id, newest first."""

    started_at_ms: int
    run_id: RunId


class Snapshot(msgspec.Struct, frozen=True):
    """Holds the encoded state of a run after its event `seq`, under the rules of `config_hash`."""

    run_id: RunId
    seq: int
    state: bytes
    config_hash: str


class Lease(msgspec.Struct, frozen=True):
    """Reserves a log for `holder` until `until_ms` (exclusive), unless `was_released` at that instant."""

    holder: str
    until_ms: int
    was_released: bool = False

    def holds_at(self, now_ms: int) -> bool:
        """Return whether others have to wait. A released log is free even if the clock was set back since."""
        return not self.was_released and now_ms < self.until_ms


class RunLog(Protocol):
    """Appends events to a log by run, with one owner at a time."""

    def take_over(self, owner: str, now_ms: int | None = None, lease_ms: int | None = None, force: bool = False) -> int:
        """Make `owner` the writer of this log and return its epoch, which is higher than every earlier one.

        With `now_ms` and `lease_ms` the owner holds a lease of that length. Raises OwnedError if another lease has
        not expired, unless `force` is set. Without them no lease is checked and none is taken.
        """

    def renew(self, epoch: int, now_ms: int, lease_ms: int) -> None:
        """Extend the lease until `now_ms + lease_ms` (exclusive). Raises FencedError if there is a newer owner."""

    def release(self, epoch: int, now_ms: int = 0) -> None:
        """End the lease at `now_ms`, so that another owner may follow at once; do nothing if there is a newer owner."""

    def check_owner(self, epoch: int) -> None:
        """Raise FencedError if a newer owner took the log over since `epoch`."""

    def lease(self, now_ms: int) -> Lease | None:
        """Return the lease that has not expired; None if there is none."""

    def last_lease(self) -> Lease | None:
        """Return the newest lease, even if it has ended; None if no owner ever took one."""

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        """Record an event durably before returning; `ends`: it is the last of its run.

        Raises FencedError if a newer owner took the log over, and StateStorageError if the event may not have been
        written: whether it was is not known before the log is read again.
        """

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        """Record the events of many runs together: all of them or none. Raises as `append` does."""

    def events(self, run_id: RunId, after_seq: int = 0) -> list[Event]:
        """Return the events of a run after `after_seq`, in order; empty if there is no such run."""

    def runs(
        self, limit: int, user_id: str | None = None, finished: bool | None = None, before: RunPlace | None = None
    ) -> list[RunSummary]:
        """Return the newest runs, at most `limit`: all, or those of a user, or those that are (not) finished.

        With `before`, only those that come after it in this order (exclusive).
        """

    def summary(self, run_id: RunId) -> RunSummary | None:
        """Return the summary of a run; None if this log does not have it."""

    def unfinished(self) -> list[RunSummary]:
        """Return the runs whose end is not recorded, oldest first."""

    def save_snapshot(self, snapshot: Snapshot, epoch: int | None = None) -> None:
        """Store the state of a run; it replaces an older one of the same run, and a newer one stays.

        Raises FencedError, and StateStorageError if the log has no such event yet.
        """

    def snapshot(self, run_id: RunId) -> Snapshot | None:
        """Return the newest snapshot of a run, None if there is none."""

    def keep_rules(self, config_hash: str, rules: bytes) -> None:
        """Store the rules under which runs of that hash start, unless they are stored already; they are never dropped.

        No epoch is needed: the same hash always names the same rules, whichever process stores them.
        """

    def rules(self, config_hash: str) -> bytes | None:
        """Return the stored rules of a hash; None if there are none."""

    def finished_before(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        """Return the finished runs whose last event is older than `before_ms`, oldest first, at most `limit`."""

    def drop_finished(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        """Drop the runs that `finished_before` returns, and return them. The owner may write meanwhile."""

    def close(self) -> None:
        """Close the log."""


def check_order(last_seq: dict[RunId, int], entries: Sequence[Entry]) -> dict[RunId, int]:
    """Return the last number of each run after `entries`. Raises StateStorageError if one is out of order."""
    after = dict(last_seq)
    for entry in entries:
        event = entry.event
        if event.seq != after.get(event.run_id, 0) + 1:
            raise StateStorageError(
                f"event {event.seq} of run {event.run_id} is not the next one: another owner writes this run",
                run_id=event.run_id,
            )
        after[event.run_id] = event.seq
    return after


def check_snapshot(snapshot: Snapshot, last_seq: int) -> None:
    """Raise StateStorageError if the snapshot is of no event in the log."""
    if not 1 <= snapshot.seq <= last_seq:
        raise StateStorageError(
            f"a state of run {snapshot.run_id} after event {snapshot.seq} cannot be kept: its log ends at {last_seq}",
            run_id=snapshot.run_id,
        )


def fenced(epoch: int, newest: int, owner: str) -> FencedError:
    """Return the error for an owner that another one has replaced."""
    return FencedError(
        f"'{owner}' took this log over with epoch {newest}; an owner of epoch {epoch} must not go on",
        epoch=epoch,
        newest=newest,
    )


def check_lease(location: str, holder: str, until_ms: int, now_ms: int) -> None:
    """Raise OwnedError if the lease of `holder` has not expired."""
    if now_ms < until_ms:
        raise OwnedError(
            f"'{holder}' holds {location} for another {seconds(until_ms - now_ms)}; wait, end it, or take it by force",
            holder=holder,
            until_ms=until_ms,
        )
