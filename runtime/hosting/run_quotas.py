"""The quotas of one supervisor, applied to its runs: whom a door refuses, who waits, and whose runs have to stop."""

from __future__ import annotations

import msgspec

from runtime.errors import OverloadedError, RateLimitedError
from runtime.hosting.admission import UNLIMITED_USERS, AdmissionQueue, Candidate, Exhausted, Quotas, Spending
from runtime.hosting.rate_limits import RateLimiter
from runtime.hosting.write_batch import spent_since
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Request
from runtime.supervision.events import QuotaExhausted

RETRY_WHEN_OVERLOADED_S = 10


class RunQuotas:
    """Keeps count of the runs that it is told of."""

    def __init__(self, quotas: Quotas, rates: RateLimiter | None, clock: Clock) -> None:
        self._quotas = quotas
        self._rates = rates
        self._clock = clock
        self._spending = Spending(quotas)
        self._queue = AdmissionQueue(quotas, lambda user_id: self._exhausted(user_id) is not None)
        self._candidates: dict[RunId, Candidate] = {}
        self._overspent: dict[RunId, None] = {}

    def permitted(self, request: Request) -> Request:
        """The request, asking for no more than one run may have.

        Raises RateLimitedError for a user who asks too often, or whose runs have spent a quota, and OverloadedError
        when as many runs wait as may.
        """
        self._refuse_when_overloaded()
        user_id, now_ms = request.user_id, self._clock.now_ms()
        used_up = self._exhausted(user_id)
        if used_up is not None:
            retry_after_s = -(-(used_up.room_at_ms - now_ms) // 1000)
            problem = f"{used_up.sentence(user_id)}; there is room again in {retry_after_s} s"
            raise RateLimitedError(problem, user_id=user_id, retry_after_s=retry_after_s)
        if self._rates is not None:
            self._rates.take(user_id, now_ms)
        return self._under_ceilings(request)

    def _refuse_when_overloaded(self) -> None:
        allowed = self._quotas.queued
        if allowed is not None and self._queue.waiting >= max(allowed, 1):
            raise OverloadedError(
                f"{self._queue.waiting} runs wait already, limit {allowed}; try again in {RETRY_WHEN_OVERLOADED_S} s",
                waiting=self._queue.waiting,
                allowed=allowed,
                retry_after_s=RETRY_WHEN_OVERLOADED_S,
            )

    def open(self, run_id: RunId, request: Request, priority: str) -> bool:
        """Get to know a run; True when there is room for it right now, and nobody who waits comes before it."""
        self._candidates[run_id] = Candidate(run_id, request.user_id, request.session_id, priority)
        return self._queue.may_begin(self._candidates[run_id])

    def must_queue(self, run_id: RunId) -> bool:
        """True when the run may not go on right now."""
        return not self._queue.may_begin(self._candidates[run_id])

    def note(self, run_id: RunId, now: Envelope) -> None:
        """An event has changed the run, and perhaps whether it takes up room."""
        self._queue.note(self._candidates[run_id], now.lifecycle)

    def place(self, run_id: RunId) -> int | None:
        """Where the run stands among those that wait; None when it does not."""
        return self._queue.place(run_id)

    def put_back(self, run_id: RunId, before: Envelope, place: int | None) -> None:
        """What changed the run was not recorded: it is as before, at the same place among those that wait."""
        self._queue.note(self._candidates[run_id], before.lifecycle, place)

    def book(self, run_id: RunId, before: Envelope, after: Envelope) -> None:
        """What the run has spent between two of its states is recorded, and counts from now on."""
        llm_calls, tokens = spent_since(before, after)
        if not llm_calls and not tokens:
            return
        user_id = after.request.user_id
        self._spending.book(user_id, llm_calls, tokens, self._clock.now_ms())
        if after.lifecycle == "running" and self._exhausted(user_id) is not None:
            self._overspent[run_id] = None

    def forget(self, run_id: RunId) -> None:
        """The run takes up no room any more."""
        self._overspent.pop(run_id, None)
        candidate = self._candidates.pop(run_id, None)
        if candidate is not None:
            self._queue.note(candidate, "terminated")

    def next_overspent(self) -> tuple[RunId, QuotaExhausted] | None:
        """A run that is to be told that its user has spent a quota; each is named once for each time that it spent."""
        while self._overspent:
            run_id = next(iter(self._overspent))
            del self._overspent[run_id]
            user_id = self._candidates[run_id].user_id
            used_up = self._exhausted(user_id)
            if used_up is not None:
                return run_id, QuotaExhausted(used_up.name, used_up.sentence(user_id))
        return None

    def tell_again(self, run_id: RunId) -> None:
        """The run was named by `next_overspent`, and that could not be recorded."""
        if run_id in self._candidates:
            self._overspent[run_id] = None

    def next_run(self) -> RunId | None:
        """The waiting run that may begin or go on now."""
        return self._queue.next_run()

    @property
    def has_candidates(self) -> bool:
        """True when a run waits for room, or is to be told that its user has spent a quota."""
        return bool(self._queue.waiting or self._overspent)

    def _exhausted(self, user_id: str) -> Exhausted | None:
        return self._spending.exhausted(user_id, self._clock.now_ms())

    def _under_ceilings(self, request: Request) -> Request:
        calls, span_s = self._quotas.run_tool_calls, self._quotas.run_s
        if request.user_id in UNLIMITED_USERS:
            return request
        if calls is not None:
            limits = {**request.limits, "max_tool_calls": min(calls, request.limits.get("max_tool_calls", calls))}
            request = msgspec.structs.replace(request, limits=limits)
        if span_s is not None:
            asked_s = span_s if request.deadline_s is None else request.deadline_s
            request = msgspec.structs.replace(request, deadline_s=min(span_s, asked_s))
        return request
