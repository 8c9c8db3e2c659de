"""Folds the events of a run into spans: the run, its stage attempts, and their tool calls.

A span is made when what it describes is over; its making is left to whoever sends it, beside the work on runs. Pure:
whoever folds the same events makes the same spans with the same ids.
"""

from __future__ import annotations

from functools import partial

from runtime.primitives.ids import RunId
from runtime.primitives.spans import (
    LateSpan,
    Span,
    SpanKind,
    attempt_span_id,
    run_ids_of,
    stage_span_id_of,
    tool_span_id_of,
    trace_id_of,
)
from runtime.run.envelope import FAILURE_REASONS, HistoryRecord, Usage
from runtime.supervision.events import Event, ToolCalled
from runtime.supervision.state import Decision, RunState
from runtime.tools.result import USABLE

MAX_ERROR_CHARS = 500

TOOL = SpanKind("jeeves.tool", "jeeves.status")
STAGE = SpanKind(
    *("jeeves.run_id", "jeeves.stage", "jeeves.hop", "jeeves.item", "jeeves.attempt"),
    *("jeeves.status", "jeeves.llm_calls", "jeeves.tool_calls", "jeeves.tokens"),
)
RUN = SpanKind(
    *("jeeves.run_id", "jeeves.pipeline", "jeeves.terminal_reason", "jeeves.hops"),
    *("jeeves.llm_calls", "jeeves.tool_calls", "jeeves.tokens_in", "jeeves.tokens_out"),
)


def spans_of(before: RunState, event: Event, decision: Decision) -> list[LateSpan]:
    """Return the spans that an event of a run completes; `before`: the state that it was decided on."""
    then, now = before.envelope, decision.state.envelope
    found: list[LateSpan] = []
    if type(event.payload) is ToolCalled:
        found.append(partial(_of_tool, event.at_ms, event.seq, event.payload))
    if now.history is not then.history:
        for record in now.history[len(then.history) :]:
            found.append(partial(_of_stage, now.run_id, record))
    if now.lifecycle == "terminated" and then.lifecycle != "terminated":
        reason = str(now.terminal_reason)
        error = (now.terminal_detail or reason)[:MAX_ERROR_CHARS] if reason in FAILURE_REASONS else None
        # Not the envelope, which may be large, and would be kept until the span is sent.
        run = (now.run_id, now.request.pipeline, reason, now.usage, now.received_at_ms)
        found.append(partial(_of_run, *run, event.at_ms, error))
    return found


def _of_tool(at_ms: int, seq: int, called: ToolCalled) -> Span:
    return Span(
        trace_id_of(called.key.run_id),
        tool_span_id_of(called.key, seq),
        stage_span_id_of(called.key),
        TOOL,
        f"tool {called.tool}",
        at_ms - called.duration_ms,
        at_ms,
        (called.tool, called.status),
        None if called.status in USABLE else called.status,
    )


def _of_stage(run_id: RunId, record: HistoryRecord) -> Span:
    trace_id, run_span_id = run_ids_of(run_id)
    stage, hop, item, attempt, began_ms = record.stage, record.hop, record.item, record.attempt, record.started_at_ms
    return Span(
        trace_id,
        attempt_span_id(run_span_id, hop, item, attempt),
        run_span_id,
        STAGE,
        f"stage {stage}",
        began_ms,
        began_ms + record.duration_ms,
        (run_id, stage, hop, item, attempt, record.status, record.llm_calls, record.tool_calls, record.tokens),
        record.error[:MAX_ERROR_CHARS] if record.error else None,
    )


def _of_run(
    run_id: RunId, pipeline: str, reason: str, used: Usage, began_ms: int, ended_ms: int, error: str | None
) -> Span:
    spent = (used.agent_hops, used.llm_calls, used.tool_calls, used.tokens_in, used.tokens_out)
    return Span(
        *run_ids_of(run_id),
        None,
        RUN,
        f"run {pipeline}",
        began_ms,
        ended_ms,
        (run_id, pipeline, reason, *spent),
        error,
    )
