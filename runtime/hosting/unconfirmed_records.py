"""Tracks records whose write failed but may have been kept, and the commands that follow if so."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.hosting.write_batch import RunBatch
from runtime.primitives.ids import RunId
from runtime.supervision.commands import Command
from runtime.supervision.events import BudgetRequested, Payload, ToolCalled


class UnconfirmedRecords:
    """Tracks by run: payloads whose write failed, pending commands, and payloads that senders will repeat."""

    def __init__(self) -> None:
        self._unconfirmed: dict[RunId, list[Payload]] = {}
        self._pending_commands: dict[RunId, list[Command]] = {}
        self._replayed: dict[RunId, list[Payload]] = {}

    def __contains__(self, run_id: object) -> bool:
        """Return True if the log must be read to find out what it has of the run."""
        return run_id in self._unconfirmed

    def failed(self, run_id: RunId, payloads: list[Payload]) -> None:
        """Record that the write of these payloads failed; the log may have them after all."""
        self._unconfirmed[run_id] = payloads

    def was_kept(self, run_id: RunId, payload: Payload, commands: Iterable[Command]) -> None:
        """Record that the log has this event of the run; its commands are returned by the next `take_pending`."""
        self._pending_commands.setdefault(run_id, []).extend(commands)
        if isinstance(payload, ToolCalled | BudgetRequested) and payload in self._unconfirmed[run_id]:
            # Its sender repeats it and means the same one.
            self._replayed.setdefault(run_id, []).append(payload)

    def confirmed(self, run_id: RunId) -> None:
        """Record that the log has been read for the run."""
        del self._unconfirmed[run_id]

    def is_replayed(self, run_id: RunId, payload: Payload, batch: RunBatch | None) -> bool:
        """Return True if the payload repeats one that is recorded already; once for each such record."""
        if payload not in self._replayed.get(run_id, ()):
            return False
        self._replayed[run_id].remove(payload)
        if batch is not None:
            batch.replayed.append((run_id, payload))
        return True

    def take_pending(self, run_id: RunId, batch: RunBatch | None) -> list[Command]:
        """Return and clear the pending commands of the run; `requeue` restores them if the batch fails."""
        pending = self._pending_commands.pop(run_id, [])
        if batch is not None and pending:
            batch.settled.setdefault(run_id, []).extend(pending)
        return pending

    def requeue(self, batch: RunBatch, run_ids: Iterable[RunId]) -> None:
        """Restore the pending commands and replays that a failed batch took from these runs."""
        for run_id in run_ids:
            replayed = [payload for replayed_of, payload in batch.replayed if replayed_of == run_id]
            if replayed:
                self._replayed.setdefault(run_id, []).extend(replayed)
            if run_id in batch.settled:
                self._pending_commands[run_id] = [*batch.settled[run_id], *self._pending_commands.get(run_id, [])]

    def forget(self, run_id: RunId) -> None:
        """Remove a run that is no longer driven here."""
        for book in (self._unconfirmed, self._replayed, self._pending_commands):
            book.pop(run_id, None)
