"""Encodes pipeline versions, which pin a run to the pipeline that it began under across deploys.

A run decides by its own pipeline version to its end; its stages are executed by the current agents. `incompatibility`
checks that those agents still do what the version expects of them; `with_current_placement` takes over where they run.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from runtime.errors import SettingsError
from runtime.pipeline.config import AgentConfig, PipelineConfig

# Fields that an agent must keep, and how messages name a change. The supervisor interprets the other fields itself
# (routing, retries, joins), or they tune the agent and may change at any time (prompt, temperature, role).
CONTRACT: dict[str, str] = {
    "has_llm": "whether it uses a model",
    "has_tools": "whether it uses tools",
    "has_policies": "whether policies judge it",
    "tool_access": "what its tools may do",
    "allowed_tools": "which tools it may use",
    "foreach": "what it is run for each of",
    "output_schema": "the form of its output",
}
_PLACEMENT = ("replicas", "resources")


def encode_pipeline(config: PipelineConfig) -> bytes:
    """Encode a pipeline version in full, default values included, because defaults may change."""
    return config.model_dump_json(by_alias=True).encode()


def decode_pipeline(rules: bytes, config_hash: str) -> PipelineConfig:
    """Decode a stored pipeline version. Raises SettingsError when this release cannot read it."""
    try:
        return PipelineConfig.model_validate_json(rules)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"the kept rules {config_hash} cannot be read by this version: {where}: {first['msg']}",
            config_hash=config_hash,
        ) from error


def incompatibility(pinned: PipelineConfig, current: PipelineConfig) -> str | None:
    """Return why the agents of `current` cannot execute a run pinned to `pinned`, as a sentence; None when they can.

    Stages that only `current` has do not matter.
    """
    if pinned.capability_id != current.capability_id:
        return f"its stages belong to capability '{pinned.capability_id}', today's to '{current.capability_id}'"
    changes = [change for agent in pinned.agents if (change := _changes(agent, current.stages.get(agent.name)))]
    return "; ".join(changes) or None


def with_current_placement(pinned: PipelineConfig, current: PipelineConfig) -> PipelineConfig:
    """Return `pinned` with the replicas and resources that `current` gives each stage.

    Call it only when there is no `incompatibility`.
    """
    document: dict[str, Any] = pinned.model_dump(mode="json", by_alias=True)
    for agent in document["agents"]:
        today = current.stages[agent["name"]].model_dump(mode="json", include=set(_PLACEMENT))
        agent.update(today)
    return PipelineConfig.model_validate(document)


def _changes(agent: AgentConfig, today: AgentConfig | None) -> str | None:
    if today is None:
        return f"stage '{agent.name}' is not there any more"
    changed = [what for field, what in CONTRACT.items() if getattr(agent, field) != getattr(today, field)]
    return f"of stage '{agent.name}' there changed {', '.join(changed)}" if changed else None
