"""Defines the view of a run that one stage receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.run.envelope import HistoryRecord, Interrupt, StageStatus, TerminalReason
from runtime.run.goals import GoalBoard


class StageView(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a stage's view of its run: all that a hook may read of it.

    - `raw_input`: the question, as it was asked. `metadata`: what the door adds, such as `repo`, the absolute path of
      the folder in question. `session_id`, `user_id`: who asked, and in which session.
    - `outputs`: the latest output of each stage that has succeeded, by its output key: `output_key`, else its name.
    - `goals`: what the run is to find out. `context_bounds`: the pipeline's limits for agents, by name.
    - `edges`: how often each edge was taken, as "from->to". `hop`: the number of this visit, counted over all stages.
    - `ended_by`: in a final stage, the bound that ended the run; None while it goes on.
    - `item`, `item_index`: in a fan-out, the item of this call and its index.
    - `interrupt`: the last question of the run, with its answer in `interrupt.response`.
    - `failures`: what `handled_failures` gives.
    """

    raw_input: str
    metadata: dict[str, Any] = {}
    session_id: str | None = None
    user_id: str = "local"
    outputs: dict[str, dict[str, Any]] = {}
    goals: GoalBoard = GoalBoard()
    context_bounds: dict[str, int] = {}
    edges: dict[str, int] = {}
    ended_by: TerminalReason | None = None
    hop: int = 0
    item: Any = None
    item_index: int | None = None
    interrupt: Interrupt | None = None
    failures: dict[str, str] = {}


def handled_failures(stages: Mapping[str, StageStatus], history: Sequence[HistoryRecord]) -> dict[str, str]:
    """Map each stage whose failure took its error route, and that was not run again since, to its last error."""
    handled = [name for name, status in stages.items() if status == "handled"]
    return {name: next((r.error or "" for r in reversed(history) if r.stage == name), "") for name in handled}


_VIEW_DECODER = msgspec.msgpack.Decoder(StageView)


def decode_view(data: bytes) -> StageView:
    """Decode the view in a RunStage command."""
    return _VIEW_DECODER.decode(data)
