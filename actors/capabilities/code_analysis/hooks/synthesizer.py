"""Declares the hooks of the agent that draws claims from what was found."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents import synthesizer
from actors.capabilities.code_analysis.hooks.budgets import REASONS
from actors.capabilities.code_analysis.models.rule_fallback import model_or_rules
from runtime.agents.capability import AgentHooks

_BY_MODEL = "actors.capabilities.code_analysis.models.model_synthesis:synthesis_by_model"

SYNTHESIZER = AgentHooks(
    pre_process=synthesizer.gather,
    reasoners={
        "rules": synthesizer.by_rules,
        "llm": model_or_rules("synthesizer", _BY_MODEL, synthesizer.by_rules),
    },
    post_process=synthesizer.settle,
    profile=REASONS,
)
