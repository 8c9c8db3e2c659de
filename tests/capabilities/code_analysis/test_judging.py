"""A judge that sees each claim with its lines: what it strikes is gone, counted and told; nothing else is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.models.claim_judging import presented
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.codebase.citation import Citation
from runtime.llm.messages import ModelRequest
from runtime.llm.scripted import ScriptedModel
from serve.cli.output.explanation import explanation_text
from tests.capabilities.code_analysis.model_desk import ModelDesk, agent_of, by_agent, written
from tests.capabilities.code_analysis.support import AnalysisHarness
from tests.capabilities.code_analysis.test_model_reasoners import GOOD, QUESTION

TRUE = "It takes the oldest parcel of the origin."
LIE = "The parcel is weighed before it is accepted."
PAIR = {
    "claims": [written("definition", LIE, (1, 9, 10)), written("mechanism", TRUE, (1, 8, 8))],
    "contradictions": [],
    "open_questions": [],
}


def verdicts(*said: tuple[int, str], verdict: str = "approved", goals: Any = None) -> dict[str, Any]:
    judged = [{"claim": number, "verdict": word, "why": "by its lines"} for number, word in said]
    return {
        **GOOD["critic"],
        "claims": judged,
        "verdict": verdict,
        "goals": GOOD["critic"]["goals"] if goals is None else goals,
    }


async def told(relay: AnalysisHarness, critic: Any, synthesizer: Any = PAIR) -> dict[str, Any]:
    script = by_agent({**GOOD, "synthesizer": synthesizer, "critic": critic})
    return await ModelDesk(relay, ScriptedModel([script])).ask(QUESTION, explain=True)


QUESTIONS = ["Who weighs it?", "Which parcel is taken?"]
OPEN = {**PAIR, "open_questions": QUESTIONS}


@pytest.mark.parametrize(
    ("answered", "left"),
    [
        ([], ["Who weighs it?", "Which parcel is taken?"]),
        ([2], ["Who weighs it?"]),
        ([2, 1, 2], []),
        ([3], ["Who weighs it?", "Which parcel is taken?"]),
    ],
)
async def test_the_judge_closes_open_questions_that_claims_answer(
    relay: AnalysisHarness, answered: list[int], left: list[str]
) -> None:
    critic = {**verdicts((1, "supported"), (2, "supported")), "answered_questions": answered}
    document = await told(relay, critic, OPEN)
    assert [question for question in QUESTIONS if f"- {question}" in document["answer"]] == left
    assert ("**Open**" in document["answer"]) is bool(left)


async def test_a_judge_that_strikes_all_claims_closes_no_question(relay: AnalysisHarness) -> None:
    critic = {**verdicts((1, "unsupported"), (2, "misread")), "answered_questions": [1, 2]}
    document = await told(relay, critic, OPEN)
    assert "Who weighs it?" in document["answer"]


async def test_the_judge_sees_the_open_questions_by_number(relay: AnalysisHarness) -> None:
    model = ScriptedModel([by_agent({**GOOD, "synthesizer": OPEN})])
    await ModelDesk(relay, model).ask(QUESTION)
    prompt = model.requests[-1].messages[1].content
    assert "- open 1: Who weighs it?\n- open 2: Which parcel is taken?" in prompt


async def test_the_judge_sees_every_claim_with_the_lines_that_it_cites_and_what_stands_around_them(
    relay: AnalysisHarness,
) -> None:
    model = ScriptedModel([by_agent({**GOOD, "synthesizer": PAIR})])
    await ModelDesk(relay, model).ask(QUESTION)
    prompt = model.requests[-1].messages[1].content
    shown = prompt.partition("Claims:\n")[2]
    lines = (relay.root / "relay/van.py").read_text().split("\n")
    assert f"Claim 1 (goal definition): {LIE}\nrelay/van.py:9-10 in deliver_parcel (lines 6 to 10)\n" in shown
    for number, text in enumerate(lines[:10], 1):
        mark = ">" if number in (9, 10) else " "
        assert (f"{mark}{number}| {text}" in shown.partition("Claim 2")[0]) is (number >= 6)
    assert f">8| {lines[7]}\n" in shown.partition("Claim 2")[2]


@pytest.mark.parametrize(
    ("first", "last", "header"),
    [
        (5, 5, "relay/van.py:5\n"),
        (6, 10, "relay/van.py:6-10\n"),
        (7, 7, "relay/van.py:7 in deliver_parcel (lines 6 to 10)\n"),
        (7, 11, "relay/van.py:7-11\n"),
    ],
    ids=["outside", "the whole", "within", "beyond its end"],
)
async def test_the_judge_is_told_which_definition_the_lines_of_a_claim_are_in(
    relay: AnalysisHarness, first: int, last: int, header: str
) -> None:
    claim = Claim("lead", "It is so.", (Citation("relay/van.py", first, last, ""),))
    hints = {"definition": [msgspec.to_builtins(claim)]}
    (shown,) = presented(relay.services.codebase(relay.repository), hints)
    assert f"It is so.\n{header}" in shown.text


@pytest.mark.parametrize("verdict", ["unsupported", "misread"])
async def test_a_claim_that_the_judge_strikes_is_left_out_counted_and_told(
    relay: AnalysisHarness, verdict: str
) -> None:
    document = await told(relay, verdicts((1, verdict), (2, "supported")))
    assert LIE not in document["answer"]
    assert f"{TRUE} [relay/van.py:8]" in document["answer"]
    assert document["claims_struck"] == [
        {"text": LIE, "cited": ["relay/van.py:9-10"], "verdict": verdict, "why": "by its lines"}
    ]
    assert [(c["start_line"], c["end_line"]) for c in document["citations"]] == [(8, 8)]
    assert document["explanation"]["rounds"][0]["claims_struck"] == document["claims_struck"]
    assert f"- struck by the judge, {verdict}: {LIE} (by its lines)" in explanation_text(document)


async def test_nothing_is_struck_that_the_judge_supports_or_says_nothing_about(relay: AnalysisHarness) -> None:
    document = await told(relay, verdicts((1, "supported")))
    assert document["claims_struck"] == []
    assert LIE in document["answer"]
    assert TRUE in document["answer"]


async def test_of_two_verdicts_on_a_claim_the_one_that_strikes_counts(relay: AnalysisHarness) -> None:
    for said in ([(1, "supported"), (1, "misread")], [(1, "misread"), (1, "supported")]):
        document = await told(relay, verdicts(*said))
        assert [struck["text"] for struck in document["claims_struck"]] == [LIE]


@pytest.mark.parametrize("number", [3, 16])
async def test_a_verdict_on_a_claim_that_there_is_not_changes_nothing(relay: AnalysisHarness, number: int) -> None:
    document = await told(relay, verdicts((number, "misread")))
    assert document["claims_struck"] == []
    assert LIE in document["answer"]


async def test_a_goal_is_not_met_by_claims_that_were_struck_and_nothing_is_approved_without_any(
    relay: AnalysisHarness,
) -> None:
    document = await told(relay, verdicts((1, "unsupported"), (2, "unsupported")))
    assert document["usage"]["stages"] > 1
    assert document["open_goals"]
    assert document["citations"] == []
    assert "held up against the lines" in document["answer"]


async def test_the_next_round_is_told_what_was_struck_and_why_and_its_answer_takes_the_place_of_the_draft(
    relay: AnalysisHarness,
) -> None:
    prompts: list[str] = []
    better = {
        **PAIR,
        "claims": [written("mechanism", TRUE, (1, 8, 8)), written("definition", "It ends there.", (1, 9, 10))],
    }

    def write(request: ModelRequest) -> Any:
        prompts.append(request.messages[1].content)
        return PAIR if len(prompts) == 1 else better

    def judge(_request: ModelRequest) -> Any:
        if len(prompts) > 1:
            return verdicts((1, "supported"), (2, "supported"))
        goals = [{"goal": "definition", "status": "unmet"}, {"goal": "mechanism", "status": "satisfied"}]
        return verdicts((1, "misread"), (2, "supported"), verdict="next_stage", goals=goals)

    document = await told(relay, judge, write)
    draft = prompts[1].partition("Draft so far:\n")[2].partition("\n\nFacts:")[0]
    assert draft == f"- {TRUE} (relay/van.py:8)\n- struck by the judge, misread: {LIE} (by its lines)"
    assert "1. code deliver_parcel" in prompts[1], "what was read in the first round is shown in the second"
    assert document["answer"].startswith(f"{TRUE} [relay/van.py:8]\n\nIt ends there. [relay/van.py:9-10]")
    assert document["answer"].count(TRUE) == 1
    assert len(document["claims_struck"]) == 1


@pytest.mark.parametrize(("said", "is_kept"), [([(1, "supported"), (2, "supported")], True), ([], False)])
async def test_an_answer_that_no_judge_has_confirmed_is_not_remembered(
    own_root: Path, tmp_path: Path, said: list[tuple[int, str]], is_kept: bool
) -> None:
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    document = await told(desk, verdicts(*said))
    assert document["citations"]
    terms = analyse(QUESTION).terms
    remembered = desk.memory.recall(desk.repository["root"], terms)
    assert [answer.question for answer in remembered] == ([QUESTION] if is_kept else [])


async def test_an_earlier_answer_is_told_as_places_to_read_and_never_as_what_was_made_of_them(
    own_root: Path, tmp_path: Path
) -> None:
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    await told(desk, verdicts((1, "supported"), (2, "supported")))
    model = ScriptedModel([by_agent(GOOD)])
    await ModelDesk(desk, model).ask(QUESTION + " please")
    await ModelDesk(desk, model).ask(QUESTION)
    similar, same = (r.messages[1].content for r in model.requests if agent_of(r) == "intent")
    assert f"for '{QUESTION}' these were read: relay/van.py lines" in similar
    assert f"for '{QUESTION}'" not in same
    assert LIE not in similar


async def test_claims_that_are_dropped_go_back_once_with_the_reason(relay: AnalysisHarness) -> None:
    bad = written("definition", "It calls launch_rocket() first.", (1, 8, 8))
    asked: list[ModelRequest] = []

    def write(request: ModelRequest) -> Any:
        asked.append(request)
        return {**PAIR, "claims": [bad, *PAIR["claims"]]} if len(asked) == 1 else PAIR

    document = await told(relay, GOOD["critic"], write)
    assert len(asked) == 2
    said = asked[1].messages[-1].content
    assert "claim 1: it names code that occurs in nothing shown (launch_rocket)" in said
    assert not re.search(r"claim [23]:", said)
    assert document["claims_dropped"] == {}
    assert TRUE in document["answer"]


async def test_claims_that_are_dropped_again_are_left_out_and_counted(relay: AnalysisHarness) -> None:
    bad = written("definition", "It calls launch_rocket() first.", (1, 8, 8))
    document = await told(relay, GOOD["critic"], {**PAIR, "claims": [*PAIR["claims"], bad]})
    assert document["claims_dropped"] == {"names_what_is_not_there": 1}
    assert "launch_rocket" not in document["answer"]
    assert "- 1 claims of the model were left out: names what is not there" in explanation_text(document)
    assert TRUE in document["answer"]


async def test_a_claim_may_join_up_to_four_facts_and_its_names_may_come_from_any_of_them(
    relay: AnalysisHarness,
) -> None:
    joined = "`deliver_parcel` goes by what `Depot.accept` permits."

    def write(request: ModelRequest) -> Any:
        facts = request.messages[1].content.partition("Facts:\n")[2]
        number = int(re.search(r"^(\d+)\. \w+ Depot\.accept\b", facts, re.MULTILINE).group(1))  # type: ignore[union-attr]
        return {**PAIR, "claims": [written("mechanism", joined, (1, 9, 9), (number, 0, 0))]}

    document = await told(relay, verdicts((1, "supported")), write)
    assert f"{joined} [relay/van.py:9] [relay/depot.py:" in document["answer"]
