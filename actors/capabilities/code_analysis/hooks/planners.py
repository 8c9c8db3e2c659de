"""Declares the hooks of the agents that plan."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents import plan_policy, planner
from actors.capabilities.code_analysis.models.rule_fallback import model_or_rules
from runtime.agents.capability import AgentHooks

_MODEL_PLAN = "actors.capabilities.code_analysis.models.model_plan"
_ANEW = f"{_MODEL_PLAN}:plan_anew_by_model"

PLANNER = AgentHooks(
    pre_process=planner.gather,
    reasoners={
        "rules": planner.by_rules,
        "llm": model_or_rules("planner", f"{_MODEL_PLAN}:plan_by_model", planner.by_rules),
    },
    post_process=planner.settle,
    policy=plan_policy.judge,
    profile=planner.PROFILE,
)

QUICK = AgentHooks(
    pre_process=planner.gather,
    reasoners={"rules": planner.by_rules, "llm": model_or_rules("planner_quick", _ANEW, planner.by_rules)},
    post_process=planner.settle,
    profile=planner.PROFILE,
)

THOROUGH = AgentHooks(
    pre_process=planner.gather,
    reasoners={"rules": planner.thoroughly, "llm": model_or_rules("planner_thorough", _ANEW, planner.thoroughly)},
    post_process=planner.settle,
    profile=planner.PROFILE,
)

CHOICE = AgentHooks(process=planner.choose)
