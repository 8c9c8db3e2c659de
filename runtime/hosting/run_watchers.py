"""Lets callers wait for news of a run: recorded events, and the texts that its stages are writing."""

from __future__ import annotations

import asyncio
import logging

from runtime.agents.live_text import LiveTexts, Marks, StageText
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.supervision.commands import ClientEvent

GATHERED_FOR_S = 0.02

log = logging.getLogger(__name__)


class RunWatchers:
    """Serves the watchers of the runs of one table, on one event loop."""

    def __init__(self, table: RunTable, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self._texts = LiveTexts()
        self._written: set[RunId] = set()
        self._waiting: dict[RunId, set[asyncio.Future[None]]] = {}

    def news(self, run_id: RunId, after_seq: int, marks: Marks | None) -> list[ClientEvent]:
        """Return the events after `after_seq`, and the texts beyond `marks`. Raises UnknownNameError.

        Without `marks` there are no texts.
        """
        numbered = self._table.client_events(run_id, after_seq)
        if marks is None or run_id not in self._written:
            return numbered
        return [*numbered, *self._texts.news(run_id, marks, self._table.at_work(run_id))]

    async def news_within(
        self, run_id: RunId, after_seq: int, timeout_s: float, marks: Marks | None
    ) -> tuple[list[ClientEvent], bool]:
        """Wait at most `timeout_s` for news; return them and whether the run is over. Raises UnknownNameError.

        News of a run that goes on gather for a moment, as each answer costs caller and supervisor a message; the end of
        a run is returned at once. A caller that does not wait gets what there is.
        """
        if not self.news(run_id, after_seq, marks) and not self._table.is_over(run_id):
            try:
                # wait_for would begin to wait in a later turn of the event loop, and miss what comes before.
                async with asyncio.timeout(timeout_s):
                    await self.wait(run_id)
            except TimeoutError:
                log.debug("watch.idle", extra={"run_id": run_id})
                return [], False
        if timeout_s > 0:
            await self._until_over(run_id, GATHERED_FOR_S)
        return self.news(run_id, after_seq, marks), self._table.is_over(run_id)

    async def _until_over(self, run_id: RunId, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                while not self._table.is_over(run_id):
                    await self.wait(run_id)
        except TimeoutError:
            return

    async def wait(self, run_id: RunId) -> None:
        """Wait for the next `wake` of the run: an event was recorded, a stage showed a text, or the run broke."""
        waiting = self._waiting.setdefault(run_id, set())
        happened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.add(happened)
        try:
            await happened
        finally:
            waiting.discard(happened)
            if not waiting and self._waiting.get(run_id) is waiting:
                del self._waiting[run_id]

    def wake(self, run_id: RunId) -> None:
        """Wake all callers that wait for the run."""
        for happened in self._waiting.pop(run_id, ()):
            if not happened.done():
                happened.set_result(None)

    def wake_all(self) -> None:
        """Wake the callers of every run."""
        for run_id in list(self._waiting):
            self.wake(run_id)

    def changed(self, run_id: RunId) -> None:
        """Drop texts of stages that are no longer at work, and wake watchers, after an event was recorded."""
        if run_id in self._written:
            at_work = self._table.at_work(run_id)
            self._texts.keep(run_id, at_work)
            if not at_work:
                self._written.discard(run_id)
        self.wake(run_id)

    def show(self, text: StageText) -> None:
        """Show the text that a stage has written so far, if the stage is at work."""
        run_id = text.key.run_id
        stage = self._table.at_work(run_id).get(str(text.key))
        if stage is not None and self._texts.show(stage, text, self._clock.now_ms()):
            self._written.add(run_id)
            self.wake(run_id)
