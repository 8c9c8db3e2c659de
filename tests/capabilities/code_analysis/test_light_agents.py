"""What the process of an agent imports: its own hooks, and little of what others need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import check_hooks

_IMPORTED = """
import json, sys
import actors.agent_actor
from actors.capabilities.code_analysis.capability import CAPABILITY
CAPABILITY.agents[sys.argv[1]]
print(json.dumps(sorted(sys.modules)))
"""
AGENTS = "actors.capabilities.code_analysis.agents."
MODELS = "actors.capabilities.code_analysis.models.model_"
TOOLS = "runtime.codebase.tools."


def imported(script: str, *arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("agent", "other"), [("perception", "integration"), ("critic", "traverser"), ("integration", "planner")]
)
def test_an_agent_imports_neither_the_hooks_of_others_nor_tools_nor_models_nor_vectors(agent: str, other: str) -> None:
    names = imported(_IMPORTED, agent)
    assert AGENTS + agent in names
    assert AGENTS + other not in names
    assert [name for name in names if name == "numpy" or name.startswith((MODELS, TOOLS))] == []


def test_the_store_imports_neither_the_index_nor_the_models_of_pipelines() -> None:
    names = imported("import json, sys, actors.service_actors\nprint(json.dumps(sorted(sys.modules)))")
    assert "runtime.store.opening" in names
    assert [name for name in names if name.startswith(("pydantic", "runtime.codebase.index.writer", "numpy"))] == []


@pytest.mark.parametrize("agent", sorted(CAPABILITY.agents))
def test_every_agent_of_the_capability_has_hooks(agent: str) -> None:
    check_hooks(agent, CAPABILITY.agents[agent], CAPABILITY.id)
