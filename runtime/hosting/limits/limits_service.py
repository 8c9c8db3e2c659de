"""Applies rates and daily quotas to principals over all processes of a system, and remembers the day.

One process of a system has the service: doors take requests there, supervisors report what their runs spent and learn
who has used up a quota (`limits.spend` {spent} → {used_up}). What was counted is kept in the store every few seconds,
and read at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.errors import RateLimitedError, StateStorageError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.rate_limits import PAGE_RATES, PAGES, RateLimiter, RateLimits, RateState
from runtime.hosting.limits.spending import SPENT, Exhausted, Spending
from runtime.memory.usage_log import UsageLog, Use
from runtime.primitives.clock import Clock
from runtime.run.principal import LIMITED_KINDS

log = logging.getLogger(__name__)

LIMIT_QUERIES = ("limits.spend",)
KEEP_EVERY_S = 2.0
DAY_MS = 86_400_000
# Requests that begin a run. A used-up quota refuses these alone: one may still look, answer and cancel.
BEGINNING = frozenset({"chat", "fork"})

_REQUESTS = "requests"


class Limits(msgspec.Struct, frozen=True):
    """Holds the quotas and rate limits of the settings, and the kinds of principals that they apply to."""

    quotas: Quotas = Quotas()
    rates: RateLimits = RateLimits()
    rates_by_user: dict[str, RateLimits] = {}
    rates_by_endpoint: dict[str, RateLimits] = {}
    page_rates: RateLimits = PAGE_RATES
    limited: tuple[str, ...] = LIMITED_KINDS

    def of_runs(self) -> Quotas:
        """Return the quotas of runs, for these kinds of principals."""
        return msgspec.structs.replace(self.quotas, limited=self.limited)

    def limiter(self) -> RateLimiter:
        """Create the limiter of these rates."""
        by_endpoint = {PAGES: self.page_rates, **self.rates_by_endpoint}
        return RateLimiter(self.rates, self.rates_by_user, by_endpoint, self.limited)


class SpentBy(msgspec.Struct, frozen=True):
    """Reports what the runs of a user have spent since the last report."""

    user_id: str
    llm_calls: int
    tokens: int
    cost_micro: int = 0


class UsedUp(msgspec.Struct, frozen=True):
    """Reports a quota that a user has used up."""

    user_id: str
    exhausted: Exhausted


class LimitsService:
    """Counts requests and spending of all processes of a system. Without a `usage_log`, nothing outlives it."""

    def __init__(self, limits: Limits, clock: Clock, usage_log: UsageLog | None = None) -> None:
        """Read what was counted in the last day. Raises StateStorageError."""
        self._clock = clock
        self._rates = limits.limiter()
        self._spending = Spending(limits.of_runs())
        self._usage_log = usage_log
        self._unkept: list[Use] = []
        if usage_log is not None:
            for use in usage_log.since(clock.now_ms() - DAY_MS):
                self._restore(use)

    def queries(self) -> dict[str, QueryHandler]:
        """Return the handlers of supervisors' queries."""

        async def spend(body: dict[str, Any]) -> dict[str, Any]:
            return {"used_up": self.spend(msgspec.convert(body["spent"], list[SpentBy]))}

        return dict(zip(LIMIT_QUERIES, (spend,), strict=True))

    def take(self, user_id: str, endpoint: str) -> list[RateState]:
        """Count a request, and return how far the user is from each rate limit then.

        Raises RateLimitedError for a user who asks too often (`rates`: the same of it), and for one who would begin a
        run after using up a daily quota.
        """
        now_ms = self._clock.now_ms()
        used_up = self._spending.exhausted(user_id, now_ms) if endpoint in BEGINNING else None
        if used_up is not None:
            raise used_up.refusal(user_id, now_ms)
        try:
            is_own = self._rates.take(user_id, now_ms, endpoint)
        except RateLimitedError as error:
            states = msgspec.to_builtins(self._rates.states(user_id, now_ms, endpoint))
            raise RateLimitedError(error.message, **error.values, rates=states) from None
        if is_own:
            self._note(user_id, f"{_REQUESTS} {self._rates.counted_as(endpoint)}".strip(), 1)
        return self._rates.states(user_id, now_ms, endpoint)

    def spend(self, spent: list[SpentBy]) -> list[UsedUp]:
        """Count what runs have spent, and return the users who have used up a quota."""
        now_ms = self._clock.now_ms()
        for each in spent:
            self._spending.book(each.user_id, each.llm_calls, each.tokens, now_ms, each.cost_micro)
            for what, amount in zip(SPENT, (each.llm_calls, each.tokens, each.cost_micro), strict=True):
                if amount:
                    self._note(each.user_id, what, amount)
        return [UsedUp(user_id, exhausted) for user_id, exhausted in self._spending.all_exhausted(now_ms)]

    async def keep(self) -> None:
        """Write what was counted to the store every few seconds, for ever."""
        while True:
            await self._clock.sleep(KEEP_EVERY_S)
            await self.keep_now()

    async def keep_now(self) -> None:
        """Write what was counted since the last time; what cannot be written is tried again the next time."""
        if self._usage_log is None or not self._unkept:
            return
        uses, self._unkept = self._unkept, []
        try:
            await asyncio.to_thread(self._usage_log.add, uses)
        except StateStorageError as error:
            self._unkept = _summed([*uses, *self._unkept])
            log.warning("limits.not_kept", extra={"uses": len(self._unkept), "reason": error.message})

    def _note(self, user_id: str, what: str, amount: int) -> None:
        if self._usage_log is not None:
            self._unkept.append(Use(user_id, what, self._clock.now_ms(), amount))

    def _restore(self, use: Use) -> None:
        what, _, endpoint = use.what.partition(" ")
        if what == _REQUESTS:
            self._rates.restore(use.user_id, use.at_ms, endpoint, use.amount)
        else:
            calls, tokens, cost_micro = (use.amount if what == name else 0 for name in SPENT)
            self._spending.book(use.user_id, calls, tokens, use.at_ms, cost_micro)


def _summed(uses: list[Use]) -> list[Use]:
    """Return one use for each user and kind, at the latest time: so little is held while the store cannot write."""
    found: dict[tuple[str, str], Use] = {}
    for use in uses:
        earlier = found.get((use.user_id, use.what))
        amount = use.amount + (earlier.amount if earlier is not None else 0)
        found[use.user_id, use.what] = Use(use.user_id, use.what, use.at_ms, amount)
    return list(found.values())
