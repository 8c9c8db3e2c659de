"""Deduplicates reports of agents: each is recorded once, however often it arrives."""

from __future__ import annotations

from typing import Literal

from runtime.bus.outbox import Inbox
from runtime.primitives.ids import MessageId

Arrival = Literal["new", "under way", "recorded"]


class ReportInbox:
    """Tracks reports by id. One that could not be recorded is new when it arrives again."""

    def __init__(self) -> None:
        self._recorded = Inbox()
        self._under_way: set[MessageId] = set()

    def arrives(self, report_id: MessageId) -> Arrival:
        """Return how far the report has got that arrives; a new one is under way from now on."""
        if report_id in self._under_way:
            return "under way"
        if self._recorded.is_duplicate(report_id):
            return "recorded"
        self._under_way.add(report_id)
        return "new"

    def is_recorded(self, report_id: MessageId) -> None:
        """Mark a report as recorded; later copies need only be acknowledged."""
        self._under_way.discard(report_id)
        self._recorded.note(report_id)

    def has_failed(self, report_id: MessageId) -> None:
        """Mark a report as not recorded, so that its next copy is new."""
        self._under_way.discard(report_id)
