"""Formats the rate limits of a caller as the fields RateLimit-Policy and RateLimit.

They are those of draft-ietf-httpapi-ratelimit-headers-10: lists of structured fields (RFC 9651), `q`: the requests of a
policy, `w`: its window in seconds, `r`: the requests that are left, `t`: the seconds until there are more of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.hosting.limits.rate_limits import RateState

# Where a request leaves the fields of its answer.
RATE_FIELDS_STATE = "rate_fields"


def rate_fields(states: Sequence[RateState]) -> list[tuple[bytes, bytes]]:
    """Return the header fields: all policies, and the limit that is nearest to be reached; empty without limits."""
    if not states:
        return []
    policies = ", ".join(f'"{state.name}";q={state.allowed};w={state.span_s}' for state in states)
    nearest = min(states, key=lambda state: (state.remaining, -state.reset_s))
    left = f'"{nearest.name}";r={nearest.remaining};t={nearest.reset_s}'
    return [(b"ratelimit-policy", policies.encode()), (b"ratelimit", left.encode())]
