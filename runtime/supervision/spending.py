"""Decides what is booked of an attempt's spending: what it reports, within what it was granted.

A grant is reserved before it is spent, so a report beyond it, or below zero, is a fault of the agent: it is recorded,
and what is booked stays within the grant. Runs that began under schema version 1 are booked as they were reported, so
that their logs replay to the same state.
"""

from __future__ import annotations

import msgspec

from runtime.run.bounds import Grant
from runtime.supervision.events import StageUsage

# The first version whose runs are booked within their grants.
BOUNDED_SINCE = 2

# Tokens of an attempt without a limit; more cannot have been spent, and sums of it stay numbers that every wire takes.
MOST_TOKENS = 10**12

# Millionths of the currency that one attempt can have cost; sums of it stay such numbers, too.
MOST_COST_MICRO = 10**14


def unreported(grant: Grant) -> StageUsage:
    """Return what counts as spent by an attempt that was lost or cut off: all that was reserved for it."""
    return StageUsage(llm_calls=grant.llm_calls, tool_calls=grant.tool_calls, tokens_out=grant.tokens or 0)


def booked(reported: StageUsage, grant: Grant, schema_version: int) -> tuple[StageUsage, str | None]:
    """Return what is booked of a report, and the agent's fault in words if the report is not what is booked."""
    if schema_version < BOUNDED_SINCE:
        return reported, None
    allowed = MOST_TOKENS if grant.tokens is None else grant.tokens
    tokens_in = _within(reported.tokens_in, allowed)
    within = msgspec.structs.replace(
        reported,
        llm_calls=_within(reported.llm_calls, grant.llm_calls),
        tool_calls=_within(reported.tool_calls, grant.tool_calls),
        tokens_in=tokens_in,
        tokens_out=_within(reported.tokens_out, allowed - tokens_in),
        cost_micro=_within(reported.cost_micro, MOST_COST_MICRO),
    )
    return within, None if within == reported else _fault(reported, within, grant, allowed)


def _within(count: int, allowed: int) -> int:
    return max(0, min(count, allowed))


def _fault(reported: StageUsage, within: StageUsage, grant: Grant, tokens: int) -> str:
    allowed = {
        "llm_calls": grant.llm_calls,
        "tool_calls": grant.tool_calls,
        "tokens_in": tokens,
        "tokens_out": tokens,
        "cost_micro": MOST_COST_MICRO,
    }
    parts = [
        f"{getattr(reported, name)} {name} of {most} granted, booked {getattr(within, name)}"
        for name, most in allowed.items()
        if getattr(reported, name) != getattr(within, name)
    ]
    return f"the agent reported what it cannot have spent: {'; '.join(parts)}"
