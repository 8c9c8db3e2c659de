"""Computes what a run may still spend, and which bound forbids a move.

N permits exactly N. Calls and tokens are reserved before they are made: a grant counts as spent until its stage
reports. A pipeline with a final stage keeps one hop back for it, so N−1 other hops are permitted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from runtime.errors import InputError
from runtime.pipeline.config import MAX_SPAN_S, AgentConfig, PipelineConfig, edge_name
from runtime.run.envelope import Bounds, Envelope, Request, TerminalReason
from runtime.run.grant import Grant as Grant

SOFT_LIMIT = 0.8
FIRST_LLM_CALLS = 1
FIRST_TOOL_CALLS = 8
FIRST_TOKENS = 16_000

# The bounds of every pipeline that a caller may lower, besides a pipeline's own context bounds.
CountedBound = Literal["max_iterations", "max_llm_calls", "max_agent_hops", "max_tool_calls", "max_tokens"]
LIMITS = get_args(CountedBound)

REASON_OF_BOUND: dict[str, TerminalReason] = {
    "llm_calls": "max_llm_calls_exceeded",
    "tokens": "max_tokens_exceeded",
    # Tokens are what costs; the detail of such an ending tells the amounts.
    "cost": "max_tokens_exceeded",
}


class Blocked(msgspec.Struct, frozen=True):
    """Names the bound that forbids the next move: terminal reason, and a sentence with actual and allowed."""

    reason: TerminalReason
    detail: str


def known_limits(config: PipelineConfig) -> tuple[str, ...]:
    """Return the bounds that a request for this pipeline may lower, in a fixed order."""
    return (*LIMITS, *config.context_bounds)


def unknown_limits(config: PipelineConfig, request: Request) -> tuple[str, ...]:
    """Return the names in the request's limits that no bound of the pipeline has, sorted."""
    return tuple(sorted(set(request.limits) - set(known_limits(config))))


def check_limits(config: PipelineConfig, request: Request) -> None:
    """Check that every limit of the request names a bound. Raises InputError that lists the known ones."""
    unknown = unknown_limits(config, request)
    if unknown:
        known = known_limits(config)
        raise InputError(
            f"limits: there is no {', '.join(unknown)}; the pipeline '{config.name}' has {', '.join(known)}",
            unknown=unknown,
            known=known,
        )


def bounds_for(config: PipelineConfig, request: Request, at_ms: int) -> Bounds:
    """Return the bounds of a new run: the pipeline's, each lowered where the request asks for less, never raised."""

    def lower(name: str, allowed: int) -> int:
        return max(0, min(allowed, request.limits.get(name, allowed)))

    tokens = config.max_tokens
    if tokens is not None or "max_tokens" in request.limits:
        tokens = max(0, min(limit for limit in (tokens, request.limits.get("max_tokens")) if limit is not None))
    spans_s = [span for span in (config.deadline_s, request.deadline_s) if span is not None and not math.isnan(span)]
    span_s = max(0.0, min(*spans_s, MAX_SPAN_S)) if spans_s else None
    return Bounds(
        max_iterations=lower("max_iterations", config.max_iterations),
        max_llm_calls=lower("max_llm_calls", config.max_llm_calls),
        max_agent_hops=lower("max_agent_hops", config.max_agent_hops),
        max_tool_calls=lower("max_tool_calls", config.max_tool_calls),
        max_tokens=tokens,
        deadline_ms=None if span_s is None else at_ms + round(span_s * 1000),
        context={name: lower(name, value) for name, value in config.context_bounds.items()},
    )


def grant_for(envelope: Envelope, reserved: Iterable[Grant]) -> Grant:
    """Return all that is left after spending and after the grants `reserved` by stages in flight; never negative."""
    taken = list(reserved)
    bounds, usage = envelope.bounds, envelope.usage
    tokens = None
    if bounds.max_tokens is not None:
        spent = usage.tokens_in + usage.tokens_out + sum(grant.tokens or 0 for grant in taken)
        tokens = max(0, bounds.max_tokens - spent)
    return Grant(
        llm_calls=max(0, bounds.max_llm_calls - usage.llm_calls - sum(grant.llm_calls for grant in taken)),
        tool_calls=max(0, bounds.max_tool_calls - usage.tool_calls - sum(grant.tool_calls for grant in taken)),
        tokens=tokens,
    )


def first_grant(agent: AgentConfig, envelope: Envelope, reserved: Iterable[Grant], has_model: bool) -> Grant:
    """Return a stage's first grant: a model call with its tokens if it has a model, some tool calls if it has tools.

    It requests more while it works. Small first grants keep the cost of a lost attempt low, and leave something for the
    stages that run beside it.
    """
    left = grant_for(envelope, reserved)
    first_tokens = (agent.max_tokens or FIRST_TOKENS) if has_model else 0
    return Grant(
        llm_calls=min(left.llm_calls, FIRST_LLM_CALLS) if has_model else 0,
        tool_calls=min(left.tool_calls, FIRST_TOOL_CALLS) if agent.has_tools else 0,
        tokens=None if left.tokens is None else min(left.tokens, first_tokens),
    )


def further_grant(envelope: Envelope, reserved: Iterable[Grant], asked: Grant) -> Grant:
    """Return as much of the requested grant as is left."""
    left = grant_for(envelope, reserved)
    return Grant(
        llm_calls=max(0, min(asked.llm_calls, left.llm_calls)),
        tool_calls=max(0, min(asked.tool_calls, left.tool_calls)),
        tokens=None if left.tokens is None else max(0, min(asked.tokens or 0, left.tokens)),
    )


def blocked_hop(config: PipelineConfig, envelope: Envelope, target: str) -> Blocked | None:
    """Return the bound that forbids one more stage execution, or None."""
    allowed = envelope.bounds.max_agent_hops
    kept_back = 1 if config.final_stage is not None and target != config.final_stage else 0
    if envelope.usage.agent_hops < allowed - kept_back:
        return None
    note = f" ({kept_back} kept for '{config.final_stage}')" if kept_back else ""
    return Blocked(
        "max_agent_hops_exceeded",
        f"{envelope.usage.agent_hops} stage executions made, limit {allowed}{note}; '{target}' would be one more",
    )


def is_loop_back(config: PipelineConfig, source: str, target: str) -> bool:
    """Return True when the move goes to a stage earlier in stage_order: one iteration."""
    return config.stages[target].stage_order < config.stages[source].stage_order


def blocked_edge(config: PipelineConfig, envelope: Envelope, source: str, target: str) -> Blocked | None:
    """Return the bound that forbids taking the edge source → target once more, or None."""
    name = edge_name(source, target)
    limit = config.edge_limit_of.get(name)
    taken = envelope.usage.edges.get(name, 0)
    if limit is not None and taken >= limit:
        return Blocked("max_loop_exceeded", f"edge '{source}' -> '{target}' taken {taken} times, limit {limit}")
    allowed = envelope.bounds.max_iterations
    if is_loop_back(config, source, target) and envelope.usage.iterations >= allowed:
        return Blocked(
            "max_iterations_exceeded",
            f"{envelope.usage.iterations} loop-backs made, limit {allowed}; '{source}' -> '{target}' would be one more",
        )
    return None


def soft_limits_passed(envelope: Envelope) -> frozenset[CountedBound]:
    """Return the names of counters at or above 80 % of their bound (bounds of 0 and none are left out)."""
    bounds, usage = envelope.bounds, envelope.usage
    pairs: dict[CountedBound, tuple[int, int]] = {
        "max_iterations": (usage.iterations, bounds.max_iterations),
        "max_llm_calls": (usage.llm_calls, bounds.max_llm_calls),
        "max_agent_hops": (usage.agent_hops, bounds.max_agent_hops),
        "max_tool_calls": (usage.tool_calls, bounds.max_tool_calls),
        "max_tokens": (usage.tokens_in + usage.tokens_out, bounds.max_tokens or 0),
    }
    return frozenset(name for name, (spent, allowed) in pairs.items() if allowed and spent >= SOFT_LIMIT * allowed)
