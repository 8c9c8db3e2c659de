"""Declares the hooks of the agent that says what is asked."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents import intent
from actors.capabilities.code_analysis.hooks.budgets import REASONS
from actors.capabilities.code_analysis.models.rule_fallback import model_or_rules
from runtime.agents.capability import AgentHooks

_BY_MODEL = "actors.capabilities.code_analysis.models.model_intent:intent_by_model"

INTENT = AgentHooks(
    pre_process=intent.gather,
    reasoners={
        "rules": intent.by_rules,
        "llm": model_or_rules("intent", _BY_MODEL, intent.by_rules),
    },
    post_process=intent.settle,
    profile=REASONS,
)
