"""Stages with a model have the time that its calls may take; all others keep theirs."""

from __future__ import annotations

import pytest

from runtime.llm.model_file import ModelsFile
from runtime.pipeline.config import PipelineConfig
from serve.model_times import with_model_times
from tests.capabilities.code_analysis.model_desk import models_file
from tests.capabilities.code_analysis.support import LLM_AGENTS, pipeline


def models(**seconds: float) -> ModelsFile:
    """Deployments by name with their `total_timeout_s`; the role `default` uses the first, `critic` the last."""
    shipped = models_file()
    first, *_, last = [*seconds, *seconds]
    deployments = {
        name: shipped.deployments["main"].model_copy(update={"total_timeout_s": each}) for name, each in seconds.items()
    }
    default = shipped.roles["default"]
    roles = {
        name: default.model_copy(update={"deployment": used}) for name, used in (("default", first), ("critic", last))
    }
    return shipped.model_copy(update={"deployments": deployments, "roles": roles})


def times(config: PipelineConfig) -> dict[str, float]:
    return {agent.name: agent.timeout_s or config.default_timeout_s for agent in config.agents}


@pytest.mark.parametrize(("total_s", "stage_s"), [(47.9, 120), (48, 120), (48.1, 120.25), (900, 2_250)])
def test_a_stage_with_a_model_outlasts_two_of_its_calls(total_s: float, stage_s: float) -> None:
    shipped = times(pipeline())
    found = times(with_model_times(pipeline(), models(main=total_s)))
    for name, seconds in found.items():
        assert seconds == pytest.approx(stage_s if name in LLM_AGENTS else shipped[name])


def test_the_slowest_model_of_any_role_counts() -> None:
    assert times(with_model_times(pipeline(), models(quick=10, slow=400)))["intent"] == 1_000


def test_without_a_model_nothing_changes() -> None:
    config = pipeline()
    assert with_model_times(config, None) is config
