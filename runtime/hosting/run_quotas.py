"""Applies the quotas of one supervisor to its runs: refuses requests, queues runs, stops runs."""

from __future__ import annotations

import msgspec

from runtime.errors import OverloadedError, RateLimitedError
from runtime.hosting.limits.admission import AdmissionQueue, Candidate, Place, Quotas
from runtime.hosting.limits.rate_limits import RateLimiter
from runtime.hosting.limits.reserved_cost import ReservedCost
from runtime.hosting.limits.spending import Exhausted, Spending
from runtime.hosting.write_batch import Spent, spent_since
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId
from runtime.primitives.money import told_money
from runtime.run.envelope import Envelope, Request
from runtime.run.principal import is_limited
from runtime.supervision.events import QuotaExhausted

RETRY_WHEN_OVERLOADED_S = 10


class RunQuotas:
    """Tracks the runs of a supervisor against its quotas."""

    def __init__(self, quotas: Quotas, rates: RateLimiter | None, clock: Clock) -> None:
        self._quotas = quotas
        self._rates = rates
        self._clock = clock
        self._spending = Spending(quotas)
        self._queue = AdmissionQueue(quotas, lambda user_id: self._exhausted(user_id) is not None)
        self._candidates: dict[RunId, Candidate] = {}
        self._overspent: dict[RunId, None] = {}
        self._unreported: dict[str, Spent] = {}
        # What each run that has reached the ceiling of one run has cost.
        self._costs: dict[RunId, int] = {}
        self._used_up: dict[str, Exhausted] = {}
        self._reserved = ReservedCost(quotas.run_cost)

    def permitted(self, request: Request) -> Request:
        """Return the request with its limits lowered to the ceilings of one run.

        Raises RateLimitedError for a user who submits too often, whose runs have used up a quota, or of whom too many
        runs wait, and OverloadedError if the queue of waiting runs is full.
        """
        self._refuse_when_overloaded(request.user_id)
        user_id, now_ms = request.user_id, self._clock.now_ms()
        used_up = self._exhausted(user_id)
        if used_up is not None:
            raise used_up.refusal(user_id, now_ms)
        self.refuse_beyond_reserved(user_id)
        if self._rates is not None:
            self._rates.take(user_id, now_ms)
        return self._under_ceilings(request)

    def refuse_beyond_reserved(self, user_id: str) -> None:
        """Raise RateLimitedError for a user whose runs under way may use up the costs of the day."""
        allowed = self._quotas.cost_per_day
        if allowed is None or not is_limited(user_id, self._quotas.limited):
            return
        left = allowed - self._spending.cost(user_id, self._clock.now_ms())
        if self._reserved.leaves_nothing(user_id, left):
            raise RateLimitedError(
                f"the runs of user '{user_id}' that are under way may cost the {told_money(max(0, left))} that are left"
                f" of the quota {told_money(allowed)}; try again in {RETRY_WHEN_OVERLOADED_S} s",
                user_id=user_id,
                retry_after_s=RETRY_WHEN_OVERLOADED_S,
            )

    def _refuse_when_overloaded(self, user_id: str) -> None:
        own, waiting = self._quotas.queued_per_user, self._queue.waiting_of(user_id)
        if own is not None and waiting >= max(own, 1):
            raise RateLimitedError(
                f"{waiting} runs of user '{user_id}' wait already, limit {own};"
                f" try again in {RETRY_WHEN_OVERLOADED_S} s",
                user_id=user_id,
                retry_after_s=RETRY_WHEN_OVERLOADED_S,
            )
        allowed = self._quotas.queued
        if allowed is not None and self._queue.waiting >= max(allowed, 1):
            raise OverloadedError(
                f"{self._queue.waiting} runs wait already, limit {allowed}; try again in {RETRY_WHEN_OVERLOADED_S} s",
                waiting=self._queue.waiting,
                allowed=allowed,
                retry_after_s=RETRY_WHEN_OVERLOADED_S,
            )

    def open(self, run_id: RunId, request: Request, priority: str) -> bool:
        """Register a run; return True if there is room for it right now and no waiting run comes before it."""
        self._candidates[run_id] = Candidate(run_id, request.user_id, request.session_id, priority)
        return self._queue.may_begin(self._candidates[run_id])

    def must_queue(self, run_id: RunId) -> bool:
        """Return True if the run may not continue right now."""
        return not self._queue.may_begin(self._candidates[run_id])

    def note(self, run_id: RunId, now: Envelope) -> None:
        """Update the run's state after an event, which may change whether it takes up room."""
        self._queue.note(self._candidates[run_id], now.lifecycle)
        self._reserved.note(run_id, now.request.user_id, now.lifecycle, now.usage.cost_micro)

    def place(self, run_id: RunId) -> Place | None:
        """Return the run's place among the waiting runs; None if it does not wait."""
        return self._queue.place(run_id)

    def put_back(self, run_id: RunId, before: Envelope, place: Place | None) -> None:
        """Undo a change that was not recorded: the run is as before, at the same place among the waiting runs."""
        self._queue.note(self._candidates[run_id], before.lifecycle, place)
        self._reserved.note(run_id, before.request.user_id, before.lifecycle, before.usage.cost_micro)

    def book(self, run_id: RunId, before: Envelope, after: Envelope) -> None:
        """Count the recorded spending of a run between two of its states."""
        spent = spent_since(before, after)
        if not any(spent):
            return
        user_id = after.request.user_id
        self._spending.book(user_id, spent.llm_calls, spent.tokens, self._clock.now_ms(), spent.cost_micro)
        self.report_again({user_id: spent})
        if self._is_above_ceiling(after):
            self._costs[run_id] = after.usage.cost_micro
        if after.lifecycle == "running" and (run_id in self._costs or self._exhausted(user_id) is not None):
            self._overspent[run_id] = None

    def spent_since_report(self) -> dict[str, Spent]:
        """Return what each user's runs have spent since the last call."""
        taken, self._unreported = self._unreported, {}
        return taken

    def report_again(self, spent: dict[str, Spent]) -> None:
        """Have `spent_since_report` return these as well, as nobody received them."""
        for user_id, amounts in spent.items():
            self._unreported[user_id] = self._unreported.get(user_id, Spent()).plus(amounts)

    def used_up_elsewhere(self, used_up: dict[str, Exhausted]) -> None:
        """Record the users who have used up a quota by runs of all supervisors; runs of these users are stopped."""
        new = used_up.keys() - self._used_up.keys()
        self._used_up = used_up
        stopped = [run_id for run_id, run in self._candidates.items() if run.user_id in new] if new else []
        self._overspent |= dict.fromkeys(stopped)

    def forget(self, run_id: RunId) -> None:
        """Remove a run, which then takes up no room."""
        self._overspent.pop(run_id, None)
        self._costs.pop(run_id, None)
        candidate = self._candidates.pop(run_id, None)
        if candidate is not None:
            self._queue.note(candidate, "terminated")
            self._reserved.drop(run_id, candidate.user_id)

    def next_overspent(self) -> tuple[RunId, QuotaExhausted] | None:
        """Return a run to stop because a quota is used up, or its ceiling; each once for each time that it spent."""
        while self._overspent:
            run_id = next(iter(self._overspent))
            del self._overspent[run_id]
            if run_id in self._costs and self._quotas.run_cost is not None:
                told, allowed = told_money(self._costs[run_id]), told_money(self._quotas.run_cost)
                return run_id, QuotaExhausted("cost", f"the run has cost {told}, limit {allowed}", of_run=True)
            user_id = self._candidates[run_id].user_id
            used_up = self._exhausted(user_id)
            if used_up is not None:
                return run_id, QuotaExhausted(used_up.name, used_up.sentence(user_id))
        return None

    def tell_again(self, run_id: RunId) -> None:
        """Have `next_overspent` return the run again, as its event could not be recorded."""
        if run_id in self._candidates:
            self._overspent[run_id] = None

    def next_run(self) -> RunId | None:
        """Return the waiting run that may start or continue now; None if there is none."""
        return self._queue.next_run()

    @property
    def waiting(self) -> int:
        """The number of runs that wait for room."""
        return self._queue.waiting

    @property
    def has_candidates(self) -> bool:
        """True if a run waits for room, or is to be stopped because its user has used up a quota."""
        return bool(self._queue.waiting or self._overspent)

    def _exhausted(self, user_id: str) -> Exhausted | None:
        now_ms, elsewhere = self._clock.now_ms(), self._used_up.get(user_id)
        if elsewhere is not None and elsewhere.room_at_ms > now_ms:
            return elsewhere
        return self._spending.exhausted(user_id, now_ms)

    def _is_above_ceiling(self, run: Envelope) -> bool:
        """Return True if a run has cost what one run may."""
        allowed = self._quotas.run_cost
        return (
            allowed is not None
            and run.usage.cost_micro >= allowed
            and is_limited(run.request.user_id, self._quotas.limited)
        )

    def _under_ceilings(self, request: Request) -> Request:
        calls, span_s = self._quotas.run_tool_calls, self._quotas.run_s
        if not is_limited(request.user_id, self._quotas.limited):
            return request
        if calls is not None:
            limits = {**request.limits, "max_tool_calls": min(calls, request.limits.get("max_tool_calls", calls))}
            request = msgspec.structs.replace(request, limits=limits)
        if span_s is not None:
            asked_s = span_s if request.deadline_s is None else request.deadline_s
            request = msgspec.structs.replace(request, deadline_s=min(span_s, asked_s))
        return request
