"""Checks the names that a pipeline takes from elsewhere.

These are its capability, agents, reasoners, tools, prompts and model roles. `runtime.pipeline` validates a pipeline by
itself and cannot know what is installed. Each problem comes with its key path, so that `jeeves validate` can name the
line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from runtime.agents.capability import Capability, load_capability
from runtime.agents.stage_runner import MODEL_REASONER
from runtime.errors import JeevesError
from runtime.llm.model_file import DEFAULT_ROLE
from runtime.llm.prompts import PromptRegistry
from runtime.pipeline.config import AgentConfig, PipelineConfig
from runtime.primitives.yaml_documents import KeyPath
from runtime.settings import Settings
from serve.pipeline_files import capability_folders, capability_spec
from serve.wiring import models_file

Problem = tuple[KeyPath, str]

# The tools that `tool_access` lets an agent use.
_REACH = {"none": (), "read": ("read",), "write": ("read", "write"), "all": ("read", "write")}


def problems_of_names(settings: Settings, pipeline: PipelineConfig) -> list[Problem]:
    """Return a problem for each name that nothing has; without its capability, that problem alone."""
    try:
        capability = load_capability(capability_spec(settings, pipeline), pipeline.capability_id)
    except JeevesError as error:
        return [(("capability",) if pipeline.capability else ("name",), error.message)]
    return [
        (("agents", number, *path), problem)
        for number, agent in enumerate(pipeline.agents)
        for path, problem in _problems_of_agent(settings, capability, agent)
    ]


def _problems_of_agent(settings: Settings, capability: Capability, agent: AgentConfig) -> Iterator[Problem]:
    yield from _problems_of_hooks(settings, capability, agent)
    yield from _problems_of_tools(capability, agent)
    if agent.prompt_key is not None:
        try:
            PromptRegistry.open(capability_folders(settings, capability.id), capability.id).get(agent.prompt_key)
        except JeevesError as error:
            yield ("prompt_key",), error.message
    if agent.model_role is not None:
        roles = _known_roles(settings, capability)
        if agent.model_role not in roles:
            yield ("model_role",), f"{_unknown('model role', agent.model_role, roles)}; a model file may add roles"


def _problems_of_hooks(settings: Settings, capability: Capability, agent: AgentConfig) -> Iterator[Problem]:
    hooks = capability.agents.get(agent.name)
    if hooks is None:
        problem = _unknown("agent", agent.name, capability.agents)
        yield ("name",), f"capability '{capability.id}' has no such agent: {problem}"
        return
    if agent.has_llm and settings.reasoner not in hooks.reasoners:
        offered = ", ".join(sorted(hooks.reasoners)) or "none"
        yield ("has_llm",), f"agent '{agent.name}' has no reasoner '{settings.reasoner}'; it has {offered}"
    if not agent.has_llm and hooks.process is None:
        yield ("has_llm",), f"agent '{agent.name}' has no hook `process`, so that it needs has_llm: true"
    if agent.has_policies and hooks.policy is None:
        yield ("has_policies",), f"agent '{agent.name}' has no hook `policy`"


def _problems_of_tools(capability: Capability, agent: AgentConfig) -> Iterator[Problem]:
    tools = {tool.name: tool for tool in capability.tools}
    for number, name in enumerate(agent.allowed_tools):
        if name not in tools:
            yield ("allowed_tools", number), _unknown("tool", name, tools)
        elif agent.has_tools and tools[name].access not in _REACH[agent.tool_access]:
            access = tools[name].access
            yield ("allowed_tools", number), f"tool '{name}' needs {access} access; tool_access is {agent.tool_access}"


def _known_roles(settings: Settings, capability: Capability) -> set[str]:
    """Return the roles that a model can have: those of the model file, and one named after each agent with a model."""
    agents = {name for name, hooks in capability.agents.items() if MODEL_REASONER in hooks.reasoners}
    models = models_file(settings)
    return {DEFAULT_ROLE, *agents, *settings.models.roles, *(() if models is None else models.roles)}


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names) or 'none'}"
    return f"unknown {kind} '{name}'; {hint}"
