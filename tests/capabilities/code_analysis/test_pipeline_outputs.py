"""What the shipped pipelines say of outputs is what the types of the outputs say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.handover.answer import AnswerOutput, DraftOutput
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput
from actors.capabilities.code_analysis.handover.execution import ExecutionOutput
from actors.capabilities.code_analysis.handover.intent import IntentOutput
from actors.capabilities.code_analysis.handover.perception import PerceptionOutput
from actors.capabilities.code_analysis.handover.plan import PlanOutput
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput
from runtime.pipeline.config import AgentConfig
from tests.capabilities.code_analysis.support import AnalysisHarness, pipeline, reasoning, with_agents

OUTPUT_OF: dict[str, type[msgspec.Struct]] = {
    "perception": PerceptionOutput,
    "intent": IntentOutput,
    "planner": PlanOutput,
    "planner_quick": PlanOutput,
    "planner_thorough": PlanOutput,
    "plan_choice": PlanOutput,
    "traverser": ExecutionOutput,
    "execution": ExecutionOutput,
    "synthesizer": SynthesisOutput,
    "critic": CritiqueOutput,
    "integration": AnswerOutput,
    "draft": DraftOutput,
    "release": AnswerOutput,
}
STAGES = [(name, agent.name) for name in CAPABILITY.pipelines for agent in pipeline(name).agents]


def stage_of(name: str, stage: str) -> AgentConfig:
    """A stage of a pipeline as it ships."""
    return next(agent for agent in pipeline(name).agents if agent.name == stage)


def plain(part: Any) -> Any:
    """A schema without the words for people, and without values for what is left out."""
    if isinstance(part, list):
        return [plain(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: {name: plain(of_name) for name, of_name in value.items()} if key == "properties" else plain(value)
        for key, value in part.items()
        if key not in {"title", "description", "default"}
    }


def schema_of(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of an output."""
    defined = {name: plain(part) for name, part in msgspec.json.schema(shape)["$defs"].items()}
    return {**defined.pop(shape.__name__), "$defs": defined}


def test_every_agent_has_a_type_for_what_it_hands_on() -> None:
    assert OUTPUT_OF.keys() == CAPABILITY.agents.keys()


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_a_pipeline_requires_fields_of_the_type_and_all_that_the_type_has_no_value_for(name: str, stage: str) -> None:
    fields = msgspec.structs.fields(OUTPUT_OF[stage])
    required = set(stage_of(name, stage).required_output_fields)
    assert required <= {field.name for field in fields}
    assert {field.name for field in fields if field.required} <= required


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_the_schema_that_a_pipeline_has_of_an_output_is_that_of_its_type(name: str, stage: str) -> None:
    written = stage_of(name, stage).output_schema
    assert written is None or written == schema_of(OUTPUT_OF[stage])


def test_the_plan_that_is_judged_has_a_schema() -> None:
    assert stage_of("code_analysis_reviewed", "planner").output_schema is not None


@pytest.mark.long
@pytest.mark.parametrize("purpose", ["find", "conquest"])
async def test_a_plan_that_does_not_fit_is_not_judged(relay: AnalysisHarness, purpose: str) -> None:
    rules = CAPABILITY.agents["planner"].reasoners["rules"]

    async def planned(*given: Any) -> dict[str, Any]:
        plan = await rules(*given)
        return {**plan, "steps": [{**step, "purpose": purpose} for step in plan["steps"]]}

    capability = with_agents(planner=reasoning("planner", planned))
    envelope = await relay.variant(capability, pipeline("code_analysis_reviewed")).run("Where is Depot?")
    is_of_plan = any("purpose" in error for error in envelope.errors)
    assert is_of_plan is (purpose == "conquest")
