"""Writes claims by a model, and keeps those whose facts show what they name.

A model selects, orders and words; it never creates evidence. Its claims refer to facts by number and take their
citations from those; a claim that names code which its fact does not show is dropped and counted.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from actors.capabilities.code_analysis.agents import synthesizer
from actors.capabilities.code_analysis.answers.wording import change_claim, together_claim
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole
from actors.capabilities.code_analysis.evidence.facts import Fact, FactKind
from actors.capabilities.code_analysis.handover.execution import execution_if_any
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.model_input import best_first, model_of, one_line, sanitised
from actors.capabilities.code_analysis.models.prompt_layout import render_prompt
from actors.capabilities.code_analysis.models.rule_fallback import ModelOutput
from actors.capabilities.code_analysis.models.schemas import (
    MOST_FACTS,
    SynthesisAnswer,
    WrittenClaim,
)
from actors.capabilities.code_analysis.question.analysis import Question
from runtime.agents.capability import StageContext, StageInput
from runtime.codebase.files.words import looks_like_identifier
from runtime.llm.structured import strings_so_far
from runtime.run.stage_view import StageView

_ROLE_OF_FACT: dict[FactKind, ClaimRole] = {
    "definition": "lead",
    "code": "lead",
    "excerpt": "item",
    "caller": "caller",
    "reference": "caller",
    "callee": "step",
    "importer": "importer",
    "test": "test",
    "module": "module",
    "trace": "step",
}

_NAMED = re.compile(r"`([^`]+)`|([A-Za-z_][\w.]*)")


async def synthesis_by_model(context: StageContext, view: StageView, given: StageInput) -> ModelOutput:
    """Ask the model for claims about the facts; goals without a usable claim keep those of the rules."""
    base = read("synthesizer", await synthesizer.by_rules(context, view, given), SynthesisOutput)
    question = msgspec.convert(given.facts["question"], Question)
    facts = best_first(question, msgspec.convert(given.facts["facts"], list[Fact]))[:MOST_FACTS]
    targets = [str(goal) for goal in given.facts["target_goals"]]
    texts = {str(goal.id): goal.text for goal in view.goals.goals}
    seen = agent_context.of_facts(
        "synthesizer", question.text, [texts.get(goal, goal) for goal in targets], facts, view.goals.round_number
    )
    layout = render_prompt(
        context,
        "synthesizer",
        question.text,
        agent_context.numbered(seen),
        goals="\n".join(f"- {goal}: {one_line(texts.get(goal, goal), 160)}" for goal in targets),
    )

    def show(written: str) -> None:
        context.show("\n".join(sanitised(text) for text in strings_so_far(written, "text")))

    answered = await model_of(context).generate_object(layout.messages, SynthesisAnswer, {"goals": targets}, show)
    claims, dropped = claims_of(answered.object.claims, facts[: layout.line_count], targets)
    hints = {goal: msgspec.to_builtins(claims[goal]) or base.hints_for_goals.get(goal, []) for goal in targets}
    execution = execution_if_any(view)
    output = msgspec.structs.replace(
        base,
        hints_for_goals=hints,
        key_flows=[claim["text"] for found in hints.values() for claim in found if claim["role"] == "step"],
        open_questions=[sanitised(text) for text in answered.object.open_questions],
        claims_dropped=dict(dropped),
        shown=agent_context.record(seen, 0 if execution is None else execution.context.raw_tokens),
        filled_by_rules=[goal for goal in targets if not claims[goal] and hints[goal]],
    )
    return ModelOutput(output, layout.prompt, answered.calls)


def claims_of(
    written: list[WrittenClaim], facts: list[Fact], goals: list[str]
) -> tuple[dict[str, list[Claim]], Counter[str]]:
    """Build claims by goal with the citations of their facts; count the dropped ones by reason."""
    claims: dict[str, list[Claim]] = {goal: [] for goal in goals}
    dropped: Counter[str] = Counter()
    for claim in written:
        text = sanitised(claim.text)
        if claim.goal not in claims:
            dropped["no_such_goal"] += 1
        elif claim.fact > len(facts):
            dropped["no_such_fact"] += 1
        elif not text:
            dropped["no_text"] += 1
        elif unsupported_names(text, facts[claim.fact - 1]):
            dropped["names_what_is_not_there"] += 1
        else:
            fact = facts[claim.fact - 1]
            made = _claim_of(fact, text)
            claims[claim.goal] += [] if made in claims[claim.goal] else [made]
    return claims, dropped


def _claim_of(fact: Fact, text: str) -> Claim:
    """Build the claim for a fact in the model's words; claims about commits use fixed wording."""
    if fact.kind == "change":
        return change_claim(fact)
    if fact.kind == "together":
        return together_claim(fact)
    return Claim(_ROLE_OF_FACT[fact.kind], text, (fact.citation,), subject=fact.name)


def unsupported_names(text: str, fact: Fact) -> list[str]:
    """Return the code names in a sentence that the fact behind it does not show."""
    shown = "\n".join(
        (
            *(fact.name, fact.signature, fact.docstring, fact.text, fact.about),
            *(fact.citation.quote, fact.citation.symbol or "", fact.citation.file),
        )
    )
    words = [(quoted, word.rstrip(".")) for quoted, word in _NAMED.findall(text)]
    named = [quoted or word for quoted, word in words if quoted or looks_like_identifier(word)]
    return [name for name in named if not all(part in shown for part in re.findall(r"\w+", name))]
