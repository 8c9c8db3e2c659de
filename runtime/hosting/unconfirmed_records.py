"""Records that may or may not have been kept: what is to be found out, and what follows for whom when they were."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.hosting.write_batch import RunBatch
from runtime.primitives.ids import RunId
from runtime.supervision.commands import Command
from runtime.supervision.events import BudgetRequested, Payload, ToolCalled


class UnconfirmedRecords:
    """By run: payloads whose write failed, commands that nobody has been given yet, and payloads that come again."""

    def __init__(self) -> None:
        self._unconfirmed: dict[RunId, list[Payload]] = {}
        self._pending_commands: dict[RunId, list[Command]] = {}
        self._replayed: dict[RunId, list[Payload]] = {}

    def __contains__(self, run_id: object) -> bool:
        """True when the log is to be asked what it has of the run."""
        return run_id in self._unconfirmed

    def failed(self, run_id: RunId, payloads: list[Payload]) -> None:
        """Their write failed, and they may be on record after all."""
        self._unconfirmed[run_id] = payloads

    def was_kept(self, run_id: RunId, payload: Payload, commands: Iterable[Command]) -> None:
        """The log has that event of the run: what follows from it is owed to whoever comes next."""
        self._pending_commands.setdefault(run_id, []).extend(commands)
        if isinstance(payload, ToolCalled | BudgetRequested) and payload in self._unconfirmed[run_id]:
            # Whoever said it says it again, and means the same one.
            self._replayed.setdefault(run_id, []).append(payload)

    def confirmed(self, run_id: RunId) -> None:
        """The log has been asked."""
        del self._unconfirmed[run_id]

    def is_replayed(self, run_id: RunId, payload: Payload, batch: RunBatch | None) -> bool:
        """True when that is on record already, and is said again; once for each."""
        if payload not in self._replayed.get(run_id, ()):
            return False
        self._replayed[run_id].remove(payload)
        if batch is not None:
            batch.replayed.append((run_id, payload))
        return True

    def take_pending(self, run_id: RunId, batch: RunBatch | None) -> list[Command]:
        """What the run is owed; a batch that fails owes it again."""
        pending = self._pending_commands.pop(run_id, [])
        if batch is not None and pending:
            batch.settled.setdefault(run_id, []).extend(pending)
        return pending

    def requeue(self, batch: RunBatch, run_ids: Iterable[RunId]) -> None:
        """The batch failed: what was handed out in it is owed again to the runs that are still there."""
        for run_id in run_ids:
            replayed = [payload for replayed_of, payload in batch.replayed if replayed_of == run_id]
            if replayed:
                self._replayed.setdefault(run_id, []).extend(replayed)
            if run_id in batch.settled:
                self._pending_commands[run_id] = [*batch.settled[run_id], *self._pending_commands.get(run_id, [])]

    def forget(self, run_id: RunId) -> None:
        """The run is not driven here any more."""
        for book in (self._unconfirmed, self._replayed, self._pending_commands):
            book.pop(run_id, None)
