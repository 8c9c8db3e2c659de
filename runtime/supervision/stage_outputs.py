"""Finds the outputs of stages in a run's log, by the numbers of the events that tell of their ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.pipeline.config import PipelineConfig
from runtime.supervision.commands import ClientEvent, Emit
from runtime.supervision.events import Event, StageSucceeded
from runtime.supervision.replay import decisions
from runtime.supervision.state import RunState


class StageOutputs:
    """Folds a run's log piece by piece, as it grows."""

    def __init__(self, config: PipelineConfig) -> None:
        """`config`: the rules that the run began under."""
        self._config = config
        self._state: RunState | None = None

    def read(self, events: Iterable[Event]) -> dict[int, dict[str, Any]]:
        """Return number of a `stage.finished` event → output, of the entries that follow those read before.

        A result that lacks what the pipeline requires has no output, nor has one that a policy denied.
        """
        found: dict[int, dict[str, Any]] = {}
        for event, _, decision in decisions(self._config, events, self._state):
            self._state = decision.state
            result = event.payload
            if not isinstance(result, StageSucceeded) or _is_denied(result):
                continue
            for command in decision.commands:
                if isinstance(command, Emit) and _ends_with(command.event, result):
                    found[command.event.seq] = result.output
        return found


def has_output(event: ClientEvent) -> bool:
    """Return True for the event of a stage that ended with a result."""
    return event.type == "stage.finished" and event.data.get("status") == "success"


def _ends_with(event: ClientEvent, result: StageSucceeded) -> bool:
    item = event.data.get("item", result.key.item)
    return has_output(event) and event.hop == result.key.hop and item == result.key.item


def _is_denied(result: StageSucceeded) -> bool:
    return result.policy is not None and result.policy.decision == "denied"
