"""Takes snapshots of long runs, so that recovery reads the newest state and only the events after it."""

from __future__ import annotations

import logging
from typing import NamedTuple

import msgspec

from runtime.errors import FencedError, StateStorageError
from runtime.primitives.ids import RunId
from runtime.primitives.newer_records import convert_known
from runtime.run.envelope import SCHEMA_VERSION
from runtime.store.run_records import RunLog, Snapshot
from runtime.supervision.state import RunState

log = logging.getLogger(__name__)

SNAPSHOT_EVERY = 200


class Standing(NamedTuple):
    """Holds the state of a run after its event `seq`, under the rules of `config_hash`."""

    seq: int
    state: RunState
    config_hash: str


class RunSnapshots:
    """Saves a snapshot each time that a run's log has grown by `every` events."""

    def __init__(self, run_log: RunLog, epoch: int | None, every: int = SNAPSHOT_EVERY) -> None:
        self._log = run_log
        self._epoch = epoch
        self._every = every

    def keep_when_due(self, run_id: RunId, seq_before: int, seq: int, state: RunState, config_hash: str) -> None:
        """Save the state if a snapshot is due; a failure is only logged, as the events suffice. Raises FencedError."""
        if seq_before // self._every == seq // self._every or state.envelope.lifecycle == "terminated":
            return
        snapshot = Snapshot(run_id, seq, msgspec.msgpack.encode(state), config_hash)
        try:
            self._log.save_snapshot(snapshot, self._epoch)
        except FencedError:
            raise
        except StateStorageError as error:
            log.warning("run.no_snapshot", extra={"run_id": run_id, "reason": error.message})

    def newest(self, run_id: RunId) -> Standing | None:
        """Return the newest saved state; None if there is none that this version can read."""
        kept = self._log.snapshot(run_id)
        if kept is None:
            return None
        try:
            state, unknown = convert_known(msgspec.msgpack.decode(kept.state), RunState)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
            log.info("run.old_snapshot", extra={"run_id": run_id, "reason": str(error)})
            return None
        if unknown or state.envelope.schema_version > SCHEMA_VERSION:
            log.info("run.newer_snapshot", extra={"run_id": run_id, "reason": "a newer version saved it"})
            return None  # the events say what this version needs, or that it cannot continue
        return Standing(kept.seq, state, kept.config_hash)
