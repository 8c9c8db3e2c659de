"""Tells a model that plans what is known: the repository, what was looked for and seen, what is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actors.capabilities.code_analysis.evidence.claims import plain, read_claims
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.handover.intent import intent_if_any
from actors.capabilities.code_analysis.handover.passes import ModelDraft, PassRecord, last_draft, passes_of
from actors.capabilities.code_analysis.handover.perception import memory_of, perception_if_any
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.model_input import model_of
from actors.capabilities.code_analysis.models.repository_overview import files_of, overview_of
from actors.capabilities.code_analysis.session.remembered import KnownFile
from runtime.agents.capability import StageContext
from runtime.codebase.codebase import Codebase
from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.context.budget import FittedContext
from runtime.run.stage_view import StageView

MAX_LINE_CHARS = 240
MAX_SEEN = 40


def codebase_of(context: StageContext, view: StageView) -> Codebase | None:
    """Return the repository that perception opened; None before that."""
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None or context.services is None:
        return None
    codebase: Codebase = context.services.codebase(perceived.repository)
    return codebase


async def repository_lines(context: StageContext, view: StageView) -> list[str]:
    """Return the lines that describe the repository; none before it was opened."""
    codebase, perceived = codebase_of(context, view), perception_if_any(view)
    if codebase is None or perceived is None:
        return []
    return list(await context.run_blocking(overview_of, codebase, perceived.stats.by_language))


async def file_lines(context: StageContext, view: StageView) -> list[str]:
    """Return the lines that list the files of the repository; none before it was opened."""
    codebase = codebase_of(context, view)
    return [] if codebase is None else list(await context.run_blocking(files_of, codebase))


def planner_context(
    view: StageView,
    question: str,
    goals: Sequence[str],
    hint: object,
    measured: Sequence[Mapping[str, Any]],
    room: agent_context.Room | None = None,
    repository: Sequence[str] = (),
    files: Sequence[str] = (),
) -> FittedContext:
    """Build the context of a planner, what matters most first; lines over the budget are cut from the end.

    The hint, what the user's words leave open, the answer so far, what is open, what was looked for and seen, then the
    repository, earlier questions, known files, tools, and all files by name. `measured` holds {tool, calls, usable,
    mean_ms} rows.
    """
    memory = memory_of(view)
    passes = passes_of(view)
    drafted = last_draft(passes)
    lines = [
        *([f"hint: {hint}"] if hint else []),
        *reading_of_question(view),
        *([] if drafted is None else _so_far(*drafted)),
        *(_pass(number, done) for number, done in enumerate(passes, 1)),
        *seen_not_read(fact for done in passes if isinstance(done.draft, ModelDraft) for fact in done.draft.seen),
    ]
    knows = [
        *(_earlier(answer) for answer in memory.earlier_answers if answer.question != question),
        *(_file(known) for known in memory.understood),
        *(_tool(metric) for metric in measured),
    ]
    told = [*map(_line, lines), *repository, *map(_line, knows), *files]
    return agent_context.of_lines("planner", question, goals, told, room)


def reading_of_question(view: StageView) -> list[str]:
    """Return how the question is limited and what it leaves open, as intent has read it."""
    understood = intent_if_any(view)
    if understood is None:
        return []
    return [
        *(f"limited to: {said}" for said in understood.constraints),
        *(f"it may also mean: {said}" for said in understood.ambiguities),
    ]


def seen_not_read(facts: Any) -> list[str]:
    """Return the places that searches showed and nobody has read, by name."""
    found: list[CodeFact] = list(facts)
    read = [fact for fact in found if fact.kind == "code"]
    unread = [
        f"{fact.name} in {fact.citation.file} lines {fact.citation.start_line} to {fact.citation.end_line}"
        for fact in found
        if fact.kind == "definition" and fact.name and not any(_holds(code, fact) for code in read)
    ]
    listed = list(dict.fromkeys(unread))
    more = [f"and {len(listed) - MAX_SEEN} more"] if len(listed) > MAX_SEEN else []
    return [f"seen, not read: {place}" for place in (*listed[:MAX_SEEN], *more)]


def fitted(context: StageContext, lines: Sequence[str], share: float) -> str:
    """Join as many lines as fit that share of the prompt's room."""
    model = model_of(context)
    left = share * model.room_tokens
    kept: list[str] = []
    for line in lines:
        left -= model.counter.count(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _holds(code: CodeFact, fact: CodeFact) -> bool:
    one, other = code.citation, fact.citation
    return one.file == other.file and one.start_line <= other.start_line <= one.end_line


def _so_far(done: PassRecord, draft: ModelDraft) -> list[str]:
    claims = [claim for of_goal in read_claims(done.hints_for_goals)[0].values() for claim in of_goal]
    return [
        *([f"hint: {draft.hint}"] if draft.hint else []),
        *(f"answered so far: {claim.text}" for claim in sorted(claims, key=lambda claim: claim.place)),
        *(f"struck by the judge, {struck.verdict}: {struck.text}" for struck in done.struck or ()),
        *(f"open: {question}" for question in draft.open_questions),
    ]


def _pass(number: int, done: PassRecord) -> str:
    results = ", ".join(f"{step.tool} {step.status} {step.found}" for step in done.steps)
    asked = f" for {'; '.join(done.draft.asked)}" if isinstance(done.draft, ModelDraft) and done.draft.asked else ""
    return f"pass {number}{asked} had results: {results or 'none'}"


def _earlier(answer: EarlierAnswer) -> str:
    """Return where an earlier question led: places to read, not what was made of them."""
    places = ", ".join(f"{cited.file} lines {cited.start_line} to {cited.end_line}" for cited in answer.cited)
    return f"for '{answer.question}' these were read: {places}"


def _file(known: KnownFile) -> str:
    symbols = ", ".join(known.symbols)
    says = f": {known.summary}" if known.summary else ""
    return f"file {known.file}{says}{f' (defines {symbols})' if symbols else ''}"


def _tool(metric: Mapping[str, Any]) -> str:
    calls, usable, mean_ms = metric["calls"], metric["usable"], metric["mean_ms"]
    return f"tool {metric['tool']}: {usable} of {calls} calls found something, {mean_ms} ms each"


def _line(text: str) -> str:
    return plain(" ".join("".join(char if char.isprintable() else " " for char in text).split()))[:MAX_LINE_CHARS]
