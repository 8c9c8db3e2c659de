"""Adds the outputs of stages to the events of a run, for callers who want them.

They come from the run's log, which has each of them before anybody is told of it. docs/http.md has the form.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from runtime.errors import UnknownNameError
from runtime.primitives.ids import RunId
from runtime.store.options import StoreOptions
from runtime.supervision.commands import ClientEvent
from runtime.supervision.stage_outputs import StageOutputs, has_output
from serve.run_logs import FollowedLog, stored_run

# An output whose JSON is longer is not sent with its event, only its size.
MAX_SENT_BYTES = 65_536


class OutputReader:
    """Reads the outputs of one run, as its events come."""

    def __init__(self, options: StoreOptions, run_id: RunId, may_see: Callable[[str], bool]) -> None:
        """`may_see`: whether the caller may see a run of this user."""
        self._log = FollowedLog(options, run_id, may_see)
        self._outputs: StageOutputs | None = None
        self._unsent: dict[int, dict[str, Any]] = {}

    async def with_outputs(self, events: AsyncGenerator[ClientEvent, None]) -> AsyncGenerator[ClientEvent, None]:
        """Yield events in their order; those of finished stages have `output` or, if it is large, `output_bytes`.

        A run whose log is not kept has neither.
        """
        async with aclosing(events):
            async for event in events:
                yield await self.with_output(event)

    async def with_output(self, event: ClientEvent) -> ClientEvent:
        """Return an event with its output, if it has one; events are given in their order."""
        if not has_output(event):
            return event
        try:
            output = await asyncio.to_thread(self._output_of, event.seq)
        except UnknownNameError:
            return event
        if output is None:
            return event
        sent = msgspec.json.encode(output)
        told = {"output": msgspec.json.decode(sent)} if len(sent) <= MAX_SENT_BYTES else {"output_bytes": len(sent)}
        return msgspec.structs.replace(event, data=event.data | told)

    def _output_of(self, seq: int) -> dict[str, Any] | None:
        if seq not in self._unsent:
            events = self._log.news()
            self._outputs = self._outputs or StageOutputs(self._log.rules)
            self._unsent |= self._outputs.read(events)
        output = self._unsent.get(seq)
        self._unsent = {number: each for number, each in self._unsent.items() if number > seq}
        return output


def stored_output(options: StoreOptions, run_id: RunId, seq: int, may_see: Callable[[str], bool]) -> dict[str, Any]:
    """Return the output of the stage whose end is the event `seq` of a run, as JSON has it.

    Raises UnknownNameError if there is no such run, or no such output in it.
    """
    run = stored_run(options, run_id, may_see)
    output = StageOutputs(run.rules).read(run.events).get(seq)
    if output is None:
        told = f"event {seq} of run {run_id} is no end of a stage that gave an output; a `stage.finished` event is one"
        raise UnknownNameError(told, name=str(seq), known=[], run_id=run_id)
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(output))
    return plain
