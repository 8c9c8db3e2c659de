"""Makes the spans of model calls, below the stage attempts that make them."""

from __future__ import annotations

import secrets

from runtime.llm.call_metrics import Outcome
from runtime.llm.messages import Completion
from runtime.primitives.spans import Span, SpanKind, SpanValue, current_stage, emit, stage_span_id_of, trace_id_of

UNANSWERED = SpanKind("jeeves.role", "jeeves.deployment", "jeeves.outcome")
ANSWERED = SpanKind(
    *UNANSWERED.attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "jeeves.tokens_cached"
)


def emit_model_call(
    role: str, deployment: str, outcome: Outcome, completion: Completion | None, start_ms: int, end_ms: int
) -> None:
    """Emit the span of a call that has ended, if the run of the stage that made it is traced."""
    key = current_stage()
    if key is None:
        return
    kind = UNANSWERED
    used: tuple[int, ...] = ()
    if completion is not None:
        kind, used = ANSWERED, (completion.tokens_in, completion.tokens_out, completion.tokens_cached)
    error = None if outcome in ("served", "cancelled") else outcome
    trace_id, parent_id = trace_id_of(key.run_id), stage_span_id_of(key)
    span_id = secrets.randbits(64) or 1
    values: tuple[SpanValue, ...] = (role, deployment, outcome, *used)
    span = Span(trace_id, span_id, parent_id, kind, f"model {deployment}", start_ms, end_ms, values, error)
    emit(lambda: span)
