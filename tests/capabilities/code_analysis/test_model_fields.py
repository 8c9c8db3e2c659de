"""Each field that a model is asked for has an effect on the run or its answer."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.llm.messages import ModelRequest
from runtime.llm.scripted import ScriptedModel
from tests.capabilities.code_analysis.model_desk import ModelDesk, agent_of, by_agent
from tests.capabilities.code_analysis.support import AnalysisHarness
from tests.capabilities.code_analysis.test_model_reasoners import GOOD, QUESTION


def prompts(model: ScriptedModel, agent: str) -> list[str]:
    return [request.messages[1].content for request in model.requests if agent_of(request) == agent]


async def run(relay: AnalysisHarness, *, limits: Any = None, clarify: bool = False, **agents: Any) -> Any:
    """A run with some agents' answers changed: its document, its requests, its envelope."""
    changed = {
        name: {**GOOD[name], **fields} if isinstance(fields, dict) else fields for name, fields in agents.items()
    }
    model = ScriptedModel([by_agent({**GOOD, **changed})])
    desk = ModelDesk(relay, model)
    document = await desk.ask(QUESTION, explain=True, limits=limits or {}, clarify=clarify)
    return document, model, desk.last


async def test_constraints_and_other_readings_are_told_to_who_writes_and_who_judges(relay: AnalysisHarness) -> None:
    fields = {"constraints": ["only vans"], "ambiguities": ["deliver may mean to hand over"]}
    document, model, _ = await run(relay, intent=fields)
    for agent in ("synthesizer", "critic"):
        (prompt,) = prompts(model, agent)
        assert "limited to: only vans" in prompt
        assert "it may also mean: deliver may mean to hand over" in prompt
    assert document["explanation"]["intent"]["constraints"] == ["only vans"]
    assert "The question may also mean: deliver may mean to hand over." in document["answer"]


async def test_goals_wait_for_those_that_they_depend_on(relay: AnalysisHarness) -> None:
    goals = [
        {"aspect": "mechanism", "text": "how it works", "after": [2]},
        {"aspect": "definition", "text": "where it is", "after": [1, 2, 6]},
        {"aspect": "mechanism", "text": "what becomes of the parcel", "after": []},
    ]
    _, _, envelope = await run(relay, intent={"goals": goals}, critic={"goals": []}, limits={"max_stages": 1})
    known = {goal.id: goal for goal in envelope.goals.goals}
    assert known["mechanism"].depends_on == ("definition",)
    assert known["definition"].depends_on == ("mechanism",)
    assert (known["mechanism:2"].text, known["mechanism:2"].depends_on) == ("what becomes of the parcel", ())
    assert envelope.outputs["planner"]["target_goals"] == ["mechanism:2"]


async def test_contradictions_are_told_to_the_judge_and_in_the_answer(relay: AnalysisHarness) -> None:
    document, model, _ = await run(relay, synthesizer={"contradictions": ["the guide says ten, the code says nine"]})
    assert "- contradiction: the guide says ten, the code says nine" in prompts(model, "critic")[0]
    assert "**Contradicts itself**\n\n- the guide says ten, the code says nine" in document["answer"]


async def test_open_questions_end_the_answer_and_no_rule_says_what_was_not_found(relay: AnalysisHarness) -> None:
    goals = [*GOOD["intent"]["goals"], {"aspect": "configuration", "text": "where it is set", "after": []}]
    fields = {"open_questions": ["Where is the limit set?"]}
    document, *_ = await run(relay, intent={"goals": goals}, synthesizer=fields)
    assert document["answer"].partition("\n\nNot looked at")[0].endswith("**Open**\n\n- Where is the limit set?")
    assert "No setting" not in document["answer"]
    assert "was found" not in document["answer"]


@pytest.mark.parametrize(("clarify", "reason"), [(True, "clarification_required"), (False, "completed")])
async def test_a_blocking_issue_is_put_to_the_user_where_somebody_can_be_asked(
    relay: AnalysisHarness, clarify: bool, reason: str
) -> None:
    critic = {"verdict": "next_stage", "goals": [], "blocking_issues": ["there are two vans"]}
    document, *_ = await run(relay, critic=critic, clarify=clarify, limits={"max_stages": 1})
    assert document["terminal_reason"] == reason
    assert ("there are two vans" in document["answer"]) is clarify


async def test_the_critic_adds_rewords_and_drops_goals_at_the_end_of_a_round(relay: AnalysisHarness) -> None:
    visits: list[ModelRequest] = []

    def judge(request: ModelRequest) -> Any:
        visits.append(request)
        changes = {
            "verdict": "next_stage",
            "goals": [],
            "new_goals": [{"aspect": "tests", "text": "which test holds it"}, {"aspect": "mechanism", "text": "why"}],
            "refined_goals": [{"goal": "mechanism", "text": "how a parcel changes hands"}],
            "dropped_goals": ["definition", "conquest"],
        }
        return {**GOOD["critic"], **changes} if len(visits) == 1 else GOOD["critic"]

    _, model, envelope = await run(relay, critic=judge, limits={"max_stages": 2})
    known = {goal.id: (goal.text, goal.status) for goal in envelope.goals.goals}
    assert known["definition"] == ("where it is", "dropped")
    assert known["mechanism"] == ("how a parcel changes hands", "satisfied")
    assert known["tests"][0] == "which test holds it"
    assert known["mechanism:2"][0] == "why"
    assert "- mechanism: how a parcel changes hands" in prompts(model, "synthesizer")[1]
    assert "- definition:" not in prompts(model, "synthesizer")[1].partition("Form:")[0]


async def test_not_every_goal_can_be_dropped(relay: AnalysisHarness) -> None:
    critic = {"verdict": "next_stage", "goals": [], "dropped_goals": ["definition", "mechanism"]}
    document, *_ = await run(relay, critic=critic, limits={"max_stages": 1})
    assert document["open_goals"]


async def test_confidence_and_fit_are_kept_with_the_outputs(relay: AnalysisHarness) -> None:
    _, _, envelope = await run(relay, intent={"confidence": 0.4}, critic={"confidence": 0.3, "alignment": 0.2})
    assert envelope.outputs["intent"]["confidence"] == 0.4
    assert envelope.outputs["critic"]["confidence"] == 0.3
    assert envelope.outputs["critic"]["intent_alignment_score"] == 0.2
