"""Declares the hooks of the agents around a reviewer."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents import review
from runtime.agents.capability import AgentHooks

DRAFT = AgentHooks(process=review.draft)
RELEASE = AgentHooks(process=review.release)
