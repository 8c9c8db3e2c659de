"""Limits the tokens of a context's sections, and cuts what exceeds them, in a fixed order.

The task and the verification state are never cut. Each other section is first cut to its own budget. Where all of it
is still too large, sections give way in the order of CUT_ORDER: old facts until the five newest are left, source until
thirty lines are left, the domain context, then the rest. Pure and deterministic: every cut is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from pydantic import Field

from runtime.context.compact_yaml import cleaned, compact_yaml
from runtime.context.fields import Frozen
from runtime.context.models import AgentContext
from runtime.context.section_cuts import Version, shorter_versions
from runtime.context.yaml_context import sections_of

CUT_ORDER = ("understanding", "analysis", "context", "recent", "actions")
TOTAL = "total"

Count = Callable[[str], int]


class SectionBudgets(Frozen):
    """Limits the tokens of each part of a prompt; `total_tokens` limits all of them together."""

    system_prompt_tokens: int = Field(default=800, ge=0)
    task_tokens: int = Field(default=200, ge=0)
    understanding_tokens: int = Field(default=600, ge=0)
    verification_tokens: int = Field(default=100, ge=0)
    analysis_tokens: int = Field(default=2_000, ge=0)
    recent_tokens: int = Field(default=400, ge=0)
    actions_tokens: int = Field(default=400, ge=0)
    context_tokens: int = Field(default=500, ge=0)
    total_tokens: int = Field(default=5_000, ge=0)

    def of(self, section: str) -> int:
        """Return the budget of a section."""
        return int(getattr(self, f"{section}_tokens"))


class SectionCut(msgspec.Struct, frozen=True):
    """Records a section that was cut, with its tokens before and after."""

    section: str
    tokens_before: int
    tokens_after: int


class FittedText(msgspec.Struct, frozen=True):
    """Holds a context as it is sent, its tokens by section and in total, and the cuts.

    `excess_tokens` is above 0 if what may not be cut exceeds the total budget: the task, the verification state, the
    system prompt, and the least of each other section.
    """

    text: str
    tokens: dict[str, int]
    cuts: tuple[SectionCut, ...] = ()
    excess_tokens: int = 0


def token_breakdown(context: AgentContext, count: Count) -> dict[str, int]:
    """Return the tokens of each section that is not empty, uncut, and of the whole text as `total`."""
    sections = cleaned(sections_of(context))
    tokens = {name: count(compact_yaml({name: section})) for name, section in sections.items()}
    return {**tokens, TOTAL: count(compact_yaml(sections))}


def fit_to_budgets(context: AgentContext, budgets: SectionBudgets, count: Count, system_prompt: str = "") -> FittedText:
    """Return the context as YAML within the budgets; a system prompt takes its tokens from the total."""
    fitting = _Fitting(context, count)
    before, whole = dict(fitting.tokens), dict(fitting.shown)
    for name in CUT_ORDER:
        while fitting.tokens[name] > budgets.of(name) and fitting.shorten(name, may_resort=True):
            pass
    room = budgets.total_tokens - (count(system_prompt) if system_prompt else 0)
    for may_resort in (False, True):
        for name in CUT_ORDER:
            while sum(fitting.tokens.values()) > room and fitting.shorten(name, may_resort):
                pass
    cut = [name for name in CUT_ORDER if fitting.shown[name] != whole[name]]
    text = compact_yaml(fitting.shown)
    return FittedText(
        text=text,
        tokens={**{name: tokens for name, tokens in fitting.tokens.items() if tokens}, TOTAL: count(text)},
        cuts=tuple(SectionCut(name, before[name], fitting.tokens[name]) for name in cut),
        excess_tokens=max(0, sum(fitting.tokens.values()) - room),
    )


class _Fitting:
    """Holds the sections as they are shown so far, their tokens, and the shorter versions that are left."""

    def __init__(self, context: AgentContext, count: Count) -> None:
        self._count = count
        self._versions: dict[str, list[Version]] = shorter_versions(context)
        self.shown: dict[str, Any] = {}
        self.tokens: dict[str, int] = {}
        for name, section in sections_of(context).items():
            self._show(name, section)

    def shorten(self, name: str, may_resort: bool) -> bool:
        """Replace a section by its next shorter version; False if there is none, or only a last resort."""
        left = self._versions[name]
        if not left or (left[0].is_last_resort and not may_resort):
            return False
        self._show(name, left.pop(0).make())
        return True

    def _show(self, name: str, section: Any) -> None:
        self.shown[name] = cleaned(section)
        text = compact_yaml({name: section})
        self.tokens[name] = self._count(text) if text else 0
