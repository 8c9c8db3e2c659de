"""Declares the capability code_analysis: answers about a repository with checked citations.

perception → intent → planner → traverser → synthesizer → critic → integration; the agents' permissions and the routing
are in configs/pipelines/code_analysis.yaml.
"""

from __future__ import annotations

from actors.capabilities.code_analysis.agents import critic, intent, plan_policy, planner, review, synthesizer
from actors.capabilities.code_analysis.agents.integration import integrate
from actors.capabilities.code_analysis.agents.perception import perceive
from actors.capabilities.code_analysis.agents.traverser import gather_groups, traverse
from actors.capabilities.code_analysis.models.model_critique import critique_by_model
from actors.capabilities.code_analysis.models.model_intent import intent_by_model
from actors.capabilities.code_analysis.models.model_plan import plan_anew_by_model, plan_by_model
from actors.capabilities.code_analysis.models.model_synthesis import synthesis_by_model
from actors.capabilities.code_analysis.models.rule_fallback import model_or_rules
from actors.capabilities.code_analysis.tools.services import CodeAnalysisSettings, open_services
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.agents.capability import AgentHooks, Capability
from runtime.agents.profile import AgentProfile

# Rules take milliseconds; a model that takes longer than this is worth a look.
REASONS = AgentProfile(latency_budget_ms=30_000)

CAPABILITY = Capability(
    id="code_analysis",
    pipelines=(
        "code_analysis",
        "code_analysis_hedged",
        "code_analysis_replan",
        "code_analysis_reviewed",
        "code_analysis_small",
    ),
    agents={
        "perception": AgentHooks(process=perceive, profile=AgentProfile(latency_budget_ms=60_000)),
        "intent": AgentHooks(
            pre_process=intent.gather,
            reasoners={"rules": intent.by_rules, "llm": model_or_rules("intent", intent_by_model, intent.by_rules)},
            post_process=intent.settle,
            profile=REASONS,
        ),
        "planner": AgentHooks(
            pre_process=planner.gather,
            reasoners={"rules": planner.by_rules, "llm": model_or_rules("planner", plan_by_model, planner.by_rules)},
            post_process=planner.settle,
            policy=plan_policy.judge,
            profile=planner.PROFILE,
        ),
        "planner_quick": AgentHooks(
            pre_process=planner.gather,
            reasoners={
                "rules": planner.by_rules,
                "llm": model_or_rules("planner_quick", plan_anew_by_model, planner.by_rules),
            },
            post_process=planner.settle,
            profile=planner.PROFILE,
        ),
        "planner_thorough": AgentHooks(
            pre_process=planner.gather,
            reasoners={
                "rules": planner.thoroughly,
                "llm": model_or_rules("planner_thorough", plan_anew_by_model, planner.thoroughly),
            },
            post_process=planner.settle,
            profile=planner.PROFILE,
        ),
        "plan_choice": AgentHooks(process=planner.choose),
        "traverser": AgentHooks(process=traverse, profile=AgentProfile(latency_budget_ms=30_000)),
        "execution": AgentHooks(process=gather_groups),
        "synthesizer": AgentHooks(
            pre_process=synthesizer.gather,
            reasoners={
                "rules": synthesizer.by_rules,
                "llm": model_or_rules("synthesizer", synthesis_by_model, synthesizer.by_rules),
            },
            post_process=synthesizer.settle,
            profile=REASONS,
        ),
        "critic": AgentHooks(
            pre_process=critic.gather,
            reasoners={"rules": critic.by_rules, "llm": model_or_rules("critic", critique_by_model, critic.by_rules)},
            post_process=critic.settle,
            profile=REASONS,
        ),
        "integration": AgentHooks(process=integrate),
        "draft": AgentHooks(process=review.draft),
        "release": AgentHooks(process=review.release),
    },
    tools=TOOLS,
    open_services=open_services,
    settings=CodeAnalysisSettings,
    queries=("session.", "memory."),
)
