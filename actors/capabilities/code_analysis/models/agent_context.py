"""Builds each model agent's context: facts, excerpts and goals within the agent's token budget.

Agents never see tool output. The record notes what was cut, and how much smaller the context is than that output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.evidence.claims import commit_text
from actors.capabilities.code_analysis.evidence.facts import Fact, FactKind
from runtime.context.budget import Budget, FittedContext, fit_context
from runtime.context.models import AgentContext, Excerpt, FactCategory, Understanding
from runtime.context.models import Fact as Conclusion

FACT_DOC_CHARS = 160
MAX_EXCERPT_CHARS = 1_200

# Tokens of each agent: in all, facts, excerpts, what others wrote before (turns, claims).
BUDGETS: dict[str, Budget] = {
    "intent": Budget(1_500, 0, 0, 1_000),
    "planner": Budget(2_500, 0, 0, 1_500),
    "synthesizer": Budget(9_000, 5_000, 5_000, 0),
    "critic": Budget(4_000, 0, 0, 3_000),
}

_CATEGORIES: dict[FactKind, FactCategory] = {"change": FactCategory.PATTERN, "together": FactCategory.PATTERN}
# How sure it is that a fact says what it seems to: what stands in the index, what a search of text met by chance.
_CONFIDENCE: dict[FactKind, float] = {"excerpt": 0.7, "reference": 0.8, "callee": 0.9, "trace": 0.9, "caller": 0.9}
_SURE = 1.0


def of_facts(agent: str, task: str, goals: Sequence[str], facts: Sequence[Fact], round_number: int) -> FittedContext:
    """Build the context of an agent that reads facts, best first; ids are `f1`, `f2`, … in that order."""
    named = [(f"f{number}", fact) for number, fact in enumerate(facts, 1)]
    context = AgentContext(
        agent=agent,
        task=task or "-",
        goals=tuple(goal for goal in goals if goal),
        understanding=Understanding(facts=tuple(conclusion(name, fact, round_number) for name, fact in named)),
        excerpts=tuple(
            Excerpt(place=fact.citation.mark, text=fact.text[:MAX_EXCERPT_CHARS], fact=name)
            for name, fact in named
            if fact.kind == "code" and fact.text
        ),
    )
    return fit_context(context, BUDGETS[agent])


def of_lines(agent: str, task: str, goals: Sequence[str], lines: Sequence[str]) -> FittedContext:
    """Build the context of an agent that reads other agents' text, the most important lines first."""
    context = AgentContext(
        agent=agent,
        task=task or "-",
        goals=tuple(goal for goal in goals if goal),
        recent=tuple(line for line in lines if line),
    )
    return fit_context(context, BUDGETS[agent])


def conclusion(name: str, fact: Fact, round_number: int) -> Conclusion:
    """Convert a fact to one line: kind, name, place and description."""
    return Conclusion(
        id=name,
        category=_CATEGORIES.get(fact.kind, FactCategory.CODE_STRUCTURE),
        statement=_statement(fact),
        confidence=_CONFIDENCE.get(fact.kind, _SURE),
        source=f"{fact.step or 'tool'}:{fact.kind}",
        step=round_number,
    )


def numbered(fitted: FittedContext) -> list[str]:
    """Render the facts as a numbered list for a model, each followed by its excerpt when that fitted the budget."""
    code = {excerpt.fact: excerpt.text for excerpt in fitted.context.excerpts}
    return [
        f"{number}. {fact.statement}" + (f"\n{code[fact.id]}" if fact.id in code else "")
        for number, fact in enumerate(fitted.context.understanding.facts, 1)
    ]


def record(fitted: FittedContext, raw_tokens: int) -> dict[str, Any]:
    """Summarise a context for the run record: tokens by part, cuts, and the share saved against raw tool output."""
    saved = 1 - fitted.total_tokens / raw_tokens if raw_tokens else None
    return {
        "tokens": fitted.tokens,
        "cut": [msgspec.to_builtins(cut) for cut in fitted.cut],
        "raw_tokens": raw_tokens,
        "saved_share": None if saved is None else round(saved, 3),
    }


def _statement(fact: Fact) -> str:
    if fact.commit is not None:
        return f"{fact.kind} {fact.about}: {_one_line(commit_text(fact.commit), FACT_DOC_CHARS)}"
    place = f"{fact.citation.file}:{fact.citation.start_line}-{fact.citation.end_line}"
    about = f" uses {fact.about}" if fact.about and fact.kind in {"caller", "reference", "importer", "test"} else ""
    description = _one_line(fact.docstring or fact.citation.quote, FACT_DOC_CHARS)
    return f"{fact.kind} {fact.signature or fact.name}{about} ({place}) {description}".rstrip()


def _one_line(text: str, most: int) -> str:
    return " ".join(str(text).split())[:most]
