"""Declares the hooks of the agents that carry the plan out."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents.traverser import gather_groups, traverse
from runtime.agents.capability import AgentHooks
from runtime.agents.profile import AgentProfile

TRAVERSER = AgentHooks(process=traverse, profile=AgentProfile(latency_budget_ms=30_000))
EXECUTION = AgentHooks(process=gather_groups)
