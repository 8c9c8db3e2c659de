"""Writes the whole answer as claims by a model, from the facts of all passes and the draft so far.

What a later round writes takes the place of the draft. Claims that are dropped go back to the model once, with the
reasons.
"""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.agents import synthesizer
from actors.capabilities.code_analysis.evidence.claims import read_claims
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.handover.execution import execution_if_any
from actors.capabilities.code_analysis.handover.passes import ModelDraft, PassRecord, last_draft, passes_of
from actors.capabilities.code_analysis.handover.plan import plan_of
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.model_input import model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.planning_context import reading_of_question
from actors.capabilities.code_analysis.models.prompt_layout import NOTHING, QUESTION_SHARE, render_prompt
from actors.capabilities.code_analysis.models.reading_order import in_reading_order
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import MOST_FACTS, SynthesisAnswer
from actors.capabilities.code_analysis.models.written_claims import ReadClaims, ShownFact, claims_of
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from runtime.agents.capability import StageContext, StageInput
from runtime.context.budget import FittedContext
from runtime.errors import BudgetExhaustedError, InvalidOutputError, ModelFailedError
from runtime.llm.messages import Message
from runtime.llm.stage_llm import Answered
from runtime.llm.structured import strings_so_far
from runtime.run.goals import Goal
from runtime.run.stage_view import StageView

MAX_GOAL_CHARS = 240
MAX_DRAFT_CHARS = 700
# In the place of the step that found a fact in an earlier pass.
EARLIER = "earlier"


async def synthesis_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for the whole answer; rules add nothing to it.

    Raises InvalidOutputError if it wrote claims and none can be used: the rules then write in its place.
    """
    base = read("synthesizer", await synthesizer.by_rules(context, view, given), SynthesisOutput)
    question = msgspec.convert(given.facts["question"], Question)
    goals = [goal for goal in view.goals.goals if goal.status != "dropped"]
    drafted = last_draft(passes_of(view))
    facts = _facts(view, question, msgspec.convert(given.facts["facts"], list[CodeFact]), goals, drafted)
    model = model_of(context)
    draft = [] if drafted is None else _draft_lines(*drafted)
    room = agent_context.Room(model.room_tokens, model.counter.count)
    texts = [goal.text for goal in goals]
    asked_shown = model.counter.cut(question.text, int(model.room_tokens * QUESTION_SHARE))
    seen = agent_context.of_facts("synthesizer", asked_shown, texts, facts, view.goals.round_number, room, draft)
    listed = "\n".join(f"- {goal.id}: {one_line(goal.text, MAX_GOAL_CHARS)}" for goal in goals)
    reading = "\n".join(f"- {said}" for said in reading_of_question(view)) or NOTHING
    draft_shown = "\n".join(seen.context.recent) or NOTHING
    lines = agent_context.numbered(seen, facts)
    layout = render_prompt(
        context, "synthesizer", question.text, lines, goals=listed, draft=draft_shown, reading=reading
    )

    def show(written: str) -> None:
        context.show("\n".join(sanitised(text, MAX_DRAFT_CHARS) for text in strings_so_far(written, "text")))

    names = [str(goal.id) for goal in goals]
    shown = _shown(seen, facts)[: layout.line_count]
    asked = "\n".join((question.text, *texts))
    answered = await model.generate_object(layout.messages, SynthesisAnswer, {"goals": names}, show)
    claims = claims_of(answered.object.claims, shown, names, asked)
    calls = answered.calls
    if claims.dropped:
        again = await _sent_back(context, layout.messages, answered, claims, names)
        calls += again.calls if again is not None else 0
        mended = claims if again is None else claims_of(again.object.claims, shown, names, asked)
        if again is not None and mended.count >= claims.count:
            answered, claims = again, mended
    if answered.object.claims and not claims.count:
        told = "; ".join(claim.told for claim in claims.dropped)
        raise InvalidOutputError(f"no claim that the model wrote can be used: {told}", problem=told)
    execution = execution_if_any(view)
    raw_tokens = 0 if execution is None else execution.context.raw_tokens
    output = msgspec.structs.replace(
        _output(base, answered.object, claims, _places_of_earlier_passes(view)),
        seen=[fact for fact in facts[: len(shown)] if fact.step != EARLIER],
        shown=agent_context.record(seen, raw_tokens),
        passes_before=len(view.goals.finished_rounds),
    )
    return ModelOutput(output, layout.prompt, calls)


def _facts(
    view: StageView,
    question: Question,
    found: list[CodeFact],
    goals: list[Goal],
    drafted: tuple[PassRecord, ModelDraft] | None,
) -> list[CodeFact]:
    """Return the facts of this pass and of earlier ones, in the order in which the model is to read them."""
    reads = [step.id for step in plan_of(view).steps if step.tool == "read_code" and not step.top_of]
    cited: set[str] = set()
    earlier: list[CodeFact] = []
    if drafted is not None:
        claims = [claim for of_goal in read_claims(drafted[0].hints_for_goals)[0].values() for claim in of_goal]
        cited = {citation.file for claim in claims for citation in claim.citations}
        drafts = [done.draft for done in passes_of(view) if isinstance(done.draft, ModelDraft)]
        # A step id means something in its own plan only.
        seen = (fact for draft in drafts for fact in draft.seen)
        earlier = [msgspec.structs.replace(fact, step=EARLIER, also_by=()) for fact in seen]
    aspects = {str(goal.id).partition(":")[0] for goal in goals}
    wants_uses = "usage" in aspects or "usage" in kind_of(question).besides
    return in_reading_order(question, [*found, *earlier], reads, cited, wants_uses)[:MOST_FACTS]


def _draft_lines(done: PassRecord, draft: ModelDraft) -> list[str]:
    """Return the draft so far: its claims with their marks, what was struck and why, and what is open."""
    claims = [claim for of_goal in read_claims(done.hints_for_goals)[0].values() for claim in of_goal]
    return [
        *(
            f"- {one_line(claim.text, MAX_DRAFT_CHARS)} ({', '.join(c.mark[1:-1] for c in claim.citations)})"
            for claim in sorted(claims, key=lambda claim: claim.place)
        ),
        *(f"- struck by the judge, {struck.verdict}: {struck.text} ({struck.why})" for struck in done.struck or ()),
        *(f"- open: {question}" for question in draft.open_questions),
    ]


def _shown(seen: FittedContext, facts: list[CodeFact]) -> list[ShownFact]:
    last = {excerpt.fact: agent_context.last_line_of(excerpt) for excerpt in seen.context.excerpts}
    said = seen.context.understanding.facts
    return [ShownFact(fact, last.get(one.id, 0)) for one, fact in zip(said, facts, strict=False)]


async def _sent_back(
    context: StageContext,
    messages: tuple[Message, ...],
    answered: Answered[SynthesisAnswer],
    claims: ReadClaims,
    goals: list[str],
) -> Answered[SynthesisAnswer] | None:
    """Ask once more with the reasons for which claims were dropped; None if there is no answer to that."""
    said = "\n".join(f"- {claim.told}" for claim in claims.dropped)
    wanted = (
        f"These claims cannot be used:\n{said}\nGive the whole JSON object again: mend them by what is shown, or leave "
        "them out, and keep the others as they are."
    )
    asked = [*messages, Message("assistant", answered.completion.text), Message("user", wanted)]
    try:
        return await model_of(context).generate_object(asked, SynthesisAnswer, {"goals": goals})
    except (ModelFailedError, BudgetExhaustedError):
        return None  # the claims that can be used are there


def _output(
    base: SynthesisOutput, answer: SynthesisAnswer, claims: ReadClaims, earlier: set[tuple[str, int]]
) -> SynthesisOutput:
    made = sorted((claim for found in claims.by_goal.values() for claim in found), key=lambda claim: claim.place)
    places = {(citation.file, citation.start_line) for claim in made for citation in claim.citations}
    places |= {(commit.hash, 0) for claim in made for commit in claim.commits}
    return msgspec.structs.replace(
        base,
        hints_for_goals={goal: msgspec.to_builtins(found) for goal, found in claims.by_goal.items()},
        key_flows=[claim.text for claim in made if claim.role == "step"],
        open_questions=[text for said in answer.open_questions if (text := sanitised(said))],
        contradictions=[text for said in answer.contradictions if (text := sanitised(said))],
        accumulated_evidence=len(places | earlier),
        new_evidence=len(places - earlier),
        claims_dropped=claims.reasons,
    )


def _places_of_earlier_passes(view: StageView) -> set[tuple[str, int]]:
    found = (read_claims(done.hints_for_goals)[0] for done in passes_of(view))
    claims = [claim for by_goal in found for of_goal in by_goal.values() for claim in of_goal]
    places = {(citation.file, citation.start_line) for claim in claims for citation in claim.citations}
    return places | {(commit.hash, 0) for claim in claims for commit in claim.commits}
