"""Counts what each user's runs spend within 24 hours, against the daily quotas, within bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec

from runtime.errors import RateLimitedError
from runtime.hosting.limits.admission import Quotas
from runtime.hosting.limits.principal_table import PrincipalTable
from runtime.hosting.limits.span_counts import DAY_MS, FEW, SpanCounts, SteadyTime
from runtime.primitives.money import told_money
from runtime.run.principal import is_limited

Spent = Literal["llm_calls", "tokens", "cost"]

SPENT: tuple[Spent, ...] = get_args(Spent)

# Beyond that many times of one user, they are merged.
_MANY = 16 * FEW


class Exhausted(msgspec.Struct, frozen=True):
    """Describes a quota of a user that is used up until `room_at_ms`."""

    name: Spent
    spent: int
    allowed: int
    room_at_ms: int

    def sentence(self, user_id: str) -> str:
        """Return the message for the user."""
        if self.name == "cost":
            told, allowed = told_money(self.spent), told_money(self.allowed)
            return f"the runs of user '{user_id}' have cost {told} within 24 hours, quota {allowed}"
        what = "model calls" if self.name == "llm_calls" else "tokens"
        return f"user '{user_id}' has spent {self.spent} {what} within 24 hours, quota {self.allowed}"

    def refusal(self, user_id: str, now_ms: int) -> RateLimitedError:
        """Return the error for a request that comes before there is room again."""
        retry_after_s = max(1, -(-(self.room_at_ms - now_ms) // 1000))
        problem = f"{self.sentence(user_id)}; there is room again in {retry_after_s} s"
        return RateLimitedError(problem, user_id=user_id, retry_after_s=retry_after_s)


class _Booked:
    """Holds what one user has spent."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[Spent, SpanCounts] = {name: SpanCounts() for name in SPENT}

    def is_idle(self, now_ms: int) -> bool:
        last = [counts.last_ms for counts in self.counts.values() if counts.last_ms is not None]
        return max(last, default=now_ms - DAY_MS) <= now_ms - DAY_MS


class Spending:
    """Tracks what each user's runs have spent in the last 24 hours, against the quotas."""

    def __init__(self, quotas: Quotas) -> None:
        limits: dict[Spent, int | None] = {
            "llm_calls": quotas.llm_calls_per_day,
            "tokens": quotas.tokens_per_day,
            "cost": quotas.cost_per_day,
        }
        self._allowed = {name: allowed for name, allowed in limits.items() if allowed is not None}
        self._limited = quotas.limited
        self._time = SteadyTime()
        self._table: PrincipalTable[_Booked] = PrincipalTable(_Booked)

    def book(self, user_id: str, llm_calls: int, tokens: int, now_ms: int, cost_micro: int = 0) -> None:
        """Add what a run of the user has spent since its last booking."""
        if not is_limited(user_id, self._limited):
            return
        now_ms = self._time.at(now_ms)
        spent: dict[Spent, int] = {"llm_calls": llm_calls, "tokens": tokens, "cost": cost_micro}
        for name, amount in spent.items():
            if not amount or name not in self._allowed:
                continue
            for booked in self._table.counters(user_id, now_ms):
                counts = booked.counts[name]
                counts.forget(now_ms - DAY_MS)
                counts.add(now_ms, amount)
                if len(counts) > _MANY:
                    counts.merge(now_ms)

    def cost(self, user_id: str, now_ms: int) -> int:
        """Return what the runs of a user have cost in the last 24 hours, as far as the cost has a quota."""
        after_ms = self._time.at(now_ms) - DAY_MS
        return min((each.counts["cost"].total(after_ms) for each in self._table.found(user_id)), default=0)

    def exhausted(self, user_id: str, now_ms: int) -> Exhausted | None:
        """Return the quota that the user has used up, and when there is room again; None while no quota is."""
        if not self._allowed or not is_limited(user_id, self._limited):
            return None
        now_ms, clock_ms = self._time.at(now_ms), now_ms
        booked = self._table.found(user_id)
        for name, allowed in self._allowed.items():
            spent = min((each.counts[name].total(now_ms - DAY_MS) for each in booked), default=0)
            if spent >= allowed:
                room_ms = min((_room_at_ms(each.counts[name], allowed, now_ms) for each in booked), default=None)
                room_at_ms = clock_ms + DAY_MS if room_ms is None else self._time.on_clock(room_ms)
                return Exhausted(name, spent, allowed, room_at_ms)
        return None

    def all_exhausted(self, now_ms: int) -> Iterator[tuple[str, Exhausted]]:
        """Yield the users who have used up a quota, of those who are counted by themselves."""
        if self._allowed:
            for user_id, _ in list(self._table.own()):
                found = self.exhausted(user_id, now_ms)
                if found is not None:
                    yield user_id, found


def _room_at_ms(counts: SpanCounts, allowed: int, now_ms: int) -> int:
    counts.forget(now_ms - DAY_MS)
    return counts.room_at_ms(allowed, DAY_MS) if allowed and len(counts) else now_ms + DAY_MS
