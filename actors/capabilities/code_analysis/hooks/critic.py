"""Declares the hooks of the agent that judges which goals are met."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents import critic
from actors.capabilities.code_analysis.hooks.budgets import REASONS
from actors.capabilities.code_analysis.models.rule_fallback import model_or_rules
from runtime.agents.capability import AgentHooks

_BY_MODEL = "actors.capabilities.code_analysis.models.model_critique:critique_by_model"

CRITIC = AgentHooks(
    pre_process=critic.gather,
    reasoners={"rules": critic.by_rules, "llm": model_or_rules("critic", _BY_MODEL, critic.by_rules)},
    post_process=critic.settle,
    profile=REASONS,
)
