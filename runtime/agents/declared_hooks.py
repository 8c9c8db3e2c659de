"""Maps agents to hooks that are imported when their agent is asked for.

Each agent of a pipeline runs in a process of its own, which imports its own hooks and not those of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.agents.capability import AgentHooks
from runtime.primitives.declared import declared


class DeclaredHooks(Mapping[str, AgentHooks]):
    """Finds the hooks of each agent where they are declared, as "module:NAME"."""

    def __init__(self, declared_in: Mapping[str, str]) -> None:
        """Note the places, without importing any."""
        self._declared_in = dict(declared_in)

    def __getitem__(self, agent: str) -> AgentHooks:
        """Return the hooks of an agent. Raises SettingsError if they cannot be imported."""
        return declared(self._declared_in[agent], AgentHooks, f"the hooks of agent '{agent}'")

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared_in)

    def __len__(self) -> int:
        return len(self._declared_in)
