"""Rules kept for the runs that began under them: read again as they were, and judged against the agents of today."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.errors import SettingsError
from runtime.pipeline.config import AgentConfig, PipelineConfig
from runtime.pipeline.loading import load_pipeline
from runtime.pipeline.pipeline_versions import (
    CONTRACT,
    decode_pipeline,
    encode_pipeline,
    incompatibility,
    with_current_placement,
)
from runtime.settings import shipped_config_dir
from runtime.testing import PipelineBuilder

SHIPPED = sorted((shipped_config_dir() / "pipelines").glob("*.yaml"))
LLM = {"has_llm": True, "model_role": "planner"}
TOOLS = {"has_tools": True, "tool_access": "read", "allowed_tools": ["find"]}


def built(settings: dict[str, Any] | None = None, **of_a: Any) -> PipelineConfig:
    return PipelineBuilder("p", **(settings or {})).stage("a", default_next="b", **of_a).stage("b").build()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_rules_are_read_again_as_they_were_kept(path: Any) -> None:
    config = load_pipeline(path)
    again = decode_pipeline(encode_pipeline(config), config.config_hash)
    assert (again, again.config_hash) == (config, config.config_hash)


def test_what_was_default_when_rules_were_kept_is_written_down() -> None:
    kept = json.loads(encode_pipeline(built()))
    assert (kept["max_iterations"], kept["agents"][0]["max_retries"]) == (3, 0)


@pytest.mark.parametrize("rules", [b"", b"{", b"[]", b'{"name": "p"}', b'{"name": "p", "agents": [], "new_key": 1}'])
def test_rules_that_this_version_cannot_read_are_refused_by_their_hash(rules: bytes) -> None:
    with pytest.raises(SettingsError, match="kept rules c0ffee cannot be read by this version"):
        decode_pipeline(rules, "c0ffee")


@pytest.mark.parametrize(
    "today",
    [
        built(),
        built({"max_iterations": 9, "edge_limits": [{"from": "a", "to": "b", "max_count": 1}]}),
        built(timeout_s=5, max_retries=3, error_next="b", required_output_fields=["x"]),
        PipelineBuilder("p").stage("a", default_next="z").stage("z", default_next="b").stage("b").build(),
        PipelineBuilder("p").stage("b", default_next="a").stage("a").build(),
    ],
    ids=["the same", "bounds", "of a stage", "one more stage", "another order"],
)
def test_a_run_goes_on_when_only_what_the_supervisor_decides_has_changed(today: PipelineConfig) -> None:
    assert incompatibility(built(), today) is None


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ({}, LLM, "whether it uses a model"),
        (LLM, {}, "whether it uses a model"),
        (TOOLS, {**TOOLS, "tool_access": "write"}, "what its tools may do"),
        (TOOLS, {**TOOLS, "allowed_tools": ["find", "read"]}, "which tools it may use"),
        ({}, {"has_policies": True}, "whether policies judge it"),
        ({}, {"output_schema": {"type": "object"}}, "the form of its output"),
        ({"foreach": "outputs.b.items"}, {}, "what it is run for each of"),
    ],
)
def test_a_run_stays_when_an_agent_does_something_else_today(
    before: dict[str, Any], after: dict[str, Any], what: str
) -> None:
    told = incompatibility(config_of(before), config_of(after))
    assert told is not None
    assert told.startswith("of stage 'a' there changed ")
    assert what in told


def config_of(fields: dict[str, Any]) -> PipelineConfig:
    """Two stages, not looked at as a whole: only how they compare matters."""
    stages = [{"name": "a", "stage_order": 1, "default_next": "b", **fields}, {"name": "b", "stage_order": 2}]
    return PipelineConfig.model_validate({"name": "p", "agents": stages})


def test_a_run_stays_when_a_stage_is_gone_and_all_that_is_lacking_is_told() -> None:
    today = PipelineBuilder("p").stage("b", **TOOLS).build()
    assert incompatibility(built(), today) == (
        "stage 'a' is not there any more; of stage 'b' there changed whether it uses tools, what its tools may do, "
        "which tools it may use"
    )


def test_a_run_stays_when_another_capability_has_the_pipeline() -> None:
    told = incompatibility(built(), built({"capability": "other"}))
    assert told == "its stages belong to capability 'p', today's to 'other'"


def test_the_contract_names_fields_that_agents_have() -> None:
    assert set(CONTRACT) <= set(AgentConfig.model_fields)


def test_stages_are_placed_where_todays_agents_are_and_nothing_else_changes() -> None:
    pinned = built({"max_iterations": 1}, replicas=4, resources={"num_gpus": 1})
    today = built({"max_iterations": 7}, replicas=2)
    after = with_current_placement(pinned, today)
    assert (after.stages["a"].replicas, after.stages["a"].resources.num_gpus) == (2, 0)
    assert after == built({"max_iterations": 1}, replicas=2)
    assert with_current_placement(pinned, pinned) == pinned
