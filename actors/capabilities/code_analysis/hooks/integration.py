"""Declares the hooks of the agent that writes the answer."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents.integration import integrate
from runtime.agents.capability import AgentHooks

INTEGRATION = AgentHooks(process=integrate)
