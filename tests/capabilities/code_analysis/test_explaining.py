"""How an answer came about: places with what counted for them, proofs with their lines, and what was left out."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.claims import Claim
from runtime.agents.capability import StageContext, StageInput
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.ranker import MILDNESS
from runtime.run.stage_view import StageView
from serve.cli.output.explanation import MAX_CELL_CHARS, explanation_text
from tests.capabilities.code_analysis.support import AnalysisHarness, reasoning, with_agents

QUESTION = "How are the parcels of a depot delivered?"


def test_what_the_features_add_makes_the_order_of_a_search(codebase: Codebase) -> None:
    order = codebase.explained_order(QUESTION)
    assert order.ranker == "words"
    hits = [hit for hit in codebase.search_chunks(QUESTION, 5) if hit.ranker]
    sums = [math.fsum(added for _, added in order.of(hit.file, hit.start_line, hit.end_line).values()) for hit in hits]
    assert len(sums) > 2
    for hit, total in zip(hits, sums, strict=True):
        assert hit.score == pytest.approx(math.exp((total - sums[0]) / MILDNESS), abs=0.002)


def test_a_question_without_candidates_and_a_place_that_was_none_have_no_features(codebase: Codebase) -> None:
    assert codebase.explained_order("xyzzy plugh").of("a.py", 1, 2) == {}
    assert codebase.explained_order(QUESTION).of("no/such.py", 1, 2) == {}


async def test_each_place_that_was_considered_has_its_features_and_whether_it_was_told(relay: AnalysisHarness) -> None:
    document = await relay.ask(QUESTION, explain=True)
    (only,) = document["explanation"]["rounds"]
    places = only["considered"]
    assert [place["rank"] for place in places if place["step"] == "answer"] == list(range(1, len(places) + 1))
    first = places[0]
    assert (first["query"], first["ranker"], first["source"]) == (QUESTION, "words", "chunk")
    assert first["features"]["words"][1] != 0
    cited = {citation["file"] for citation in document["citations"]}
    assert first["told"] is True
    assert all(place["file"] in cited for place in places if place["told"])
    lead = next(claim for claim in only["claims"] if claim["role"] == "lead")
    assert lead["proof"][0]["file"] == first["file"]


async def test_what_the_features_add_makes_whether_an_answer_is_told(relay: AnalysisHarness) -> None:
    for question, is_told in ((QUESTION, True), ("Which colour has the printed invoice of a customer?", False)):
        document = await relay.ask(question, explain=True)
        trust = document["explanation"]["rounds"][-1]["trust"]
        odds = math.fsum(added for _, added in trust["by"].values())
        if not trust["bounds"]:
            assert trust["presence"] == pytest.approx(1 / (1 + math.exp(-odds)), abs=0.006)
        assert (trust["presence"] >= trust["enough"]) is is_told
        assert (document["status"] != "not_found") is is_told
        assert f"whether it is there at all: {trust['presence']:.2f}" in explanation_text(document)


async def test_the_answer_from_the_relations_of_a_name_has_no_such_features(relay: AnalysisHarness) -> None:
    document = await relay.ask("Who calls `Depot.accept`?", explain=True)
    assert [done["trust"] for done in document["explanation"]["rounds"]] == [None]
    assert "whether it is there at all" not in explanation_text(document)


async def test_a_proven_call_is_told_with_the_lines_that_prove_it(relay: AnalysisHarness) -> None:
    document = await relay.ask("Who calls `Depot.accept`?", explain=True)
    proofs = [proof for done in document["explanation"]["rounds"] for proof in done["proofs"]]
    calls = [proof for proof in proofs if proof["what"] == "deliver_parcel calls Depot.accept"]
    assert calls
    for proof in calls:
        assert (relay.root / proof["file"]).read_text().splitlines()[proof["line"] - 1].count(".accept(")
        for step in proof["by"]:
            assert step["shows"]
            assert (relay.root / step["file"]).read_text().splitlines()[step["line"] - 1].strip() == step["text"] != ""
    text = explanation_text(document)
    assert f"| {calls[0]['what']} | {calls[0]['file']}:{calls[0]['line']} |" in text


async def test_a_claim_that_its_lines_do_not_bear_is_left_out_with_the_reason(relay: AnalysisHarness) -> None:
    rules = CAPABILITY.agents["synthesizer"].reasoners["rules"]

    async def lies(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        output = await rules(context, view, given)
        (goal, claims), *_ = output["hints_for_goals"].items()
        lie = Claim("point", "It «flies | all parcels».", (), quotes=("flies all parcels",))
        false = {**msgspec.to_builtins(lie), "citations": claims[0]["citations"]}
        return {**output, "hints_for_goals": {**output["hints_for_goals"], goal: [*claims, false]}}

    lying = relay.variant(with_agents(synthesizer=reasoning("synthesizer", lies)))
    document = await lying.ask(QUESTION, explain=True)
    (left_out,) = document["explanation"]["left_out"]
    assert left_out["why"] == ["quote_missing"]
    assert left_out["text"] == "It «flies | all parcels»."
    assert left_out["text"] not in document["answer"]
    assert f"- It «flies \\| all parcels». (quote_missing) {left_out['cited'][0]}" in explanation_text(document)


async def test_nothing_of_it_is_recorded_unless_somebody_asks(relay: AnalysisHarness) -> None:
    envelope = await relay.run(QUESTION)
    assert "explained" not in envelope.outputs["execution"]
    assert all("explained" not in done.synthesis for done in envelope.goals.finished_rounds)
    assert "explained" in (await relay.run(QUESTION, explain=True)).outputs["execution"]


async def test_a_table_keeps_its_columns_whatever_a_repository_contains(relay: AnalysisHarness) -> None:
    document = await relay.ask(QUESTION, explain=True)
    place = document["explanation"]["rounds"][0]["considered"][0]
    place["symbol"] = "a | b\n| c" + "\\|" * MAX_CELL_CHARS
    rows = [line for line in explanation_text(document).splitlines() if line.startswith("| 1 | ")]
    assert rows
    for row in rows:
        assert len([mark for at, mark in enumerate(row) if mark == "|" and row[at - 1] != "\\"]) == 7


def test_a_list_that_is_cut_is_told_with_both_numbers() -> None:
    done = {
        "round": 1,
        "plan": {},
        "steps": [],
        "context": {},
        "lists_cut": [{"list": "caller", "shown": 8, "of": 12}],
        "route": "complete",
        "because": "approved",
        "new_evidence": 1,
    }
    explained = {"intent": {}, "goals": [], "rounds": [done]}
    assert "- list of caller cut: 8 of 12" in explanation_text({"explanation": explained})
