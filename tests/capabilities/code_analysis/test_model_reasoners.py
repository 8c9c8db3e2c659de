"""Whole runs with models that are good, that lie, that write noise, and that are not there."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.models.schemas import (
    CriticAnswer,
    CriticWithPlan,
    IntentAnswer,
    IntentWithPlan,
    PlanAnswer,
    SynthesisAnswer,
    WrittenClaim,
)
from actors.capabilities.code_analysis.models.written_claims import ShownFact, claims_of, unsupported_names
from runtime.codebase.citation import Citation
from runtime.errors import ModelBrokeOffError, ModelDownError, ModelRefusedError
from runtime.llm.messages import ModelRequest
from runtime.llm.scripted import ScriptedModel
from runtime.llm.structured import bounded_schema
from runtime.llm.tokens import ByteCounter, count_messages
from serve.answer_document import exit_status
from tests.capabilities.code_analysis.model_desk import (
    PROMPTS,
    ModelDesk,
    agent_of,
    any_instance,
    by_agent,
    models_file,
    planned,
    written,
)
from tests.capabilities.code_analysis.support import LLM_AGENTS, AnalysisHarness, Produced, pipeline, write_files
from tests.capabilities.code_analysis.test_evidence_chain import REPOSITORY, document_faults, ending_faults

QUESTION = "How does deliver_parcel work?"

GOOD: dict[str, Any] = {
    "intent": {
        "intent": "Explain deliver_parcel",
        "kind": "how",
        "goals": [
            {"aspect": "definition", "text": "where it is", "after": []},
            {"aspect": "mechanism", "text": "how it works", "after": []},
        ],
        "names": ["deliver_parcel"],
        "constraints": [],
        "ambiguities": [],
        "confidence": 0.9,
        "steps": [planned("locate", "deliver_parcel", "definition")],
        "feasibility": 90,
    },
    "planner": {"steps": [planned("locate", "deliver_parcel", "definition")], "feasibility": 90},
    "synthesizer": {
        "claims": [
            written("definition", "This is what carries a parcel.", (1, 6, 10)),
            written("mechanism", "The oldest parcel goes from one depot to another.", (1, 8, 9)),
        ],
        "contradictions": [],
        "open_questions": [],
    },
    "critic": {
        "claims": [{"claim": number, "verdict": "supported", "why": ""} for number in (1, 2)],
        "verdict": "approved",
        "goals": [{"goal": "definition", "status": "satisfied"}, {"goal": "mechanism", "status": "satisfied"}],
        "new_goals": [],
        "refined_goals": [],
        "dropped_goals": [],
        "blocking_issues": [],
        "confidence": 0.9,
        "alignment": 0.9,
        "hint": "",
        "steps": [],
    },
}


# Goals without tool calls: the planner's own prompt is asked.
GOALS_ALONE = {**GOOD["intent"], "steps": []}


async def test_a_good_model_plans_words_and_judges_the_answer(relay: AnalysisHarness) -> None:
    model = ScriptedModel([by_agent(GOOD)])
    document = await ModelDesk(relay, model).ask(QUESTION)
    assert document["terminal_reason"] == "completed"
    assert document["answer"].startswith(
        "This is what carries a parcel. [relay/van.py:6-10]\n\n"
        "The oldest parcel goes from one depot to another. [relay/van.py:8-9]"
    )
    assert (document["reasoner"], document["rules_took_over"]) == ("llm", [])
    assert [agent_of(request) for request in model.requests] == ["intent", "synthesizer", "critic"]
    usage = document["usage"]
    assert usage["llm_calls"] == 3
    assert usage["tokens_in"] == sum(count_messages(ByteCounter(), request.messages) for request in model.requests)


async def test_in_the_replan_form_the_planners_model_sees_the_hint_of_the_critic_that_sent_the_run_back(
    relay: AnalysisHarness,
) -> None:
    hint = "look at how a depot decides to accept a parcel"
    again = {**GOOD["critic"], "verdict": "reintent", "goals": [], "hint": hint}
    verdicts = iter([again, GOOD["critic"]])
    model = ScriptedModel([by_agent({**GOOD, "intent": GOALS_ALONE, "critic": lambda _request: next(verdicts)})])
    document = await ModelDesk(relay, model, config=pipeline("code_analysis_replan")).ask(QUESTION)
    assert (document["terminal_reason"], document["rules_took_over"]) == ("completed", [])
    first, second = (request.messages[-1].content for request in model.requests if agent_of(request) == "planner")
    assert hint not in first
    assert f"hint: {hint}" in second
    assert [agent_of(request) for request in model.requests].count("intent") == 1


@pytest.mark.parametrize("agent", LLM_AGENTS)
async def test_an_agent_whose_model_writes_nonsense_twice_is_stood_in_for_by_rules_and_the_answer_says_so(
    relay: AnalysisHarness, agent: str
) -> None:
    model = ScriptedModel([by_agent({**GOOD, "intent": GOALS_ALONE, agent: "I would rather not."})])
    document = await ModelDesk(relay, model).ask(QUESTION)
    assert document["terminal_reason"] == "completed"
    assert document["citations"]
    assert {record["agent"] for record in document["rules_took_over"]} == {agent}
    assert f"The model could not be used for {agent}; rules took its place there." in document["answer"]
    assert document["usage"]["llm_calls"] >= 5


async def test_one_bad_answer_is_mended_and_nobody_is_stood_in_for(relay: AnalysisHarness) -> None:
    def bad_at_first(request: ModelRequest) -> Any:
        return GOOD["planner"] if len(request.messages) > 2 else {"steps": []}

    document = await ModelDesk(
        relay, ScriptedModel([by_agent({**GOOD, "intent": GOALS_ALONE, "planner": bad_at_first})])
    ).ask(QUESTION)
    assert (document["rules_took_over"], document["usage"]["llm_calls"]) == ([], 5)


@pytest.mark.parametrize(
    "error",
    [
        ModelDownError("nobody there"),
        ModelRefusedError("answered 400"),
        ModelBrokeOffError("cut", tokens_in=5, tokens_out=1),
    ],
)
async def test_a_model_that_is_gone_loses_no_run(relay: AnalysisHarness, error: Exception) -> None:
    document = await ModelDesk(relay, ScriptedModel([error])).ask(QUESTION)
    assert document["terminal_reason"] == "completed"
    assert document["citations"]
    assert [record["agent"] for record in document["rules_took_over"]] == list(LLM_AGENTS)
    assert "for intent, planner, synthesizer, critic; rules took its place" in document["answer"]
    assert document["answer"].startswith(f"**No model took part in this answer** ({error}")
    assert (document["model_unused"], document["partial"], exit_status(document)) == (True, True, 1)


@pytest.mark.parametrize("works", LLM_AGENTS)
async def test_a_model_that_did_something_was_of_use(relay: AnalysisHarness, works: str) -> None:
    answers = {agent: GOOD[agent] if agent == works else "nonsense" for agent in LLM_AGENTS}
    document = await ModelDesk(relay, ScriptedModel([by_agent(answers)])).ask(QUESTION)
    assert "model_unused" not in document
    assert exit_status(document) == 0


async def test_a_record_of_an_earlier_round_is_not_lost_with_the_rounds_outputs(relay: AnalysisHarness) -> None:
    calls: list[str] = []

    def once(request: ModelRequest) -> Any:
        calls.append("planner")
        return "nonsense" if len(calls) <= 2 else GOOD["planner"]

    def another_round(request: ModelRequest) -> Any:
        again = len(calls) <= 2
        return {**GOOD["critic"], "verdict": "next_stage" if again else "approved", "goals": []}

    nothing: dict[str, Any] = {"claims": [], "contradictions": [], "open_questions": []}

    def no_claims_at_first(request: ModelRequest) -> Any:
        return nothing if len(calls) <= 2 else GOOD["synthesizer"]

    agents = {"intent": GOALS_ALONE, "planner": once, "critic": another_round, "synthesizer": no_claims_at_first}
    script = by_agent({**GOOD, **agents})
    document = await ModelDesk(relay, ScriptedModel([script])).ask("How do zebras moult?")
    assert document["usage"]["stages"] >= 2
    assert [record["agent"] for record in document["rules_took_over"]] == ["planner"]


async def test_a_round_in_which_two_agents_are_stood_in_for_is_remembered_with_both(relay: AnalysisHarness) -> None:
    planned: list[ModelRequest] = []

    def plan(request: ModelRequest) -> Any:
        planned.append(request)
        return "nonsense" if len(planned) <= 2 else GOOD["planner"]

    def judge(request: ModelRequest) -> Any:
        return "nonsense" if len(planned) <= 2 else GOOD["critic"]

    nothing: dict[str, Any] = {"claims": [], "contradictions": [], "open_questions": []}
    script = by_agent({**GOOD, "intent": GOALS_ALONE, "planner": plan, "critic": judge, "synthesizer": nothing})
    document = await ModelDesk(relay, ScriptedModel([script])).ask("How do zebras moult?")
    assert document["usage"]["stages"] >= 2
    assert [record["agent"] for record in document["rules_took_over"]] == ["planner", "critic"]


LIES: dict[str, dict[str, Any]] = {
    "facts that were not shown": written("definition", "It is written in Rust.", (199, 1, 1)),
    "one fact of two that was not shown": written("definition", "It is in Rust.", (1, 8, 8), (199, 1, 1)),
    "lines that were not shown": written("definition", "It is in line 11.", (1, 10, 11)),
    "lines before those shown": written("definition", "It is in line 5.", (1, 5, 6)),
    "lines that end before they begin": written("definition", "It is between.", (1, 9, 8)),
    "names that are not there": written("definition", "It calls launch_rocket() first.", (1, 8, 8)),
    "quoted names that are not there": written("definition", "It is a `zebra`.", (1, 8, 8)),
    "goals that nobody has": written("conquest", "It carries a parcel.", (1, 8, 8)),
    "nothing but blanks": written("definition", " \n\t ", (1, 8, 8)),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_claim_that_its_fact_does_not_bear_is_left_out(relay: AnalysisHarness, lie: str) -> None:
    lying = {"claims": [LIES[lie]], "contradictions": [], "open_questions": []}
    document = await ModelDesk(relay, ScriptedModel([by_agent({**GOOD, "synthesizer": lying})])).ask(QUESTION)
    text = str(LIES[lie]["text"]).strip()
    assert not text or text not in document["answer"]
    assert document["citations"]


async def test_marks_that_a_model_writes_into_its_text_are_none(relay: AnalysisHarness) -> None:
    text = "See [relay/made_up.py:3] and [/etc/passwd:1-2]."
    claims = [written("definition", text, (1, 8, 8))]
    lying = {"claims": claims, "contradictions": [], "open_questions": []}
    document = await ModelDesk(relay, ScriptedModel([by_agent({**GOOD, "synthesizer": lying})])).ask(QUESTION)
    assert "[relay/made_up.py:3]" not in document["answer"]
    assert "[/etc/passwd:1-2]" not in document["answer"]


async def test_nothing_is_approved_on_no_claims_and_no_goal_is_met_without_one(relay: AnalysisHarness) -> None:
    silent = {**GOOD, "synthesizer": {"claims": [], "contradictions": [], "open_questions": []}}
    document = await ModelDesk(relay, ScriptedModel([by_agent(silent)])).ask("How do zebras moult?")
    assert document["usage"]["stages"] > 1
    assert document["open_goals"]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[AnalysisHarness, Produced, Path]:
    root = tmp_path_factory.mktemp("lies") / "repo"
    write_files(root, REPOSITORY)
    desk = asyncio.run(AnalysisHarness.open(root, tmp_path_factory.mktemp("lies-state")))
    return desk, Produced(root), root


@pytest.mark.parametrize("seed", range(25))
async def test_a_model_that_writes_noise_of_the_right_form_makes_no_false_citation_and_ends_within_its_bounds(
    watched: tuple[AnalysisHarness, Produced, Path], seed: int
) -> None:
    desk, produced, root = watched
    produced.clear()
    chance = random.Random(seed)

    def noise(request: ModelRequest) -> str:
        assert request.schema is not None
        return json.dumps(any_instance(request.schema, chance))

    model = ScriptedModel([noise])
    document = await ModelDesk(desk, model, produced.recording(CAPABILITY)).ask(QUESTION)
    assert document_faults(document, root, produced) == []
    assert ending_faults(document) == []
    assert document["usage"]["llm_calls"] <= 28


@pytest.mark.parametrize("seed", range(5))
async def test_a_model_that_writes_anything_at_all_makes_no_false_citation(
    watched: tuple[AnalysisHarness, Produced, Path], seed: int
) -> None:
    desk, produced, root = watched
    produced.clear()
    chance = random.Random(seed)
    model = ScriptedModel([lambda request: "".join(chance.choices('{}[]":,abc 019\n', k=300))])
    document = await ModelDesk(desk, model, produced.recording(CAPABILITY)).ask(QUESTION)
    assert document_faults(document, root, produced) == []
    assert document["rules_took_over"]


@pytest.mark.parametrize("allowed", [0, 1, 2])
async def test_a_run_makes_exactly_the_model_calls_that_it_may_and_answers_at_the_limit(
    relay: AnalysisHarness, allowed: int
) -> None:
    model = ScriptedModel([by_agent(GOOD)])
    document = await ModelDesk(relay, model).ask(QUESTION, limits={"max_llm_calls": allowed})
    assert document["terminal_reason"] == "max_llm_calls_exceeded"
    assert document["usage"]["llm_calls"] == len(model.requests) == allowed
    assert document["partial"]


@pytest.mark.parametrize("max_model_len", [1_024, 3_000, 8_192, 16_384])
async def test_no_request_is_larger_than_the_model_however_long_the_question(
    relay: AnalysisHarness, max_model_len: int
) -> None:
    model = ScriptedModel([by_agent(GOOD)], max_model_len)
    desk = ModelDesk(relay, model, models=models_file(max_model_len, max_model_len // 16))
    document = await desk.ask(f"{QUESTION} {'Tell me more. ' * 1_000}")
    assert document["terminal_reason"] == "completed"
    for request in model.requests:
        assert count_messages(model.counter, request.messages) + request.sampling.max_tokens <= max_model_len
    assert bool(model.requests) is (max_model_len > 3_000)
    if max_model_len == 16_384:
        assert document["rules_took_over"] == [], "what does not fit is left out, and the model is asked"


async def test_requests_of_a_run_begin_alike_as_far_as_they_can(relay: AnalysisHarness) -> None:
    model = ScriptedModel([by_agent(GOOD)])
    await ModelDesk(relay, model).ask(QUESTION)
    assert len({request.messages[0].content for request in model.requests}) == 1
    opening = f"Question: {QUESTION}"
    assert all(request.messages[1].content.startswith(opening) for request in model.requests)


@pytest.mark.parametrize(
    "shape", [IntentAnswer, IntentWithPlan, PlanAnswer, SynthesisAnswer, CriticAnswer, CriticWithPlan]
)
def test_every_shape_has_an_end(shape: Any) -> None:
    assert bounded_schema(shape)["type"] == "object"


def test_every_agent_with_a_model_has_a_prompt_and_a_reasoner_for_it() -> None:
    for agent in LLM_AGENTS:
        assert PROMPTS.get(agent).shares == "shared"
    for stage in pipeline().agents:
        assert not stage.has_llm or {"rules", "llm"} <= CAPABILITY.agents[stage.name].reasoners.keys()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It calls accept.", []),
        ("It calls `accept` and release.", []),
        ("It calls `steal`.", ["steal"]),
        ("Depot.accept takes it.", []),
        ("Depot.steal takes it.", ["Depot.steal"]),
        ("JSONParser is used.", ["JSONParser"]),
        ("HTTP is not code.", []),
    ],
)
def test_names_of_code_must_stand_in_the_fact(text: str, names: list[str]) -> None:
    shown = {"Depot", "accept", "def", "self", "release"}
    assert unsupported_names(text, shown) == names


@pytest.mark.parametrize(("number", "kept"), [(1, 1), (2, 1), (3, 0)])
def test_a_fact_is_known_by_its_number_from_one(number: int, kept: int) -> None:
    facts = [ShownFact(CodeFact("caller", Citation(f"{name}.py", 1, 1))) for name in "ab"]
    claim = WrittenClaim.model_validate(written("g", "so", (number, 0, 0)))
    read = claims_of([claim], facts, ["g"])
    assert len(read.by_goal["g"]) == kept
    assert read.reasons.get("no_such_fact", 0) == 1 - kept
    if kept:
        assert read.by_goal["g"][0].citations == (facts[number - 1].fact.citation,)
