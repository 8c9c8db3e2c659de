"""What agents hand on to one another: read by its type, told by name where it is wrong, and readable in older logs."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.agents.synthesizer import gather, write_claims
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.handover.answer import AnswerOutput, DraftOutput
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput, critique_if_any
from actors.capabilities.code_analysis.handover.execution import ExecutionOutput, execution_of
from actors.capabilities.code_analysis.handover.intent import IntentOutput, intent_if_any, intent_of
from actors.capabilities.code_analysis.handover.passes import passes_of
from actors.capabilities.code_analysis.handover.perception import PerceptionOutput, perception_of
from actors.capabilities.code_analysis.handover.plan import PlanOutput, plan_if_any, plan_of
from actors.capabilities.code_analysis.handover.reading import read, written
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput, synthesis_of
from runtime.agents.capability import StageContext, StageInput
from runtime.errors import HandoverError
from runtime.run.goals import GoalBoard, RoundSummary
from runtime.run.stage_view import StageView
from tests.capabilities.code_analysis.support import AnalysisHarness, no_context, reasoning, with_agents
from tests.capabilities.code_analysis.test_step_purposes import RECORDED

OUTPUTS: dict[str, type[msgspec.Struct]] = {
    "perception": PerceptionOutput,
    "intent": IntentOutput,
    "planner": PlanOutput,
    "execution": ExecutionOutput,
    "synthesis": SynthesisOutput,
    "critic": CritiqueOutput,
    "integration": AnswerOutput,
}
# Fields that older logs do not have, with what is read in their place.
ADDED_SINCE: dict[str, Any] = {
    "confidence": None,
    "presence": None,
    "confidence_features": {},
    "status": None,
    "meaning": None,
}
ADDED_SINCE |= {"absence": None, "part_absences": {}, "parts": []}
READERS: dict[str, Callable[[StageView], msgspec.Struct | None]] = {
    "perception": perception_of,
    "intent": intent_of,
    "planner": plan_of,
    "execution": execution_of,
    "synthesis": synthesis_of,
    "critic": critique_if_any,
}


def recorded(question: str) -> StageView:
    """The last view of a run that was recorded before outputs had types."""
    rounds = msgspec.convert(RECORDED[question]["rounds"], tuple[RoundSummary, ...])
    board = GoalBoard(finished_rounds=rounds)
    return StageView(raw_input=question, outputs=RECORDED[question]["outputs"], goals=board)


@pytest.mark.parametrize("question", RECORDED)
@pytest.mark.parametrize("key", READERS)
def test_outputs_that_were_recorded_before_they_had_types_are_read(question: str, key: str) -> None:
    assert READERS[key](recorded(question)) is not None


@pytest.mark.parametrize("question", RECORDED)
def test_no_field_of_an_output_has_another_name_than_in_older_logs(question: str) -> None:
    for key, fields in RECORDED[question]["outputs"].items():
        assert fields.keys() <= set(OUTPUTS[key].__struct_fields__), key
    (done, *_) = passes_of(recorded(question))
    # Fields that came later are absent unless they are set.
    later = {
        field.name for field in msgspec.structs.fields(done) if field.default is msgspec.UNSET
    } | ADDED_SINCE.keys()
    assert RECORDED[question]["rounds"][0]["synthesis"].keys() == {*done.__struct_fields__} - later
    assert {name: getattr(done, name) for name in ADDED_SINCE.keys() & {*done.__struct_fields__}} == {
        name: value for name, value in ADDED_SINCE.items() if name in done.__struct_fields__
    }


def _as_then(claim: Claim) -> dict[str, Any]:
    """The document of a claim, whose documentation was not marked as a quotation then, nor told in another way."""
    quotes = tuple(quote for quote in claim.quotes if f": «{quote}»" not in claim.text)
    text = re.sub(": «([^«»]*)»$", r": \1", claim.text)
    as_then = msgspec.structs.replace(claim, text=text, quotes=quotes, unquoted="")
    return dict(msgspec.json.decode(msgspec.json.encode(as_then)))


@pytest.mark.parametrize("question", RECORDED)
async def test_claims_from_the_facts_of_an_older_log_are_those_that_were_written_then(question: str) -> None:
    view = recorded(question)
    given = await gather(no_context(), view)
    told = write_claims(evidence_of(given.facts["question"], given.facts["facts"]), given.facts["target_goals"])
    claims = {goal: [_as_then(claim) for claim in found] for goal, found in told.items()}
    assert claims == RECORDED[question]["outputs"]["synthesis"]["hints_for_goals"]


@pytest.mark.parametrize("question", RECORDED)
@pytest.mark.parametrize("key", OUTPUTS)
def test_an_output_goes_on_the_wire_as_it_was_read(question: str, key: str) -> None:
    output = (
        read(key, RECORDED[question]["outputs"][key], OUTPUTS[key]) if key != "planner" else plan_of(recorded(question))
    )
    again = msgspec.json.decode(msgspec.json.encode(written(output)))
    assert read(key, again, OUTPUTS[key]) == output
    fields = {name: value for name, value in again.items() if name not in {"steps", "groups", "facts"}}
    assert fields == {name: {**ADDED_SINCE, **RECORDED[question]["outputs"][key]}[name] for name in fields}


@pytest.mark.parametrize(
    ("key", "fields", "field", "expected"),
    [
        ("intent", {"intent": 5, "question": {}}, "intent", "Expected `str`, got `int`"),
        ("intent", {"intent": "x", "question": {"text": "x"}}, "question.kind", "missing required field `kind`"),
        ("intent", {"intent": "x"}, "question", "missing required field `question`"),
        ("planner", {"steps": [{"id": "m0"}], "target_goals": []}, "steps[0].tool", "missing required field `tool`"),
        ("planner", {"target_goals": []}, "steps", "Expected `array`, got `null`"),
        ("execution", {"results": [], "facts": [{"kind": "noise"}]}, "facts[0].kind", "Invalid enum value 'noise'"),
        ("synthesis", {"hints_for_goals": []}, "hints_for_goals", "Expected `object`, got `array`"),
        ("critic", {"verdict": None}, "verdict", "Expected `str`, got `null`"),
    ],
)
def test_what_does_not_fit_is_told_with_agent_field_and_what_was_expected(
    key: str, fields: dict[str, Any], field: str, expected: str
) -> None:
    with pytest.raises(HandoverError) as caught:
        READERS[key](StageView("?", outputs={key: fields}))
    said = caught.value
    assert (said.values["agent"], said.values["field"]) == (key, field)
    assert expected in said.values["expected"]
    assert said.message.startswith(f"the output of agent '{key}' does not have its form: field '{field}': ")
    again = pickle.loads(pickle.dumps(said))
    assert (again.message, again.values) == (said.message, said.values)


def test_an_output_that_is_not_there_yet_is_told_with_those_that_are() -> None:
    view = StageView("?", outputs={"perception": {"normalized_input": "?"}})
    for reader in (intent_of, plan_of, execution_of, synthesis_of):
        with pytest.raises(HandoverError, match=r"has no output '.*' yet; it has perception"):
            reader(view)
    assert (intent_if_any(view), plan_if_any(view), critique_if_any(view)) == (None, None, None)


@pytest.mark.long
@pytest.mark.parametrize(
    ("agent", "field", "value"),
    [
        ("intent", "goals", [5]),
        ("planner", "steps", 5),
        ("synthesizer", "coverage", "much"),
        ("critic", "confidence", []),
    ],
)
async def test_the_stage_fails_whose_output_does_not_have_its_form_and_no_later_one(
    relay: AnalysisHarness, agent: str, field: str, value: object
) -> None:
    rules = relay.capability.agents[agent].reasoners["rules"]

    async def wrong(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        return {**await rules(context, view, given), field: value}

    desk = relay.variant(with_agents(**{agent: reasoning(agent, wrong)}))
    document = await desk.ask("How does deliver_parcel work?")
    assert [failed["stage"] for failed in document["failures"]] == [agent]
    assert f"field '{field}" in document["failures"][0]["error"]


def test_a_draft_is_an_answer_with_what_the_reviewer_is_shown() -> None:
    own = {"turn", "agent_review_question", "agent_review_data"}
    assert {*DraftOutput.__struct_fields__} - {*AnswerOutput.__struct_fields__} == own
