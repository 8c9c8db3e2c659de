"""Questions that ask several things: what they ask, and what answers each of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.confidence import ENOUGH, Trust
from actors.capabilities.code_analysis.answers.open_answer import answer_claims
from actors.capabilities.code_analysis.answers.part_answers import (
    LEAST_INTRODUCED,
    numbers_of_places,
    places_of_parts,
    trust_in_parts,
    unsure_parts,
    with_all_parts,
)
from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.claims import Claim, render
from actors.capabilities.code_analysis.question.parts import (
    MAX_ASKED,
    MAX_READ_CHARS,
    asked_parts,
    searched_parts,
)
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from runtime.agents.capability import Reasoner, StageContext, StageInput
from runtime.codebase.search.presence.absence import Absence
from runtime.run.stage_view import StageView
from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, reasoning, with_agents
from tests.capabilities.code_analysis.test_open_answers import found

TWO = "Where are parcels weighed before the van leaves? And how is a lost parcel reported to its sender?"


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How does it work?", ["How does it work?"]),
        (TWO, ["Where are parcels weighed before the van leaves?", "And how is a lost parcel reported to its sender?"]),
        (
            "Which limit is that, how big is it, and can one lift it?",
            ["Which limit is that", "how big is it", "can one lift it?"],
        ),
        ("A page is slow. Why is that and how do I mend it?", ["Why is that", "how do I mend it?"]),
        (
            "When a host is gone, how is it found out, and how is it forgotten?",
            ["how is it found out", "how is it forgotten?"],
        ),
        ("When is it read and what is dropped?", ["When is it read", "what is dropped?"]),
        (
            "Where is the value, which is used by the van, read?",
            ["Where is the value, which is used by the van, read?"],
        ),
        ("I see what it does. I know how it is built.", ["I see what it does. I know how it is built."]),
        ("Explain the routing. Then list all vans.", ["Explain the routing.", "Then list all vans."]),
        ("", [""]),
    ],
)
def test_a_question_asks_these_things_in_this_order(question: str, parts: list[str]) -> None:
    assert [part.text for part in asked_parts(question)] == (parts if len(parts) > 1 else [question])


def test_what_is_told_ahead_of_a_part_belongs_to_it() -> None:
    question = "Vans stop at noon. Why is that? At night they do not stop. Who drives them then?"
    first, second = asked_parts(question)
    assert question[first.start : first.end].strip() == "Vans stop at noon. Why is that?"
    assert question[second.start : second.end].strip() == "At night they do not stop. Who drives them then?"
    assert first.has("Vans stop at noon", question)
    assert not second.has("Vans stop at noon", question)
    assert not first.has("of something else", question)


@pytest.mark.parametrize(("more", "parts"), [(-1, 2), (0, 2), (1, 1)])
def test_a_report_asks_one_thing(more: int, parts: int) -> None:
    asked = "Why is that? How is it mended?"
    assert len(asked_parts(asked + " " * (MAX_READ_CHARS + more - len(asked)))) == parts


@pytest.mark.parametrize(
    ("count", "parts"), [(MAX_ASKED - 1, MAX_ASKED - 1), (MAX_ASKED, MAX_ASKED), (MAX_ASKED + 1, 1)]
)
def test_a_list_of_many_questions_is_one(count: int, parts: int) -> None:
    assert len(asked_parts(" ".join(f"Why is it {number}?" for number in range(count)))) == parts


@given(
    st.lists(
        st.sampled_from(["Why", "it", "is.", "that?", ", and how", "When", ";", "list", "does it", "\n"]), max_size=40
    )
)
def test_parts_lie_in_the_question_in_order_and_cover_it(words: list[str]) -> None:
    text = " ".join(words)
    parts = asked_parts(text)
    assert parts[0].start == 0
    assert parts[-1].end == len(text)
    assert all(one.end == other.start for one, other in pairwise(parts))
    assert all(part.text in text[part.start : part.end] for part in parts)


def test_each_thing_that_is_asked_is_searched_for() -> None:
    told = "Our vans have been red since May. The old ones stay blue until winter. The drivers like blue vans. " + TWO
    assert searched_parts(told)[-2:] == tuple(part.text for part in asked_parts(TWO))
    assert searched_parts("Why is that?") == ()


@pytest.mark.parametrize(
    ("clause", "searched"), [("Where is it weighed again?", 0), ("Where is a lost parcel weighed?", 1)]
)
def test_a_clause_that_tells_too_little_is_not_searched_for(clause: str, searched: int) -> None:
    assert len(searched_parts(f"How is each van loaded with parcels? And what of that? {clause}")) == 1 + searched


def asked(*facts: Any) -> Any:
    return places_of_parts(TWO, in_answer_order(facts))


def test_each_part_has_the_places_of_its_own_search() -> None:
    facts = [found("a.py", 1, 0.9), found("b.py", 1, 0.8, "part", "part1"), found("c.py", 1, 0.7, also_by=("part0",))]
    first, second = asked(*facts)
    assert [place.fact.citation.file for place in first.places] == ["c.py"]
    assert [place.fact.citation.file for place in second.places] == ["b.py"]
    assert numbers_of_places([first, second]) == {("c.py", 1, 5): (1,), ("b.py", 1, 5): (2,)}


def test_the_first_place_of_each_part_is_told_in_order_with_the_words_that_ask_for_it() -> None:
    facts = [
        found("a.py", 1, 1.0),
        found("x.py", 1, 0.9),
        found("b.py", 1, 0.8, "part", "part1"),
        found("c.py", 1, 0.7, "part", "part0"),
    ]
    claims = answer_claims(in_answer_order(facts), asked(*facts))
    assert [(claim.citations[0].file, claim.parts) for claim in claims] == [
        ("a.py", ()),
        ("c.py", (1,)),
        ("b.py", (2,)),
        ("x.py", ()),
    ]
    assert claims[1].text.startswith("On «Where are parcels weighed before the van leaves»: `c.py:1`")
    assert claims[2].text.startswith("On «And how is a lost parcel reported to its sender»: `b.py:1`")
    assert [claim.parts for claim in with_all_parts(claims, asked(*facts))] == [(1,), (1,), (2,), ()]


def test_a_place_that_is_not_trusted_to_answer_a_part_is_not_introduced_by_its_words() -> None:
    facts = [
        found("a.py", 1, 1.0),
        found("b.py", 1, 0.8, "part", "part1"),
        found("c.py", 1, 0.7, "part", "part0"),
    ]
    claims = answer_claims(in_answer_order(facts), asked(*facts), unsure={2})
    assert claims[1].text.startswith("On «Where are parcels weighed before the van leaves»: `c.py:1`")
    assert claims[2].text.startswith("`b.py:1`")


@pytest.mark.parametrize(
    ("presence", "confidence", "is_unsure"),
    [
        (ENOUGH, LEAST_INTRODUCED, False),
        (ENOUGH, LEAST_INTRODUCED - 0.01, True),
        (ENOUGH - 0.01, LEAST_INTRODUCED, True),
    ],
)
def test_a_part_is_unsure_below_either_bound(presence: float, confidence: float, is_unsure: bool) -> None:
    second = Trust(presence, confidence)
    assert unsure_parts([("a", None), ("b", second)]) == (frozenset({2}) if is_unsure else frozenset())
    assert unsure_parts([("b", second)]) == frozenset()


def test_a_place_that_two_parts_found_first_answers_both() -> None:
    facts = [found("a.py", 1, 1.0, also_by=("part0", "part1"))]
    (claim,) = answer_claims(in_answer_order(facts), asked(*facts))
    assert claim.parts == (1, 2)


def test_the_lead_answers_a_part_that_nothing_was_searched_for() -> None:
    question = "Where are parcels weighed before the van leaves? And why?"
    facts = [found("a.py", 1, 1.0, also_by=("part0",))]
    parts = places_of_parts(question, in_answer_order(facts))
    (claim,) = with_all_parts(answer_claims(in_answer_order(facts), parts), parts)
    assert claim.parts == (1, 2)


def test_a_question_of_one_part_is_answered_by_all_claims() -> None:
    parts = places_of_parts("Why?", [])
    claims = [Claim("value", "a", ()), Claim("lead", "b", ())]
    assert [claim.parts for claim in with_all_parts(claims, parts)] == [(1,), (1,)]


def test_each_part_has_the_confidence_of_its_own_places_and_words() -> None:
    facts = [found("a.py", 1, 0.9, also_by=("part0",)), found("b.py", 1, 0.8, "part", "part1")]
    absences = {"part0": Absence(pieces=100), "part1": Absence(nowhere=("Kafka",), pieces=100)}
    whole = Trust(0.7, 0.3)
    (_, first), (_, second) = trust_in_parts(TWO, in_answer_order(facts), absences, None, whole)
    assert first is not None
    assert second is not None
    assert first.presence > second.presence
    assert first.is_found and not second.is_found
    assert trust_in_parts("Why?", in_answer_order(facts), absences, None, whole) == [("Why?", whole)]


QUESTION = "Where are the parcels of a depot delivered? And how is the depot told what a parcel is?"


def unsure_of_the_second(base: Reasoner) -> Reasoner:
    async def reason(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        output = await base(context, view, given)
        first, second = output["parts"]
        return {**output, "parts": [first, {**second, "presence": ENOUGH - 0.01}]}

    return reason


async def test_the_document_has_each_part_in_order_with_its_own_status_and_citations(relay: AnalysisHarness) -> None:
    rules = CAPABILITY.agents["synthesizer"].reasoners["rules"]
    unsure = with_agents(synthesizer=reasoning("synthesizer", unsure_of_the_second(rules)))
    for capability, status in ((CAPABILITY, "answered"), (unsure, "not_found")):
        document = await relay.variant(capability).ask(QUESTION)
        first, second = document["parts"]
        assert (first["text"], first["status"]) == ("Where are the parcels of a depot delivered?", "answered")
        assert (second["text"], second["status"]) == ("And how is the depot told what a parcel is?", status)
        said = "Nothing told here surely answers «And how is the depot told what a parcel is»." in document["answer"]
        assert said is (status == "not_found")
        everything = [(c["file"], c["start_line"]) for c in document["citations"]]
        assert first["citations"]
        assert all((c["file"], c["start_line"]) in everything for part in (first, second) for c in part["citations"])
        assert mark_faults(document["answer"], document["citations"]) == []


async def test_a_question_of_one_part_has_one_entry_with_all_citations(relay: AnalysisHarness) -> None:
    document = await relay.ask("How are parcels of a depot delivered?")
    (part,) = document["parts"]
    assert (part["text"], part["status"]) == (document["question"], document["status"])
    assert part["confidence"] == document["confidence"]
    places = {(c["file"], c["start_line"], c["end_line"]) for c in document["citations"]}
    assert {(c["file"], c["start_line"], c["end_line"]) for c in part["citations"]} == places


async def test_parts_about_a_name_have_what_their_kinds_ask_for(relay: AnalysisHarness) -> None:
    document = await relay.ask("Where is `deliver_parcel` defined and which tests cover it?")
    where, tests = document["parts"]
    assert [part["text"] for part in document["parts"]] == [
        "Where is `deliver_parcel` defined",
        "which tests cover it?",
    ]
    assert where["citations"]
    assert all("test" in c["file"] for c in tests["citations"])
    assert {part["status"] for part in document["parts"] if part["citations"]} == {"answered"}


async def test_of_what_is_not_found_no_part_is(relay: AnalysisHarness) -> None:
    document = await relay.ask("How does the Kafka consumer commit? And where does the Redis cache expire?")
    assert document["status"] == "not_found"
    assert [part["status"] for part in document["parts"]] == ["not_found"] * 2


def test_a_claim_is_rendered_as_before_whatever_part_it_answers() -> None:
    assert render(Claim("point", "a", (), parts=(2,))) == render(Claim("point", "a", ()))
