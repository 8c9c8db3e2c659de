"""Limits how often users may submit requests.

Rates are counted over a minute, an hour and a day, with a token bucket for bursts; `None` switches a limit off. The
local user and batch workers are not limited.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping

import msgspec

from runtime.errors import RateLimitedError
from runtime.hosting.admission import UNLIMITED_USERS

_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000


class RateLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Bounds requests per span, inclusive; `burst` may come at once, refilled at the rate of `per_minute`."""

    per_minute: int | None = 60
    per_hour: int | None = 1_000
    per_day: int | None = 10_000
    burst: int | None = 10


class RateLimiter:
    """Counts requests per user. Overrides: endpoint before user before default."""

    def __init__(
        self,
        default: RateLimits | None,
        by_user: Mapping[str, RateLimits] | None = None,
        by_endpoint: Mapping[str, RateLimits] | None = None,
    ) -> None:
        self._default = default
        self._by_user = dict(by_user or {})
        self._by_endpoint = dict(by_endpoint or {})
        self._seen: dict[tuple[str, str], list[int]] = {}
        self._bucket: dict[tuple[str, str], tuple[float, int]] = {}

    def take(self, user_id: str, now_ms: int, endpoint: str = "") -> None:
        """Count one request, or raise RateLimitedError with the seconds after which it may be tried again."""
        limits = self._by_endpoint.get(endpoint) or self._by_user.get(user_id) or self._default
        if limits is None or user_id in UNLIMITED_USERS:
            return
        key = (user_id, endpoint if endpoint in self._by_endpoint else "")
        seen = self._seen.setdefault(key, [])
        del seen[: bisect_right(seen, now_ms - _DAY_MS)]
        wait_ms = max(self._window_wait_ms(seen, limits, now_ms), self._burst_wait_ms(key, limits, now_ms))
        if wait_ms > 0:
            retry_after_s = -(-wait_ms // 1000)
            raise RateLimitedError(
                f"user '{user_id}' asks too often; try again in {retry_after_s} s",
                user_id=user_id,
                retry_after_s=retry_after_s,
            )
        insort(seen, now_ms)
        if limits.burst is not None:
            tokens, _ = self._tokens(key, limits, now_ms)
            self._bucket[key] = (tokens - 1, now_ms)

    def _window_wait_ms(self, seen: list[int], limits: RateLimits, now_ms: int) -> int:
        waits = [0]
        for allowed, span_ms in (
            (limits.per_minute, _MINUTE_MS),
            (limits.per_hour, _HOUR_MS),
            (limits.per_day, _DAY_MS),
        ):
            if allowed is None:
                continue
            within = len(seen) - bisect_right(seen, now_ms - span_ms)
            if within >= allowed:
                waits.append(seen[-allowed] + span_ms - now_ms if allowed else span_ms)
        return max(waits)

    def _burst_wait_ms(self, key: tuple[str, str], limits: RateLimits, now_ms: int) -> int:
        if limits.burst is None:
            return 0
        tokens, refill_ms = self._tokens(key, limits, now_ms)
        return 0 if tokens >= 1 else round((1 - tokens) * refill_ms)

    def _tokens(self, key: tuple[str, str], limits: RateLimits, now_ms: int) -> tuple[float, float]:
        """Return the tokens in a user's bucket now, and the milliseconds that one more takes."""
        burst = limits.burst or 0
        refill_ms = _MINUTE_MS / (limits.per_minute or 60)
        tokens, at_ms = self._bucket.get(key, (float(burst), now_ms))
        since_ms = max(0, now_ms - at_ms)  # a clock that was set back removes no tokens
        return min(float(burst), tokens + since_ms / refill_ms), refill_ms
