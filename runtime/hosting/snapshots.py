"""Snapshots of long runs: who takes one up reads its newest state and what came after, not its whole past."""

from __future__ import annotations

import logging
from typing import NamedTuple

import msgspec

from runtime.errors import FencedError, StateStorageError
from runtime.primitives.ids import RunId
from runtime.store.run_records import RunLog, Snapshot
from runtime.supervision.state import RunState

log = logging.getLogger(__name__)

SNAPSHOT_EVERY = 200

_DECODER = msgspec.msgpack.Decoder(RunState)


class Standing(NamedTuple):
    """The state of a run after its event `seq`, under the rules of `config_hash`."""

    seq: int
    state: RunState
    config_hash: str


class RunSnapshots:
    """Keeps a state each time that a run's log has grown by `every` events."""

    def __init__(self, run_log: RunLog, epoch: int | None, every: int = SNAPSHOT_EVERY) -> None:
        self._log = run_log
        self._epoch = epoch
        self._every = every

    def keep_when_due(self, run_id: RunId, seq_before: int, seq: int, state: RunState, config_hash: str) -> None:
        """Keep the state if the log has come to the next snapshot; a failure is no harm, as the log has everything."""
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
        """The newest state that was kept; None when there is none that this version can read."""
        kept = self._log.snapshot(run_id)
        if kept is None:
            return None
        try:
            return Standing(kept.seq, _DECODER.decode(kept.state), kept.config_hash)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            log.info("run.old_snapshot", extra={"run_id": run_id, "reason": str(error)})
            return None
