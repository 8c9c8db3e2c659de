"""Folds the events of a run into spans: the run, its stage attempts, and their tool calls.

A span is made when what it describes is over. Pure: whoever folds the same events makes the same spans with the same
ids.
"""

from __future__ import annotations

from runtime.primitives.ids import StageKey
from runtime.primitives.spans import Span, SpanValue, span_id_of, stage_span_id_of, trace_id_of
from runtime.run.envelope import FAILURE_REASONS, Envelope, HistoryRecord
from runtime.supervision.events import Event, ToolCalled
from runtime.supervision.state import Decision, RunState
from runtime.tools.result import USABLE

MAX_ERROR_CHARS = 500


def spans_of(before: RunState, event: Event, decision: Decision) -> list[Span]:
    """Return the spans that an event of a run completes; `before`: the state that it was decided on."""
    then, now = before.envelope, decision.state.envelope
    found = []
    if type(event.payload) is ToolCalled:
        found.append(_of_tool(event, event.payload))
    if now.history is not then.history:
        found += [_of_stage(now, record) for record in now.history[len(then.history) :]]
    if now.lifecycle == "terminated" and then.lifecycle != "terminated":
        found.append(_of_run(now, event.at_ms))
    return found


def _of_tool(event: Event, called: ToolCalled) -> Span:
    return Span(
        trace_id_of(event.run_id),
        span_id_of(f"{called.key}/{event.seq}"),
        stage_span_id_of(called.key),
        f"tool {called.tool}",
        event.at_ms - called.duration_ms,
        event.at_ms,
        {"jeeves.tool": called.tool, "jeeves.status": called.status},
        None if called.status in USABLE else called.status,
    )


def _of_stage(run: Envelope, record: HistoryRecord) -> Span:
    attributes: dict[str, SpanValue] = {
        "jeeves.run_id": run.run_id,
        "jeeves.stage": record.stage,
        "jeeves.hop": record.hop,
        "jeeves.item": record.item,
        "jeeves.attempt": record.attempt,
        "jeeves.status": record.status,
        "jeeves.llm_calls": record.llm_calls,
        "jeeves.tool_calls": record.tool_calls,
        "jeeves.tokens": record.tokens,
    }
    return Span(
        trace_id_of(run.run_id),
        stage_span_id_of(StageKey(run.run_id, record.hop, record.item, record.attempt)),
        span_id_of(run.run_id),
        f"stage {record.stage}",
        record.started_at_ms,
        record.started_at_ms + record.duration_ms,
        attributes,
        record.error[:MAX_ERROR_CHARS] if record.error else None,
    )


def _of_run(run: Envelope, at_ms: int) -> Span:
    reason = str(run.terminal_reason)
    attributes: dict[str, SpanValue] = {
        "jeeves.run_id": run.run_id,
        "jeeves.pipeline": run.request.pipeline,
        "jeeves.terminal_reason": reason,
        "jeeves.hops": run.usage.agent_hops,
        "jeeves.llm_calls": run.usage.llm_calls,
        "jeeves.tool_calls": run.usage.tool_calls,
        "jeeves.tokens_in": run.usage.tokens_in,
        "jeeves.tokens_out": run.usage.tokens_out,
    }
    return Span(
        trace_id_of(run.run_id),
        span_id_of(run.run_id),
        None,
        f"run {run.request.pipeline}",
        run.received_at_ms,
        at_ms,
        attributes,
        (run.terminal_detail or reason)[:MAX_ERROR_CHARS] if reason in FAILURE_REASONS else None,
    )
