"""Declares the capability code_analysis: answers about a repository with checked citations.

perception → intent → planner → traverser → synthesizer → critic → integration; the agents' permissions and the routing
are in configs/pipelines/code_analysis.yaml.
"""

from __future__ import annotations

from actors.capabilities.code_analysis.tools.services import CodeAnalysisSettings, open_services
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.agents.capability import Capability
from runtime.agents.declared_hooks import DeclaredHooks

_HOOKS = "actors.capabilities.code_analysis.hooks"

CAPABILITY = Capability(
    id="code_analysis",
    pipelines=(
        "code_analysis",
        "code_analysis_hedged",
        "code_analysis_replan",
        "code_analysis_reviewed",
        "code_analysis_small",
    ),
    agents=DeclaredHooks(
        {
            "perception": f"{_HOOKS}.perception:PERCEPTION",
            "intent": f"{_HOOKS}.intent:INTENT",
            "planner": f"{_HOOKS}.planners:PLANNER",
            "planner_quick": f"{_HOOKS}.planners:QUICK",
            "planner_thorough": f"{_HOOKS}.planners:THOROUGH",
            "plan_choice": f"{_HOOKS}.planners:CHOICE",
            "traverser": f"{_HOOKS}.execution:TRAVERSER",
            "execution": f"{_HOOKS}.execution:EXECUTION",
            "synthesizer": f"{_HOOKS}.synthesizer:SYNTHESIZER",
            "critic": f"{_HOOKS}.critic:CRITIC",
            "integration": f"{_HOOKS}.integration:INTEGRATION",
            "draft": f"{_HOOKS}.review:DRAFT",
            "release": f"{_HOOKS}.review:RELEASE",
        }
    ),
    tools=TOOLS,
    open_services=open_services,
    settings=CodeAnalysisSettings,
    queries=("session.", "memory."),
)
