"""What a planner with a model is told besides question and goals: what is known already, within its budget. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.models import agent_context
from runtime.context.budget import FittedContext
from runtime.run.stage_view import StageView

MAX_LINE_CHARS = 240


def shown_to_planner(
    view: StageView, question: str, goals: Sequence[str], hint: object, measured: Sequence[Mapping[str, Any]]
) -> FittedContext:
    """The hint of the critic, what earlier passes looked for, earlier answers, known files, and how tools fared.

    In that order, what matters most first; `measured`: {tool, calls, usable, mean_ms} each. What the budget has no room
    for is left out from the end.
    """
    memory = view.outputs.get("perception", {}).get("memory_context", {})
    lines = [
        *([f"hint: {hint}"] if hint else []),
        *(_pass(number, done.synthesis) for number, done in enumerate(view.goals.finished_rounds, 1)),
        *(_earlier(answer) for answer in memory.get("earlier_answers", ())),
        *(_file(known) for known in memory.get("understood", ())),
        *(_tool(metric) for metric in measured),
    ]
    return agent_context.of_lines("planner", question, goals, [_line(line) for line in lines])


def raw_tokens_of_last_pass(view: StageView) -> int:
    """Tokens of all that tools gave in the pass before; 0 in the first."""
    finished = view.goals.finished_rounds
    return agent_context.raw_tokens_of(dict(finished[-1].synthesis)) if finished else 0


def _pass(number: int, synthesis: Mapping[str, Any]) -> str:
    steps = [step for step in synthesis.get("steps") or () if isinstance(step, Mapping)]
    told = ", ".join(f"{step.get('tool')} {step.get('status')} {step.get('found')}" for step in steps)
    return f"pass {number} had results: {told or 'none'}"


def _earlier(answer: Mapping[str, Any]) -> str:
    places = ", ".join(f"{c['file']} lines {c['start_line']} to {c['end_line']}" for c in answer.get("cited", ()))
    return f"an answer to '{answer.get('question', '')}' rests on {places}"


def _file(known: Mapping[str, Any]) -> str:
    symbols = ", ".join(map(str, known.get("symbols", ())))
    said = known.get("summary") or ""
    return f"file {known.get('file')}{f': {said}' if said else ''}{f' (defines {symbols})' if symbols else ''}"


def _tool(metric: Mapping[str, Any]) -> str:
    calls, usable, mean_ms = metric["calls"], metric["usable"], metric["mean_ms"]
    return f"tool {metric['tool']}: {usable} of {calls} calls found something, {mean_ms} ms each"


def _line(text: str) -> str:
    return plain(" ".join("".join(char if char.isprintable() else " " for char in text).split()))[:MAX_LINE_CHARS]
