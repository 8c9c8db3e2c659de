"""Cuts a typed context to an agent's token budget, in a fixed order, and records the cuts.

The task and the goals are never cut. Each part is first cut to its own budget; where the whole is still too large,
parts are cut further in the order of CUT_ORDER. Within a part the last item goes first. Pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from runtime.context.answer_context import AnswerContext, Excerpt
from runtime.context.understanding import Fact, Understanding

CHARS_PER_TOKEN = 4
CUT_ORDER = ("excerpts", "facts", "recent")

Count = Callable[[str], int]
_T = TypeVar("_T")


class Budget(msgspec.Struct, frozen=True):
    """Limits the tokens of an agent's context: in total, and per part."""

    total_tokens: int
    facts_tokens: int
    excerpts_tokens: int
    recent_tokens: int


class Cut(msgspec.Struct, frozen=True):
    """Records what was left out of one part."""

    part: str
    items: int
    tokens: int


class FittedContext(msgspec.Struct, frozen=True):
    """Holds a context within its budget, its tokens by part, and the cuts; there are none when all of it fits."""

    context: AnswerContext
    tokens: dict[str, int]
    cut: tuple[Cut, ...]

    @property
    def total_tokens(self) -> int:
        """The tokens of all parts."""
        return sum(self.tokens.values())


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text from its length: models need one for about four characters of code."""
    return -(-len(text) // CHARS_PER_TOKEN)


def fit_context(context: AnswerContext, budget: Budget, count: Count = estimated_tokens) -> FittedContext:
    """Return the context within `budget`; a task and goals that alone exceed it are kept all the same."""
    parts: dict[str, list[tuple[object, int]]] = {
        "facts": [(fact, count(fact.statement)) for fact in context.understanding.active],
        "excerpts": [(excerpt, count(f"{excerpt.place}\n{excerpt.text}")) for excerpt in context.excerpts],
        "recent": [(item, count(item)) for item in context.recent],
    }
    own = {"facts": budget.facts_tokens, "excerpts": budget.excerpts_tokens, "recent": budget.recent_tokens}
    kept = {name: _beginning(items, own[name]) for name, items in parts.items()}
    fixed = {"task": count(context.task), "goals": sum(count(goal) for goal in context.goals)}
    for name in CUT_ORDER:
        others = sum(fixed.values()) + sum(_size(items) for part, items in kept.items() if part != name)
        kept[name] = _beginning(kept[name], budget.total_tokens - others)
    cut = tuple(
        Cut(name, len(items) - len(kept[name]), _size(items) - _size(kept[name]))
        for name, items in parts.items()
        if len(items) > len(kept[name])
    )
    shown = context.model_copy(
        update={
            "understanding": Understanding(facts=tuple(item for item, _ in kept["facts"] if isinstance(item, Fact))),
            "excerpts": tuple(item for item, _ in kept["excerpts"] if isinstance(item, Excerpt)),
            "recent": tuple(item for item, _ in kept["recent"] if isinstance(item, str)),
        }
    )
    return FittedContext(shown, {**fixed, **{name: _size(items) for name, items in kept.items()}}, cut)


def _beginning(items: Sequence[tuple[_T, int]], room_tokens: int) -> list[tuple[_T, int]]:
    """Return as many of the first items as fit."""
    kept: list[tuple[_T, int]] = []
    for item, tokens in items:
        room_tokens -= tokens
        if room_tokens < 0:
            break
        kept.append((item, tokens))
    return kept


def _size(items: Sequence[tuple[object, int]]) -> int:
    return sum(tokens for _, tokens in items)
