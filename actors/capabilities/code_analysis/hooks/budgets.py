"""Sets the time that agents with a reasoner may take before they are warned of."""

from __future__ import annotations

from runtime.agents.profile import AgentProfile

# Rules take milliseconds; a model that takes longer than this is worth a look.
REASONS = AgentProfile(latency_budget_ms=30_000)
