"""Builds the planner model's context: existing knowledge, within the token budget. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.handover.passes import PassRecord, passes_of
from actors.capabilities.code_analysis.handover.perception import memory_of
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.session.remembered import KnownFile
from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.context.budget import FittedContext
from runtime.run.stage_view import StageView

MAX_LINE_CHARS = 240


def planner_context(
    view: StageView, question: str, goals: Sequence[str], hint: object, measured: Sequence[Mapping[str, Any]]
) -> FittedContext:
    """Build the context: critic's hint, earlier passes, earlier answers, known files, tool metrics.

    The lines are in that order, the most important first; lines over the budget are cut from the end. `measured` holds
    {tool, calls, usable, mean_ms} rows.
    """
    memory = memory_of(view)
    lines = [
        *([f"hint: {hint}"] if hint else []),
        *(_pass(number, done) for number, done in enumerate(passes_of(view), 1)),
        *(_earlier(answer) for answer in memory.earlier_answers),
        *(_file(known) for known in memory.understood),
        *(_tool(metric) for metric in measured),
    ]
    return agent_context.of_lines("planner", question, goals, [_line(line) for line in lines])


def _pass(number: int, done: PassRecord) -> str:
    results = ", ".join(f"{step.tool} {step.status} {step.found}" for step in done.steps)
    return f"pass {number} had results: {results or 'none'}"


def _earlier(answer: EarlierAnswer) -> str:
    places = ", ".join(f"{cited.file} lines {cited.start_line} to {cited.end_line}" for cited in answer.cited)
    return f"an answer to '{answer.question}' rests on {places}"


def _file(known: KnownFile) -> str:
    symbols = ", ".join(known.symbols)
    says = f": {known.summary}" if known.summary else ""
    return f"file {known.file}{says}{f' (defines {symbols})' if symbols else ''}"


def _tool(metric: Mapping[str, Any]) -> str:
    calls, usable, mean_ms = metric["calls"], metric["usable"], metric["mean_ms"]
    return f"tool {metric['tool']}: {usable} of {calls} calls found something, {mean_ms} ms each"


def _line(text: str) -> str:
    return plain(" ".join("".join(char if char.isprintable() else " " for char in text).split()))[:MAX_LINE_CHARS]
