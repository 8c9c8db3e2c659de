"""Whoever waits for something to happen to a run, and the texts that its stages are writing meanwhile."""

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
    """What callers see of the runs of one table."""

    def __init__(self, table: RunTable, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self._texts = LiveTexts()
        self._waiting: dict[RunId, set[asyncio.Event]] = {}

    async def news(
        self, run_id: RunId, after_seq: int, timeout_s: float, marks: Marks | None
    ) -> tuple[list[ClientEvent], bool]:
        """Events after `after_seq` and whether the run is over; waits for the first one. Raises UnknownNameError.

        Who says what it has of the texts (`marks`) gets what is new of them, too.
        """
        if not self._known(run_id, after_seq, marks) and not self._table.is_over(run_id):
            await self._wait(run_id, timeout_s)
        return self._known(run_id, after_seq, marks), self._table.is_over(run_id)

    def changed(self, run_id: RunId) -> None:
        """Something of the run was recorded."""
        self._texts.keep(run_id, self._table.at_work(run_id))
        self._wake(run_id)

    def show(self, text: StageText) -> None:
        """A stage has written so much."""
        stage = self._table.at_work(text.key.run_id).get(str(text.key))
        if stage is not None and self._texts.show(stage, text, self._clock.now_ms()):
            self._wake(text.key.run_id)

    def _known(self, run_id: RunId, after_seq: int, marks: Marks | None) -> list[ClientEvent]:
        numbered = self._table.client_events(run_id, after_seq)
        if marks is None:
            return numbered
        return [*numbered, *self._texts.news(run_id, marks, self._table.at_work(run_id))]

    def _wake(self, run_id: RunId) -> None:
        for news in self._waiting.get(run_id, ()):
            news.set()

    async def _wait(self, run_id: RunId, timeout_s: float) -> None:
        """Return when something has happened to the run, or when the time is up."""
        news = asyncio.Event()
        self._waiting.setdefault(run_id, set()).add(news)
        try:
            await asyncio.wait_for(news.wait(), timeout_s)
        except TimeoutError:
            log.debug("watch.idle", extra={"run_id": run_id})
        finally:
            self._waiting[run_id].discard(news)
            if not self._waiting[run_id]:
                del self._waiting[run_id]
