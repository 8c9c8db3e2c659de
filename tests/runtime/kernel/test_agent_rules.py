"""One agent's configuration: what it says of its model, its actors and its output, and what of that is nonsense."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents.capability import ModelUse, StageContext
from runtime.errors import DocumentFaults
from runtime.pipeline.agent_validation import problems_of_agent
from runtime.pipeline.config import AgentConfig, AgentResources, PipelineConfig, as_wire
from runtime.pipeline.loading import parse_pipeline
from runtime.run.stage_view import StageView
from runtime.testing import PipelineBuilder, ScriptedRunner

MODEL = {"has_llm": True, "model_role": "writer"}


def faults_of(**settings: Any) -> list[str]:
    """What is wrong with a pipeline of one agent with these settings, without file and line."""
    try:
        PipelineBuilder().stage("a", **settings).build()
    except DocumentFaults as error:
        return [fault.split(": ", 1)[1] for fault in error.values["faults"]]
    return []


@pytest.mark.parametrize(("temperature", "is_taken"), [(-0.1, False), (0, True), (2, True), (2.1, False)])
def test_a_temperature_lies_between_zero_and_two(temperature: float, is_taken: bool) -> None:
    assert (faults_of(temperature=temperature, **MODEL) == []) is is_taken


@pytest.mark.parametrize(("key", "least"), [("max_tokens", 1), ("replicas", 1)])
def test_counts_begin_at_one(key: str, least: int) -> None:
    assert faults_of(**{key: least}, **MODEL) == []
    (fault,) = faults_of(**{key: least - 1}, **MODEL)
    assert fault.startswith(f"agents[0].{key}: Input should be greater than or equal to 1, not 0")


@pytest.mark.parametrize(("replicas", "is_taken"), [(64, True), (65, False)])
def test_a_stage_has_at_most_sixty_four_replicas(replicas: int, is_taken: bool) -> None:
    assert (faults_of(replicas=replicas) == []) is is_taken


@pytest.mark.parametrize("key", ["temperature", "max_tokens"])
def test_what_is_for_the_model_wants_a_model(key: str) -> None:
    assert faults_of(**{key: 1}) == [f"agents[0].{key}: given although has_llm is false"]


@pytest.mark.parametrize(
    ("resources", "fault"),
    [
        ({"num_cpus": 0, "num_gpus": 0.5, "custom": {"fast_disk": 0.1}}, None),
        ({"num_cpus": 2, "num_gpus": 8.0}, None),
        ({"num_cpus": -1}, "agents[0].resources.num_cpus: Input should be greater than or equal to 0, not -1"),
        ({"num_gpus": -0.5}, "agents[0].resources.num_gpus: Input should be greater than or equal to 0, not -0.5"),
        ({"num_gpus": float("inf")}, "agents[0].resources.num_gpus: Input should be a finite number, not inf"),
        ({"num_gpus": 1.5}, "agents[0].resources.num_gpus: 1.5 of a resource cannot be claimed; a part of one, or"),
        ({"custom": {"disk": 0}}, "agents[0].resources.custom.disk: Input should be greater than 0, not 0"),
        ({"custom": {"disk": 1.01}}, "agents[0].resources.custom.disk: 1.01 of a resource cannot be claimed"),
        ({"custom": {"GPU": 1}}, "agents[0].resources.custom.GPU: 'GPU' is no custom resource; these names are taken"),
        ({"gpus": 1}, "agents[0].resources.gpus: unknown key"),
    ],
)
def test_a_claim_on_the_cluster_is_one_that_it_can_meet(resources: dict[str, Any], fault: str | None) -> None:
    found = faults_of(resources=resources)
    assert len(found) == (fault is not None)
    assert fault is None or found[0].startswith(fault), found


def test_replicas_and_claims_survive_the_wire_and_defaults_are_left_out_of_it() -> None:
    claimed = PipelineBuilder().stage("a", replicas=3, resources={"custom": {"disk": 1}}).build()
    assert PipelineConfig.model_validate(as_wire(claimed)) == claimed
    assert as_wire(claimed)["agents"][0] == {
        "name": "a",
        "stage_order": 10,
        "replicas": 3,
        "resources": {"custom": {"disk": 1.0}},
    }
    assert claimed.stages["a"].resources.num_cpus == AgentResources().num_cpus == 0


SCHEMA = """name: p
agents:
  - name: a
    stage_order: 1
    required_output_fields: [x]
    output_schema:
      properties:
        y: {}
        z:
          type: strin
"""


def test_a_schema_that_is_none_is_a_fault_with_file_line_and_key() -> None:
    with pytest.raises(DocumentFaults) as caught:
        parse_pipeline(SCHEMA, "p.yaml")
    (fault,) = caught.value.values["faults"]
    assert fault.startswith(
        "p.yaml:10: agents[0].output_schema.properties.z.type: is no JSON schema: 'strin' is not valid"
    )


def test_a_schema_that_no_output_with_its_required_fields_fits_is_a_fault_with_file_line_and_key() -> None:
    text = SCHEMA.replace("strin", "string") + "      additionalProperties: false\n"
    with pytest.raises(DocumentFaults) as caught:
        parse_pipeline(text, "p.yaml")
    assert caught.value.values["faults"] == [
        "p.yaml:6: agents[0].output_schema: no output can have the field 'x', which is required: "
        "additionalProperties is false, and properties does not name it"
    ]


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({}, None),
        ({"additionalProperties": True}, None),
        ({"additionalProperties": {"type": "string"}}, None),
        ({"properties": {"x": {}}, "additionalProperties": False}, None),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, None),
        ({"type": ["null", "object"]}, None),
        ({"anyOf": [{"additionalProperties": False}, {}]}, None),
        ({"allOf": [True, {"properties": {"x": {}}}]}, None),
        ({"additionalProperties": False}, "additionalProperties is false"),
        ({"patternProperties": {"^y": {}}, "additionalProperties": False}, "additionalProperties is false"),
        ({"properties": {"x": False}}, "its property is false"),
        ({"patternProperties": {"x": False}}, "a pattern in patternProperties that is false"),
        ({"allOf": [{"additionalProperties": False}]}, "additionalProperties is false"),
        ({"type": "array"}, "an output is an object, never array"),
        ({"type": ["array", "null"]}, "an output is an object, never array nor null"),
    ],
)
def test_a_schema_and_the_required_fields_do_not_contradict_each_other(
    schema: dict[str, Any], fault: str | None
) -> None:
    agent = AgentConfig(name="a", stage_order=1, required_output_fields=("x",), output_schema=schema)
    found = [problem for _, problem in problems_of_agent(agent)]
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


@pytest.mark.parametrize(
    ("settings", "use"),
    [
        ({}, None),
        (MODEL, ModelUse("writer")),
        ({**MODEL, "prompt_key": "p", "temperature": 0.3, "max_tokens": 900}, ModelUse("writer", "p", 0.3, 900)),
    ],
)
async def test_a_hook_is_told_how_its_model_is_to_be_called(settings: dict[str, Any], use: ModelUse | None) -> None:
    seen: list[ModelUse | None] = []

    async def look(context: StageContext, _view: StageView) -> dict[str, Any]:
        seen.append(context.model_use)
        return {}

    await ScriptedRunner(PipelineBuilder().stage("a", **settings).build(), {"a": [look]}).run()
    assert seen == [use]
