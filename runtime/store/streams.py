"""What callers saw of a run, read again from its log.

Client events are not stored: they follow from the log and the pipeline's rules, and so a reader who comes back gets the
same ones with the same numbers, from whichever number on.
"""

from __future__ import annotations

from runtime.errors import SettingsError, UnknownNameError
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.store.run_records import RunLog
from runtime.supervision.commands import ClientEvent
from runtime.supervision.events import RunRequested
from runtime.supervision.replay import client_events_of


def replayed(log: RunLog, config: PipelineConfig, run_id: RunId, after_seq: int = 0) -> list[ClientEvent]:
    """The client events of a run after number `after_seq`, without gaps.

    Raises UnknownNameError when the log has no such run, and SettingsError when its rules have changed since.
    """
    events = log.events(run_id)
    if not events:
        raise UnknownNameError(f"no run '{run_id}' is in this log", name=run_id, known=[])
    first = events[0].payload
    if isinstance(first, RunRequested) and first.config_hash not in ("", config.config_hash):
        raise SettingsError(f"pipeline '{config.name}' has changed since run {run_id} began; it cannot be replayed")
    return [event for event in client_events_of(config, events) if event.seq > after_seq]
