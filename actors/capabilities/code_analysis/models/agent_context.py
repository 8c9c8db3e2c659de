"""Builds each model agent's context: facts, excerpts and goals within the agent's token budget.

Agents never see tool output. Budgets are shares of the room that the model has for a prompt. The record notes what was
cut, and how much smaller the context is than that output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from actors.capabilities.code_analysis.evidence.claims import commit_text
from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind
from runtime.context.answer_context import AnswerContext, Excerpt
from runtime.context.budget import Budget, Count, FittedContext, estimated_tokens, fit_context
from runtime.context.fields import MAX_NAME_CHARS, MAX_STATEMENT_CHARS
from runtime.context.models import Fact as Conclusion
from runtime.context.models import FactCategory, Understanding
from runtime.context.understanding import MAX_FACTS

FACT_DOC_CHARS = 200
# A passage is one or two sentences that answer, so it is shown whole.
PASSAGE_CHARS = 600

# The room of a prompt where no model says how much it has.
ROOM_TOKENS = 12_000


class Shares(NamedTuple):
    """Divides the room of a prompt: in all, facts in a line each, code, what others wrote before (turns, claims)."""

    total: float
    facts: float
    excerpts: float
    recent: float


SHARES: dict[str, Shares] = {
    "intent": Shares(0.6, 0, 0, 0.5),
    "planner": Shares(0.6, 0, 0, 0.5),
    "synthesizer": Shares(0.9, 0.35, 0.8, 0.2),
    "critic": Shares(0.9, 0, 0, 0.85),
}

_CATEGORIES: dict[FactKind, FactCategory] = {"change": FactCategory.PATTERN, "together": FactCategory.PATTERN}
# What a call is whose callee is known by its name alone.
_UNPROVEN = "call by name, of an object of unknown type:"
_USES: frozenset[FactKind] = frozenset({"caller", "reference", "mention", "importer", "test"})
# How sure it is that a fact says what it seems to: what stands in the index, what a search of text met by chance.
_CONFIDENCE: dict[FactKind, float] = {"excerpt": 0.7, "reference": 0.8, "callee": 0.9, "trace": 0.9, "caller": 0.9}
_SURE = 1.0


class Room(NamedTuple):
    """Tells how many tokens a prompt may have, and how they are counted."""

    tokens: int = ROOM_TOKENS
    count: Count = estimated_tokens


def budget_of(agent: str, room_tokens: int) -> Budget:
    """Return the budget of an agent in a prompt of that room."""
    return Budget(*(int(share * room_tokens) for share in SHARES[agent]))


def of_facts(
    agent: str,
    task: str,
    goals: Sequence[str],
    facts: Sequence[CodeFact],
    round_number: int,
    room: Room | None = None,
    recent: Sequence[str] = (),
) -> FittedContext:
    """Build the context of an agent that reads facts, best first; ids are `f1`, `f2`, … in that order."""
    room = room or Room()
    budget = budget_of(agent, room.tokens)
    named = [(f"f{number}", fact) for number, fact in enumerate(facts[:MAX_FACTS], 1)]
    context = AnswerContext(
        agent=agent,
        task=task or "-",
        goals=tuple(goal for goal in goals if goal),
        understanding=Understanding(facts=tuple(conclusion(name, fact, round_number) for name, fact in named)),
        excerpts=_excerpts(named, budget.excerpts_tokens, room.count),
        recent=tuple(line for line in recent if line),
    )
    return fit_context(context, budget, room.count)


def of_lines(
    agent: str, task: str, goals: Sequence[str], lines: Sequence[str], room: Room | None = None
) -> FittedContext:
    """Build the context of an agent that reads other agents' text, the most important lines first."""
    room = room or Room()
    context = AnswerContext(
        agent=agent,
        task=task or "-",
        goals=tuple(goal for goal in goals if goal),
        recent=tuple(line for line in lines if line),
    )
    return fit_context(context, budget_of(agent, room.tokens), room.count)


def conclusion(name: str, fact: CodeFact, round_number: int) -> Conclusion:
    """Convert a fact to one line: kind, name, place and description."""
    return Conclusion(
        id=name,
        category=_CATEGORIES.get(fact.kind, FactCategory.CODE_STRUCTURE),
        statement=_statement(fact)[:MAX_STATEMENT_CHARS],
        confidence=_CONFIDENCE.get(fact.kind, _SURE),
        source=f"{fact.step or 'tool'}:{fact.kind}"[:MAX_NAME_CHARS],
        step=round_number,
    )


def numbered(fitted: FittedContext, facts: Sequence[CodeFact]) -> list[str]:
    """Render the facts as a numbered list, each followed by its numbered lines of code; say what is cut."""
    code = {excerpt.fact: excerpt for excerpt in fitted.context.excerpts}
    shown = fitted.context.understanding.facts
    lines = []
    for number, (said, fact) in enumerate(zip(shown, facts, strict=False), 1):
        excerpt = code.get(said.id)
        last = last_line_of(excerpt)
        end = fact.citation.end_line
        cut = "" if fact.kind != "code" or last >= end else _left_out(last, fact)
        lines.append(f"{number}. {said.statement}" + (f"\n{excerpt.text}" if excerpt is not None else "") + cut)
    if len(facts) > len(shown):
        lines.append(f"({len(facts) - len(shown)} more facts are not shown: there is no room for them.)")
    return lines


def _left_out(last: int, fact: CodeFact) -> str:
    first = last + 1 if last else fact.citation.start_line
    return f"\n(lines {first} to {fact.citation.end_line} of it are not shown)"


def last_line_of(excerpt: Excerpt | None) -> int:
    """Return the last line of code that a numbered excerpt shows, 0 without one."""
    return 0 if excerpt is None else int(excerpt.text.rpartition("\n")[2].partition("|")[0])


def _excerpts(named: Sequence[tuple[str, CodeFact]], room_tokens: int, count: Count) -> tuple[Excerpt, ...]:
    """Return the code of facts with numbered lines, the first that does not fit whole cut to what does."""
    made: list[Excerpt] = []
    left = room_tokens
    for name, fact in named:
        if fact.kind != "code" or not fact.text:
            continue
        lines = with_numbers(_whole_lines(fact), fact.citation.start_line)
        kept: list[str] = []
        left -= count(fact.citation.mark) + 1
        is_full = left < 0
        for line in lines:
            left -= count(line) + 1
            if left < 0 and not is_full:
                break
            kept.append(line)
        if kept:
            made.append(Excerpt(place=fact.citation.mark, text="\n".join(kept), fact=name))
    return tuple(made)


def _whole_lines(fact: CodeFact) -> list[str]:
    """Return the lines of a fact's code; of a text that was cut by its length, without the half line at the end."""
    lines = fact.text.split("\n")
    is_cut = len(lines) <= fact.citation.end_line - fact.citation.start_line
    return lines[:-1] if is_cut else lines


def with_numbers(lines: Sequence[str], first: int) -> list[str]:
    """Put the number of each line in front of it, from `first`."""
    return [f"{number}| {line}" for number, line in enumerate(lines, first)]


def record(fitted: FittedContext, raw_tokens: int) -> dict[str, Any]:
    """Summarise a context for the run record: tokens by part, cuts, and the share saved against raw tool output."""
    saved = 1 - fitted.total_tokens / raw_tokens if raw_tokens else None
    return {
        "tokens": fitted.tokens,
        "cut": [msgspec.to_builtins(cut) for cut in fitted.cut],
        "raw_tokens": raw_tokens,
        "saved_share": None if saved is None else round(saved, 3),
    }


def _statement(fact: CodeFact) -> str:
    if fact.commit is not None:
        return f"{fact.kind} {fact.about}: {_one_line(commit_text(fact.commit), FACT_DOC_CHARS)}"
    place = f"{fact.citation.file}:{fact.citation.start_line}-{fact.citation.end_line}"
    about = f" uses {fact.about}" if fact.about and fact.kind in _USES else ""
    if fact.kind == "passage":
        return f"passage of a {fact.symbol_kind.replace('_', ' ')} ({place}) {_one_line(fact.text, PASSAGE_CHARS)}"
    description = _one_line(fact.docstring or fact.citation.quote, FACT_DOC_CHARS)
    # A signature has the bare name; the qualified one tells namesakes apart.
    named = fact.signature if fact.signature and (not fact.name or "." not in fact.name) else ""
    if not named:
        named = f"{fact.name}: {fact.signature}" if fact.signature else fact.name
    kind = _UNPROVEN if fact.kind == "mention" else fact.kind
    more = f" (its name is called {fact.unproven} more times on objects of unknown type)" if fact.unproven else ""
    return " ".join(part for part in (kind, f"{named}{about}".strip(), f"({place})", description) if part) + more


def _one_line(text: str, most: int) -> str:
    return " ".join(str(text).split())[:most]
