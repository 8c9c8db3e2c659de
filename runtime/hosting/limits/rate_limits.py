"""Limits how often principals may submit requests.

Rates are counted over a minute, an hour and a day, with a token bucket for bursts; `None` switches a limit off. The
former user `local` and batch work have no rates. Memory is bounded: `runtime.hosting.limits.principal_table`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from runtime.errors import RateLimitedError
from runtime.hosting.limits.principal_table import CELLS, MAX_PRINCIPALS, PrincipalTable
from runtime.hosting.limits.span_counts import DAY_MS, FEW, HOUR_MS, MINUTE_MS, SpanCounts, SteadyTime
from runtime.run.principal import FORMER_USERS, LIMITED_KINDS, is_limited, read_principal

MAX_TIMES = 500_000


class RateLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Bounds requests per span, inclusive; `burst` may come at once, refilled at the rate of `per_minute`."""

    per_minute: int | None = 60
    per_hour: int | None = 1_000
    per_day: int | None = 10_000
    burst: int | None = 10


# The endpoint as which pages of the dashboard and their streams are counted.
PAGES = "pages"
PAGE_RATES = RateLimits(per_minute=240, per_hour=6_000, per_day=40_000, burst=120)


class RateState(msgspec.Struct, frozen=True):
    """Describes how far a principal is from one limit: `remaining` of `allowed` requests, more of them in `reset_s`.

    `span_s`: the span of the limit; of a burst, how long an empty bucket takes to be full again.
    """

    name: str
    allowed: int
    span_s: int
    remaining: int
    reset_s: int


class Requests:
    """Counts the requests of one principal."""

    __slots__ = ("_bucket", "counts")

    def __init__(self) -> None:
        self.counts = SpanCounts()
        self._bucket: tuple[float, int] | None = None

    def is_idle(self, now_ms: int) -> bool:
        """Return True a day after the last request."""
        last_ms = self.counts.last_ms
        return last_ms is None or last_ms <= now_ms - DAY_MS

    def wait_ms(self, limits: RateLimits, now_ms: int) -> float:
        """Return after how long one more request is permitted."""
        self.counts.forget(now_ms - DAY_MS)
        waits = [0.0]
        for _, allowed, span_ms in _windows(limits):
            if self.counts.total(now_ms - span_ms) >= allowed:
                waits.append(self.counts.room_at_ms(allowed, span_ms) - now_ms if allowed else span_ms)
        if limits.burst is not None:
            tokens, refill_ms = self._tokens(limits, now_ms)
            waits.append(0 if tokens >= 1 else round((1 - tokens) * refill_ms))
        return max(waits)

    def take(self, limits: RateLimits, now_ms: int) -> None:
        """Count a request."""
        self.counts.add(now_ms, 1)
        if limits.burst is not None:
            tokens, _ = self._tokens(limits, now_ms)
            self._bucket = (tokens - 1, now_ms)

    def states(self, limits: RateLimits, now_ms: int) -> list[RateState]:
        """Return how far the principal is from each limit, after what was counted until now."""
        found = []
        for name, allowed, span_ms in _windows(limits):
            counted = min(self.counts.total(now_ms - span_ms), allowed)
            more_in_ms = 0 if allowed else span_ms
            if counted:
                more_in_ms = self.counts.room_at_ms(counted, span_ms) - now_ms
            found.append(RateState(name, allowed, span_ms // 1000, allowed - counted, _whole_s(more_in_ms)))
        if limits.burst is not None:
            tokens, refill_ms = self._tokens(limits, now_ms)
            whole, span_s = max(0, int(tokens)), _whole_s(limits.burst * refill_ms)
            next_in_ms = (whole + 1 - tokens) * refill_ms if whole < limits.burst else 0.0
            found.append(RateState("burst", limits.burst, span_s, whole, _whole_s(next_in_ms)))
        return found

    def _tokens(self, limits: RateLimits, now_ms: int) -> tuple[float, float]:
        """Return the tokens in the bucket now, and the milliseconds that one more takes."""
        burst = limits.burst or 0
        refill_ms = MINUTE_MS / (limits.per_minute or 60)
        tokens, at_ms = self._bucket or (float(burst), now_ms)
        return min(float(burst), tokens + (now_ms - at_ms) / refill_ms), refill_ms


class RateLimiter:
    """Counts requests per principal. Overrides: endpoint before principal before its kind before default.

    `by_user`: by `user_id`, or `KIND:*`. `limited`: the kinds that have rates without being named. `most`
    principals have counters of their own, the rest share `cells` in each row; beyond `most_times` times
    that are held in all, they are merged.
    """

    def __init__(
        self,
        default: RateLimits | None,
        by_user: Mapping[str, RateLimits] | None = None,
        by_endpoint: Mapping[str, RateLimits] | None = None,
        limited: Collection[str] = LIMITED_KINDS,
        most: int = MAX_PRINCIPALS,
        cells: int = CELLS,
        most_times: int = MAX_TIMES,
    ) -> None:
        self._default = default
        self._by_user = dict(by_user or {})
        self._by_endpoint = dict(by_endpoint or {})
        self._limited = frozenset(limited)
        self._time = SteadyTime()
        self._table: PrincipalTable[Requests] = PrincipalTable(Requests, most, cells, self._drop)
        self._most_times = most_times
        self._times = 0

    def take(self, user_id: str, now_ms: int, endpoint: str = "") -> bool:
        """Count one request, or raise RateLimitedError with the seconds after which it may be tried again.

        Return True if the user was counted by itself.
        """
        limits = self._limits(user_id, endpoint)
        if limits is None:
            return False
        now_ms = self._time.at(now_ms)
        requests = self._table.counters(f"{self.counted_as(endpoint)} {user_id}", now_ms)
        held = sum(len(each.counts) for each in requests)
        wait_ms = min(each.wait_ms(limits, now_ms) for each in requests)
        self._times += sum(len(each.counts) for each in requests) - held
        if wait_ms > 0:
            retry_after_s = _whole_s(wait_ms)
            raise RateLimitedError(
                f"user '{user_id}' asks too often; try again in {retry_after_s} s",
                user_id=user_id,
                retry_after_s=retry_after_s,
            )
        held = sum(len(each.counts) for each in requests)
        for each in requests:
            each.take(limits, now_ms)
            if self._times >= self._most_times and len(each.counts) > FEW:
                each.counts.merge(now_ms)
        self._times += sum(len(each.counts) for each in requests) - held
        return len(requests) == 1

    def states(self, user_id: str, now_ms: int, endpoint: str = "") -> list[RateState]:
        """Return how far a principal is from each of its limits; empty if it has none, or none was counted."""
        limits = self._limits(user_id, endpoint)
        if limits is None:
            return []
        requests = self._table.found(f"{self.counted_as(endpoint)} {user_id}")
        return self._states(requests, limits, self._time.at(now_ms))

    def _states(self, requests: Sequence[Requests], limits: RateLimits, now_ms: int) -> list[RateState]:
        """Return the states of the counters of a principal; of those of one limit the least used holds."""
        by_limit = zip(*(each.states(limits, now_ms) for each in requests), strict=True)
        return [max(states, key=lambda state: state.remaining) for states in by_limit]

    def restore(self, user_id: str, at_ms: int, endpoint: str, amount: int) -> None:
        """Count requests of the last day as at an earlier time; in the order of their times, before any `take`."""
        if self._limits(user_id, endpoint) is not None:
            at_ms = self._time.at(at_ms)
            for each in self._table.counters(f"{self.counted_as(endpoint)} {user_id}", at_ms):
                self._times -= len(each.counts)
                each.counts.add(at_ms, amount)
                self._times += len(each.counts)

    def counted_as(self, endpoint: str) -> str:
        """Return the endpoint if its requests are counted by themselves, else the empty string."""
        return endpoint if endpoint in self._by_endpoint else ""

    @property
    def counters(self) -> int:
        """The number of counters in use."""
        return len(self._table)

    @property
    def times(self) -> int:
        """The number of times that all counters hold together."""
        return self._times

    def _drop(self, requests: Requests) -> None:
        self._times -= len(requests.counts)

    def _limits(self, user_id: str, endpoint: str) -> RateLimits | None:
        found = read_principal(user_id)
        kind = found.kind if found is not None else ""
        own = self._by_user.get(user_id) or self._by_user.get(f"{kind}:*")
        if kind == "batch" or user_id in FORMER_USERS or (own is None and not is_limited(user_id, self._limited)):
            return None
        return self._by_endpoint.get(endpoint) or own or self._default


def _windows(limits: RateLimits) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the allowed requests and the span of each limit that is in force, the bucket aside."""
    windows = (
        ("minute", limits.per_minute, MINUTE_MS),
        ("hour", limits.per_hour, HOUR_MS),
        ("day", limits.per_day, DAY_MS),
    )
    for name, allowed, span_ms in windows:
        if allowed is not None:
            yield name, allowed, span_ms


def _whole_s(span_ms: float) -> int:
    return int(-(-span_ms // 1000))
