"""Which reports of agents a supervisor has recorded or is about to: each counts once, however often it comes."""

from __future__ import annotations

from typing import Literal

from runtime.bus.outbox import Inbox
from runtime.primitives.ids import MessageId

Arrival = Literal["new", "under way", "recorded"]


class ReportInbox:
    """Reports by id. One that could not be recorded is new when it comes again."""

    def __init__(self) -> None:
        self._recorded = Inbox()
        self._under_way: set[MessageId] = set()

    def arrives(self, report_id: MessageId) -> Arrival:
        """How far a copy of that report has got; a new one is under way from now on."""
        if report_id in self._under_way:
            return "under way"
        if self._recorded.is_duplicate(report_id):
            return "recorded"
        self._under_way.add(report_id)
        return "new"

    def is_recorded(self, report_id: MessageId) -> None:
        """It has been recorded, and is to be acknowledged whenever it comes again."""
        self._under_way.discard(report_id)
        self._recorded.note(report_id)

    def has_failed(self, report_id: MessageId) -> None:
        """It could not be recorded."""
        self._under_way.discard(report_id)
