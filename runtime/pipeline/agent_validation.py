"""Validates one agent's configuration, whatever its pipeline, as (key path, problem) pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from runtime.errors import SettingsError
from runtime.pipeline.config import AgentConfig
from runtime.pipeline.output_schema import OutputSchema, forbids
from runtime.primitives.yaml_documents import KeyPath

Problem = tuple[KeyPath, str]

# Ray counts these itself, so custom resources cannot have these names.
BUILT_IN_RESOURCES = ("CPU", "GPU", "memory", "object_store_memory")
MODEL_KEYS = ("temperature", "max_tokens")


def problems_of_agent(agent: AgentConfig) -> Iterator[Problem]:
    """Yield every problem of one agent, in the order of the checks; paths begin at the agent."""
    for check in CHECKS:
        yield from check(agent)


def _fan_out(agent: AgentConfig) -> Iterator[Problem]:
    if agent.foreach is None:
        if "foreach_concurrency" in agent.model_fields_set:
            yield ("foreach_concurrency",), "given although there is no foreach"
        return
    if agent.foreach.split(".")[1] == agent.key:
        yield ("foreach",), "the stage's own output, which is not there when it begins"
    for number, rule in enumerate(agent.routing_rules):
        if rule.condition != "items":
            problem = f"the output of a stage with foreach has the field 'items' alone, not '{rule.condition}'"
            yield ("routing_rules", number, "condition"), problem


def _model(agent: AgentConfig) -> Iterator[Problem]:
    if agent.has_llm and not agent.model_role:
        yield ("model_role",), "required when has_llm is true"
    for key in MODEL_KEYS:
        if getattr(agent, key) is not None and not agent.has_llm:
            yield (key,), "given although has_llm is false"


def _tools(agent: AgentConfig) -> Iterator[Problem]:
    if agent.has_tools and agent.tool_access == "none":
        yield ("tool_access",), "'none' although has_tools is true; give read, write or all"
    if agent.has_tools and not agent.allowed_tools:
        yield ("allowed_tools",), "names no tool although has_tools is true: every call would be denied; name them"
    if agent.allowed_tools and not agent.has_tools:
        yield ("allowed_tools",), "given although has_tools is false"


def _resources(agent: AgentConfig) -> Iterator[Problem]:
    claims: list[tuple[KeyPath, float]] = [
        (("resources", "num_cpus"), agent.resources.num_cpus),
        (("resources", "num_gpus"), agent.resources.num_gpus),
        *((("resources", "custom", name), amount) for name, amount in agent.resources.custom.items()),
    ]
    for path, amount in claims:
        if amount > 1 and not float(amount).is_integer():
            yield path, f"{amount:g} of a resource cannot be claimed; a part of one, or a whole number"
    for name in agent.resources.custom:
        if name in BUILT_IN_RESOURCES or not name.strip():
            listed = ", ".join(BUILT_IN_RESOURCES)
            yield ("resources", "custom", name), f"'{name}' is no custom resource; these names are taken: {listed}"


def _output(agent: AgentConfig) -> Iterator[Problem]:
    schema = agent.output_schema
    if schema is None:
        return
    try:
        OutputSchema(agent.name, schema)
    except SettingsError as error:
        yield ("output_schema", *error.values["path"]), error.values["problem"]
        return
    if "object" not in _as_list(schema.get("type", "object")):
        yield ("output_schema", "type"), f"an output is an object, never {' nor '.join(_as_list(schema['type']))}"
    for field in agent.required_output_fields:
        if (why := forbids(schema, field)) is not None:
            yield ("output_schema",), f"no output can have the field '{field}', which is required: {why}"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


CHECKS: tuple[Callable[[AgentConfig], Iterator[Problem]], ...] = (_fan_out, _model, _tools, _resources, _output)
