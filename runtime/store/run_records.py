"""What a run log takes and gives: entries, summaries, snapshots, and the protocol that every backend follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from runtime.errors import FencedError, OwnedError, StateStorageError
from runtime.primitives.ids import RunId
from runtime.supervision.events import Event


class Entry(msgspec.Struct, frozen=True):
    """One event to be kept; `ends`: it is the last of its run.

    `lifecycle` and `terminal_reason` are what the run is after it, for the summary; None leaves what was there.
    """

    pipeline: str
    event: Event
    ends: bool = False
    lifecycle: str | None = None
    terminal_reason: str | None = None


class RunSummary(msgspec.Struct, frozen=True):
    """One line about a run in the log: `finished` when its last event was recorded as its end."""

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


class Snapshot(msgspec.Struct, frozen=True):
    """The state of a run after its event `seq`, encoded, under the rules of `config_hash`."""

    run_id: RunId
    seq: int
    state: bytes
    config_hash: str


class Lease(msgspec.Struct, frozen=True):
    """`holder` has a log to itself until `until_ms` (exclusive)."""

    holder: str
    until_ms: int


class RunLog(Protocol):
    """Append-only log of events by run, with one owner at a time."""

    def take_over(self, owner: str, now_ms: int | None = None, lease_ms: int | None = None, force: bool = False) -> int:
        """Make `owner` the one who writes here; its epoch is higher than every one before.

        With `now_ms` and `lease_ms` it holds a lease of that length, and raises OwnedError when somebody holds one
        that is not over; `force` takes it all the same. Without them nobody is asked and there is no lease.
        """

    def renew(self, epoch: int, now_ms: int, lease_ms: int) -> None:
        """Hold the lease until `now_ms + lease_ms` (exclusive). Raises FencedError when a newer owner is there."""

    def release(self, epoch: int) -> None:
        """Give the lease up, so that another may follow at once; nothing happens when a newer owner is there."""

    def check_owner(self, epoch: int) -> None:
        """Raise FencedError when a newer owner took the log over since `epoch`."""

    def lease(self, now_ms: int) -> Lease | None:
        """The lease that somebody holds and that is not over; None when nobody does."""

    def append(self, pipeline: str, event: Event, epoch: int | None = None, ends: bool = False) -> None:
        """Return once the event is kept; `ends`: it is the last of its run.

        Raises FencedError when a newer owner took the log over, and StateStorageError when the event could not be
        written, or perhaps was: what failed is not known before the log is read again.
        """

    def append_all(self, entries: Sequence[Entry], epoch: int | None = None) -> None:
        """Keep the events of many runs together: all of them or none. Raises as `append` does."""

    def events(self, run_id: RunId, after_seq: int = 0) -> list[Event]:
        """Events of a run in order, those after `after_seq`; empty when there is no such run."""

    def runs(self, limit: int, user_id: str | None = None, finished: bool | None = None) -> list[RunSummary]:
        """The newest runs, at most `limit`: all, or those of a user, or those that are (not) finished."""

    def unfinished(self) -> list[RunSummary]:
        """Runs whose end is not recorded, oldest first."""

    def save_snapshot(self, snapshot: Snapshot, epoch: int | None = None) -> None:
        """Keep the state of a run; an older one of the same run is replaced, a newer one stays.

        Raises FencedError, and StateStorageError when the log has no such event yet.
        """

    def snapshot(self, run_id: RunId) -> Snapshot | None:
        """The newest kept state of a run."""

    def keep_rules(self, config_hash: str, rules: bytes) -> None:
        """Keep the rules that runs of that hash begin under, unless they are kept already; they are never dropped.

        No epoch is asked for: the same hash always names the same rules, whoever keeps them.
        """

    def rules(self, config_hash: str) -> bytes | None:
        """The rules of a hash, as they were kept; None when they were not."""

    def finished_before(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        """Finished runs whose last event is older than `before_ms`, the oldest first, at most `limit`."""

    def drop_finished(self, before_ms: int, limit: int | None = None) -> list[RunId]:
        """Forget the runs that `finished_before` gives; which they were. The owner may go on writing meanwhile."""

    def close(self) -> None:
        """Release what the log holds."""


def check_order(last_seq: dict[RunId, int], entries: Sequence[Entry]) -> dict[RunId, int]:
    """The last number of each run after `entries`. Raises StateStorageError when one is not the next of its run."""
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
    """Raise StateStorageError when the state is ahead of the log."""
    if not 1 <= snapshot.seq <= last_seq:
        raise StateStorageError(
            f"a state of run {snapshot.run_id} after event {snapshot.seq} cannot be kept: its log ends at {last_seq}",
            run_id=snapshot.run_id,
        )


def fenced(epoch: int, newest: int, owner: str) -> FencedError:
    """The error for an owner that was deposed."""
    return FencedError(
        f"'{owner}' took this log over with epoch {newest}; an owner of epoch {epoch} must not go on",
        epoch=epoch,
        newest=newest,
    )


def check_lease(location: str, holder: str, until_ms: int, now_ms: int) -> None:
    """Raise OwnedError when `holder` has a lease that is not over."""
    if now_ms < until_ms:
        raise OwnedError(
            f"'{holder}' holds {location} for another {until_ms - now_ms} ms; wait, end it, or take over by force",
            holder=holder,
            until_ms=until_ms,
        )
