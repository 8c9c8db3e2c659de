"""Declares the hooks of the agent that reads the question and the repository."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents.perception import perceive
from runtime.agents.capability import AgentHooks
from runtime.agents.profile import AgentProfile

PERCEPTION = AgentHooks(process=perceive, profile=AgentProfile(latency_budget_ms=60_000))
