"""Lets callers wait for news of a run: what is recorded of it, and the texts that its stages are writing meanwhile."""

from __future__ import annotations

import asyncio
import logging

from runtime.agents.live_text import LiveTexts, Marks, StageText
from runtime.hosting.run_table import RunTable
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.supervision.commands import ClientEvent

log = logging.getLogger(__name__)


class RunWatchers:
    """Who watches the runs of one table, on one event loop."""

    def __init__(self, table: RunTable, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self._texts = LiveTexts()
        self._written: set[RunId] = set()
        self._waiting: dict[RunId, set[asyncio.Future[None]]] = {}

    def news(self, run_id: RunId, after_seq: int, marks: Marks | None) -> list[ClientEvent]:
        """Events after `after_seq`, and what is new of the texts to who has what `marks` say. Raises UnknownNameError.

        Without `marks` there are no texts.
        """
        numbered = self._table.client_events(run_id, after_seq)
        if marks is None or run_id not in self._written:
            return numbered
        return [*numbered, *self._texts.news(run_id, marks, self._table.at_work(run_id))]

    async def news_within(
        self, run_id: RunId, after_seq: int, timeout_s: float, marks: Marks | None
    ) -> tuple[list[ClientEvent], bool]:
        """The news, and whether the run is over; the first one is waited for. Raises UnknownNameError."""
        if not self.news(run_id, after_seq, marks) and not self._table.is_over(run_id):
            try:
                await asyncio.wait_for(self.wait(run_id), timeout_s)
            except TimeoutError:
                log.debug("watch.idle", extra={"run_id": run_id})
        return self.news(run_id, after_seq, marks), self._table.is_over(run_id)

    async def wait(self, run_id: RunId) -> None:
        """Return when something has happened to the run."""
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
        """Let whoever waits for the run look again."""
        for happened in self._waiting.pop(run_id, ()):
            if not happened.done():
                happened.set_result(None)

    def changed(self, run_id: RunId) -> None:
        """Something of the run was recorded."""
        if run_id in self._written:
            at_work = self._table.at_work(run_id)
            self._texts.keep(run_id, at_work)
            if not at_work:
                self._written.discard(run_id)
        self.wake(run_id)

    def show(self, text: StageText) -> None:
        """A stage has written so much."""
        run_id = text.key.run_id
        stage = self._table.at_work(run_id).get(str(text.key))
        if stage is not None and self._texts.show(stage, text, self._clock.now_ms()):
            self._written.add(run_id)
            self.wake(run_id)
