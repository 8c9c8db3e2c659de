"""Gives stages with a model the time that its calls may take."""

from __future__ import annotations

from typing import Any

from runtime.llm.model_file import ModelsFile
from runtime.llm.stage_llm import SHARE_OF_TIME
from runtime.pipeline.config import PipelineConfig, as_wire

# A call, and one that mends its answer.
CALLS_OF_STAGE = 2


def with_model_times(config: PipelineConfig, models: ModelsFile | None) -> PipelineConfig:
    """Return the pipeline with at least as much time for each stage with a model as two of its slowest calls may take.

    So a slow model needs one setting, its `total_timeout_s`. Stages that have more time keep it.
    """
    if models is None:
        return config
    slowest_s = max(models.deployments[name].total_timeout_s for name in models.used_deployments())
    needed_s = CALLS_OF_STAGE * slowest_s / SHARE_OF_TIME
    document: dict[str, Any] = as_wire(config)
    changed = [
        {**agent, "timeout_s": needed_s} if agent.get("has_llm") and _time_of(agent, config) < needed_s else agent
        for agent in document["agents"]
    ]
    if changed == list(document["agents"]):
        return config
    return PipelineConfig.model_validate({**document, "agents": changed})


def _time_of(agent: dict[str, Any], config: PipelineConfig) -> float:
    return float(agent.get("timeout_s") or config.default_timeout_s)
