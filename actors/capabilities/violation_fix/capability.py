"""Declares the capability violation_fix: one violation, mended in steps and proven by tests.

prepare → decide → act → understand → (decide | complete → commit) → report; the routing and the bounds are in
configs/pipelines/violation_fix.yaml, the phases in configs/phases/fix_violation.yaml.
"""

from __future__ import annotations

from actors.capabilities.violation_fix.actions.toolset import TOOLS
from actors.capabilities.violation_fix.agents import decide, finish
from actors.capabilities.violation_fix.agents.act import act
from actors.capabilities.violation_fix.agents.prepare import prepare
from actors.capabilities.violation_fix.agents.services import open_services
from actors.capabilities.violation_fix.agents.understand import understand
from runtime.agents.capability import AgentHooks, Capability

CAPABILITY = Capability(
    id="violation_fix",
    pipelines=("violation_fix",),
    agents={
        "prepare": AgentHooks(process=prepare),
        "decide": AgentHooks(
            pre_process=decide.gather,
            reasoners={"rules": decide.by_rules, "llm": decide.by_model},
            post_process=decide.settle,
        ),
        "act": AgentHooks(process=act),
        "understand": AgentHooks(process=understand),
        "complete": AgentHooks(process=finish.complete),
        "commit": AgentHooks(process=finish.commit),
        "report": AgentHooks(process=finish.report),
    },
    tools=TOOLS,
    open_services=open_services,
)
