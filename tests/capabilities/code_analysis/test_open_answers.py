"""Answers to questions in words: the order of their places, how far they can be trusted, and what was not found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers.by_aspect import answer
from actors.capabilities.code_analysis.answers.composition import DID_NOT_FIND, LIKELY, NOT_FOUND, NOT_SURELY
from actors.capabilities.code_analysis.answers.confidence import (
    ENOUGH,
    FEATURES,
    HIGH,
    LEAST_COMPARED,
    LEAST_READ,
    LEAST_SPOKEN_OF,
    MEDIUM,
    MOST_UNKNOWN,
    NOTHING,
    PIECES_OF_HALF,
    WITH_DOCUMENT,
    features_of,
    features_of_documents,
    features_of_meaning,
    features_of_subject,
    level,
    trust_in,
)
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.answers.open_answer import MAX_SHOWN_WORDS, MAX_WORDS, answer_claims
from actors.capabilities.code_analysis.answers.places.further_places import (
    MAX_BLOCKS,
    MAX_LISTED,
    MAX_PER_POINT,
    MAX_POINTS,
    MAX_REMARK_LINES,
    further_claims,
    shown_words,
    word_count,
)
from actors.capabilities.code_analysis.answers.places.likely_places import MAX_LIKELY
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import Purpose
from actors.capabilities.code_analysis.kinds.who_calls import KIND as WHO_CALLS
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.answer_order import (
    MAX_PER_FILE,
    MAX_TOLD_PER_FILE,
    Place,
    in_answer_order,
)
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.presence.absence import Absence, Mention
from runtime.codebase.search.prose.sentences import Documented, Sentence, holds
from serve.answer_document import EXIT_ANSWERED, EXIT_NOTHING_FOUND, exit_status
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, mark_faults, reasoning, with_agents

QUOTED = re.compile(r"«([^»]+)»[^\[\n]*\[([^\[\]:\n]+):(\d+)(?:-(\d+))?\]")


def excerpt(start: int, end: int, share: float = 0.5, said: Sentence | None = None) -> Excerpt:
    return Excerpt(start, end, start, start, f"code {start}", (start,), (f"code {start}",), share, said)


def found(
    file: str, start: int, score: float, purpose: Purpose = "answer", step: str = "answer", **more: Any
) -> CodeFact:
    end = start + 4
    chosen = {"name": f"{file}:{start}", "excerpt": excerpt(start, end), **more}
    return CodeFact("definition", cited(file, start, end), step=step, score=score, purpose=purpose, **chosen)


def places(*scores: float, share: float = 0.5, said: Sentence | None = None) -> list[Place]:
    more: dict[str, Any] = {"excerpt": excerpt(1, 5, share, said), "docstring": said.text if said is not None else ""}
    facts = [found(f"{n}.py", 1, score, **more) for n, score in enumerate(scores)]
    return in_answer_order(facts)


def test_places_come_as_the_search_for_the_whole_question_ranked_them() -> None:
    facts = [found("b.py", 1, 0.8), found("a.py", 1, 0.9), found("c.py", 1, 1.0, "part", "part0")]
    assert [place.fact.citation.file for place in in_answer_order(facts)] == ["a.py", "b.py", "c.py"]


def test_a_place_that_several_searches_found_comes_before_its_equals() -> None:
    facts = [found("a.py", 1, 0.8), found("b.py", 1, 0.8, also_by=("part0",))]
    assert [place.fact.citation.file for place in in_answer_order(facts)] == ["b.py", "a.py"]


def test_lines_that_overlap_count_once_and_those_beside_them_do_not() -> None:
    facts = [found("a.py", 10, 0.9), found("a.py", 14, 0.8), found("a.py", 15, 0.7), found("b.py", 14, 0.6)]
    assert [place.fact.citation.start_line for place in in_answer_order(facts)] == [10, 15, 14]


@pytest.mark.parametrize("count", [MAX_PER_FILE - 1, MAX_PER_FILE, MAX_PER_FILE + 1])
def test_a_file_has_at_most_three_places(count: int) -> None:
    facts = [found("a.py", 10 * number + 1, 1 - number / 10) for number in range(count)]
    assert len(in_answer_order(facts)) == min(count, MAX_PER_FILE)


def test_what_other_steps_found_is_no_place_of_an_answer() -> None:
    facts = [found("a.py", 1, 1.0, "usage"), msgspec.structs.replace(found("b.py", 1, 1.0), kind="caller")]
    assert in_answer_order(facts) == []


def test_an_answer_has_one_lead_a_few_further_places_and_documents() -> None:
    code = [found(f"{number}.py", 1, 1.0) for number in range(20)]
    said = Sentence("A sentence of the guide.", 2, 2, 0.5)
    guides = [
        found(
            f"{n}.md", 1, 0.9, "answer", "answer", symbol_kind="section", excerpt=excerpt(1, 5, 0.5, said), cosine=0.9
        )
        for n in range(9)
    ]
    quoted = Claim("said", "`guide.md` says: «A sentence of it.»", (cited("guide.md", 2, 2),))
    roles = [claim.role for claim in answer_claims(in_answer_order([*code, *guides]), passages=[quoted])]
    assert roles == ["lead", "said", *["point"] * MAX_POINTS]


def test_a_section_that_was_found_by_the_search_for_code_is_not_quoted_beside_code() -> None:
    said = Sentence("A sentence of the guide.", 2, 2, 0.5)
    chosen = excerpt(1, 5, 0.5, said)
    guide = found("a.md", 1, 0.9, "answer", "answer", symbol_kind="section", excerpt=chosen, cosine=0.9)
    claims = answer_claims(in_answer_order([found("a.py", 1, 1.0), guide]))
    assert [claim.role for claim in claims] == ["lead"]


def test_places_of_one_file_are_told_together_and_no_lines_twice() -> None:
    facts = [found("a.py", 1, 1.0), found("b.py", 1, 0.99), found("c.py", 1, 0.98), found("b.py", 20, 0.97)]
    facts += [found("d.py", 1, 0.96), found("e.py", 1, 0.95), found("c.py", 30, 0.94)]
    claims = answer_claims(in_answer_order(facts))
    assert [claim.citations[0].mark for claim in claims] == [
        "[a.py:1-5]",
        "[b.py:1-5]",
        "[b.py:20-24]",
        "[c.py:1-5]",
        "[c.py:30-34]",
        "[d.py:1-5]",
    ]
    again = further_claims(in_answer_order(facts), MAX_WORDS, [cited("a.py", 5, 9)])
    assert [claim.citations[0].file for claim in again] == ["b.py", "b.py", "c.py", "c.py", "d.py"]


def test_further_places_in_the_file_of_the_lead_are_told_besides_those_of_three_other_files() -> None:
    others = [found(f"{number}.py", 1, 0.9) for number in range(MAX_POINTS + 1)]
    ranked = [Place(fact, 0.9) for fact in (*others, found("lead.py", 30, 0.5))]
    told = further_claims(ranked, 10 * MAX_WORDS, [cited("lead.py", 1, 9), cited("other.py", 1, 9)])
    assert [claim.citations[0].file for claim in told] == ["0.py", "1.py", "2.py", "lead.py"]


def test_a_file_has_more_places_where_they_are_told_than_where_they_are_compared() -> None:
    facts = [found("a.py", 10 * number + 1, 1 - number / 10) for number in range(MAX_TOLD_PER_FILE + 1)]
    assert len(in_answer_order(facts, MAX_TOLD_PER_FILE)) == MAX_TOLD_PER_FILE > MAX_PER_FILE


@pytest.mark.parametrize("count", [MAX_PER_POINT - 1, MAX_PER_POINT, MAX_PER_POINT + 1])
def test_at_most_three_places_of_a_file_are_told_besides_the_lead(count: int) -> None:
    ranked = [Place(found("b.py", 10 * number + 1, 0.9), 0.9) for number in range(count)]
    assert len(further_claims(ranked, 10 * MAX_WORDS)) == min(count, MAX_PER_POINT)


@pytest.mark.parametrize(("more", "told"), [(-1, 0), (0, 1), (1, 1)])
def test_a_further_place_is_told_if_its_words_are_left(more: int, told: int) -> None:
    place = in_answer_order([found("a.py", 1, 1.0)])
    (claim,) = further_claims(place, MAX_WORDS)
    assert len(further_claims(place, word_count(claim) + more)) == told


def shown_place(number: int, lines: int = 2) -> Place:
    code = "\n".join(f"step_{at} = {at}" for at in range(lines))
    start, end = 100 * number + 1, 100 * number + lines
    chosen = Excerpt(start, end, start, end, code, (start,), ("step_0 = 0",), 0.5)
    return Place(found(f"{number % 3}.py", start, 1.0, excerpt=chosen), 1.0)


@pytest.mark.parametrize(("more", "is_shown"), [(-1, False), (0, True), (1, True)])
def test_a_further_place_is_shown_with_its_lines_if_words_of_code_are_left(more: int, is_shown: bool) -> None:
    (told,) = further_claims([shown_place(0)], MAX_WORDS, left_shown=MAX_SHOWN_WORDS)
    assert (told.text, told.code) == ("`0.py:1`", "step_0 = 0\nstep_1 = 1")
    (claim,) = further_claims([shown_place(0)], MAX_WORDS, left_shown=shown_words(told) + more)
    assert bool(claim.code) is is_shown
    assert is_shown or claim.text.startswith("`0.py:1`: `step_0 = 0`")


@pytest.mark.parametrize("count", [MAX_BLOCKS - 1, MAX_BLOCKS, MAX_BLOCKS + 1])
def test_at_most_three_further_places_are_shown_with_their_lines_ahead_of_those_in_a_line(count: int) -> None:
    lone = Place(found("0.py", 901, 1.0), 1.0)
    claims = further_claims([lone, *map(shown_place, range(count))], 10 * MAX_WORDS, left_shown=10 * MAX_SHOWN_WORDS)
    assert [bool(claim.code) for claim in claims] == [True] * min(count, MAX_BLOCKS) + [False] * (1 + count // 4)
    assert claims[min(count, MAX_BLOCKS)].subject == "0.py:901"


@pytest.mark.parametrize("count", [MAX_LISTED - 1, MAX_LISTED, MAX_LISTED + 1])
def test_beside_places_that_are_shown_at_most_three_are_told_in_a_line(count: int) -> None:
    lone = [Place(found(f"{number % 3}.py", 901 + 10 * number, 1.0), 1.0) for number in range(count)]
    claims = further_claims([shown_place(0), *lone], 10 * MAX_WORDS, left_shown=10 * MAX_SHOWN_WORDS)
    assert len(claims) == 1 + min(count, MAX_LISTED)


def test_a_sentence_stands_above_the_lines_that_it_documents() -> None:
    said = Sentence("Weighs what is sent.", 1, 1, 0.5, of=Documented(2, 4, 2, "def weigh(parcel):"))
    code = "def weigh(parcel):\n    scale.clear()\n    return scale.read(parcel)"
    chosen = Excerpt(1, 4, 2, 4, code, (4,), ("return scale.read(parcel)",), 0.5, said)
    place = Place(found("a.py", 1, 1.0, excerpt=chosen), 1.0)
    (claim,) = further_claims([place], MAX_WORDS, left_shown=MAX_SHOWN_WORDS)
    assert (claim.text, claim.code) == ("`a.py:1`: «Weighs what is sent.»", code)
    assert claim.quotes == ("Weighs what is sent.",)
    elsewhere = msgspec.structs.replace(
        said, of=Documented(40, 44, 40, "def send(parcel):"), start_line=39, end_line=39
    )
    apart = msgspec.structs.replace(chosen, said=elsewhere)
    (other,) = further_claims([Place(found("a.py", 1, 1.0, excerpt=apart), 1.0)], MAX_WORDS, left_shown=MAX_SHOWN_WORDS)
    assert (other.text, other.code) == ("`a.py:1`", code)


@pytest.mark.parametrize(("more", "expected"), [(-1, ["b = 2"]), (0, ["b = 2", "return c"])])
def test_words_that_are_left_tell_the_lines_that_decide_beside_the_telling_one(more: int, expected: list[str]) -> None:
    chosen = Excerpt(1, 4, 1, 4, "f(\n  a)\nb = 2\nreturn c", (3,), ("b = 2",), 0.5)
    place = [Place(found("a.py", 1, 1.0, excerpt=chosen), 1.0)]
    (short,) = further_claims(place, 4)
    (fuller,) = further_claims(place, word_count(short) + 2 + more)
    assert list(short.quotes) == ["b = 2"]
    assert list(fuller.quotes) == expected
    assert fuller.citations == short.citations


@pytest.mark.parametrize(
    ("quoted", "told"),
    [
        # What a condition decides stands with it, also behind a remark, and apart from the next branch.
        (
            {1: "if a and b:", 3: "yield Conflict(x)", 4: "elif a:", 6: "yield Update(x)"},
            "`if a and b:` `yield Conflict(x)`, `elif a:` `yield Update(x)`",
        ),
        (
            {1: "if (a) {", 2: "both(x);", 3: "} else if (b) {", 4: "one(x);"},
            "`if (a) {` `both(x);`, `} else if (b) {` `one(x);`",
        ),
        ({1: "a = 1", 2: "b = 2", 5: "c = 3"}, "`a = 1` `b = 2`, `c = 3`"),
        ({1: "if a:", MAX_REMARK_LINES + 2: "b = 2"}, "`if a:` `b = 2`"),
        ({1: "if a:", MAX_REMARK_LINES + 3: "b = 2"}, "`if a:`, `b = 2`"),
        ({1: "a = 1", 4: "return err"}, "`a = 1`"),
    ],
)
def test_a_condition_is_quoted_with_its_own_outcome(quoted: dict[int, str], told: str) -> None:
    chosen = Excerpt(1, 6, 1, 6, "f(\n  a)", tuple(quoted), tuple(quoted.values()), 0.5)
    (claim,) = further_claims([Place(found("a.py", 1, 1.0, excerpt=chosen), 1.0)], 30)
    assert claim.text.partition(": ")[2] == told


def test_no_place_gives_way_to_deciding_lines_of_another_one() -> None:
    chosen = Excerpt(1, 4, 1, 4, "f(\n  a)\nb = 2\nreturn c", (3,), ("b = 2",), 0.5)
    ranked = [Place(found(f"{n}.py", 1, 1.0, excerpt=chosen), 1.0) for n in range(MAX_POINTS)]
    told = further_claims(ranked, 4 * MAX_POINTS)
    assert [list(claim.quotes) for claim in told] == [["b = 2"]] * MAX_POINTS


def test_the_lead_shows_its_code_also_where_its_sentence_stands_far_from_it() -> None:
    said = Sentence("What it is all about.", 90, 91, 0.5)
    (claim,) = answer_claims(places(1.0, said=said))
    assert claim.code == "code 1"
    assert [citation.mark for citation in claim.citations] == ["[0.py:1-5]", "[0.py:90-91]"]


def test_a_sentence_on_a_parameter_is_told_of_that() -> None:
    said = Sentence("Stir until it is sweet.", 1, 1, 0.5, parameter="spoon")
    (lead, point) = answer_claims(places(1.0, 0.9, said=said))
    assert "`, on `spoon`: «Stir until it is sweet.»" in lead.text
    assert ": on `spoon`: «Stir until it is sweet.»" in point.text


def test_code_that_only_repeats_the_quoted_sentence_is_not_shown() -> None:
    said = Sentence("What it is all about.", 1, 1, 0.5)
    (claim,) = answer_claims(places(1.0, said=said))
    assert (claim.quotes, claim.code) == (("What it is all about.",), "")


def test_places_of_which_no_lines_were_chosen_are_named() -> None:
    claims = answer_claims(in_answer_order([found("a.py", 1, 1.0, excerpt=None), found("b.py", 1, 0.9, excerpt=None)]))
    assert [(claim.role, claim.text) for claim in claims] == [
        ("lead", "`a.py:1` in `a.py`"),
        ("point", "`b.py:1` in `b.py`"),
    ]


features = st.fixed_dictionaries({name: st.floats(0, 1) for name in FEATURES})


@given(features, st.sampled_from(FEATURES), st.floats(0, 1))
def test_trust_does_not_fall_with_any_feature(values: dict[str, float], name: str, more: float) -> None:
    less, raised = trust_in(values), trust_in({**values, name: min(1.0, values[name] + more)})
    assert 0.0 <= less.presence <= raised.presence <= 1.0
    assert 0.0 <= less.confidence <= raised.confidence <= raised.presence


def test_nothing_found_has_no_trust_and_the_best_is_taken_to_be_there() -> None:
    assert features_of([], None) == dict.fromkeys(FEATURES, 0.0)
    assert trust_in(features_of([], Absence(("kafka",)))) == NOTHING
    best = dict.fromkeys(FEATURES, 1.0)
    assert 0.9 < trust_in(best).presence <= trust_in({**best, "near": 1.0}).presence <= 1.0


@given(features)
@example(dict.fromkeys(FEATURES, 1.0))
def test_what_is_about_something_that_occurs_nowhere_is_not_trusted(values: dict[str, float]) -> None:
    assert not trust_in({**values, "present": 0.0}).is_found


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [(0.0, "low"), (0.34, "low"), (MEDIUM, "medium"), (0.64, "medium"), (HIGH, "high"), (1.0, "high")],
)
def test_confidence_in_a_word(confidence: float, expected: str) -> None:
    assert level(confidence) == expected


def test_what_counts_is_the_best_of_the_first_three_places() -> None:
    shares = [0.2, 0.3, 0.4, 0.9]
    facts = [found(f"{n}.py", 1, 1 - n / 10, excerpt=excerpt(1, 5, share)) for n, share in enumerate(shares)]
    assert features_of(in_answer_order(facts), None)["top_share"] == 0.4


@pytest.mark.parametrize(
    ("absence", "expected"),
    [
        (None, {"present": 1.0, "together": 1.0, "familiar": 0.5}),
        (Absence(spoken_of=0.25), {"present": 1.0, "together": 1.0, "familiar": 0.5, "spoken_of": 0.25}),
        (Absence(together=0.5, familiar=0.7), {"present": 1.0, "together": 1.0, "familiar": 0.7}),
        (
            Absence(together=0.5, pieces=PIECES_OF_HALF),
            {"present": 1.0, "together": 0.75, "familiar": 0.5, "small": 0.75, "small_spoken_of": 0.75},
        ),
        (Absence(unknown=MOST_UNKNOWN), {"present": 1.0, "together": 1.0, "familiar": 0.5}),
        (
            Absence(unknown=MOST_UNKNOWN + 0.01, spoken_of=LEAST_SPOKEN_OF),
            {"present": 1.0, "together": 1.0, "familiar": 0.5, "spoken_of": LEAST_SPOKEN_OF},
        ),
        (
            Absence(unknown=MOST_UNKNOWN + 0.01, spoken_of=LEAST_SPOKEN_OF - 0.01),
            {"present": 0.0, "together": 1.0, "familiar": 0.5, "spoken_of": LEAST_SPOKEN_OF - 0.01},
        ),
        (Absence(("kafka",)), {"present": 0.0, "together": 1.0, "familiar": 0.5}),
        (Absence(aside=(Mention("kafka", "CHANGELOG.md", 1, 2),)), {"present": 0.0, "together": 1.0, "familiar": 0.5}),
    ],
)
def test_what_occurs_nowhere_counts(absence: Absence | None, expected: dict[str, float]) -> None:
    told = features_of(in_answer_order([found("a.py", 1, 1.0, excerpt=excerpt(1, 5, 0.4))]), absence)
    of_any = {
        "top_share": 0.4,
        "ahead": 1.0,
        "proven_value": 0.0,
        "spoken_of": 1.0,
        "small": 0.0,
        "small_spoken_of": 0.0,
    }
    assert told == {**of_any, **expected}


def test_of_a_small_repository_more_is_believed_to_be_there_above_all_what_its_code_speaks_of() -> None:
    large, small, silent = (
        trust_in({"top_share": 0.5, **features_of_subject(Absence(familiar=0.6, spoken_of=spoken_of, pieces=pieces))})
        for pieces, spoken_of in ((100_000, 1.0), (20, 1.0), (20, 0.2))
    )
    assert small.presence > silent.presence > large.presence


def test_a_name_that_occurs_nowhere_is_not_there_however_small_the_repository() -> None:
    told = features_of_subject(Absence(("kafka",), spoken_of=1.0, familiar=1.0, pieces=1))
    assert not trust_in({"top_share": 1.0, **told}).is_found


QUESTIONS = (
    *("How does a depot accept a parcel?", "What happens when a depot is full?", "Where do parcels wait?"),
    *("Why is a parcel lost?", "How many parcels does a depot hold, and what happens to one more?"),
)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_each_quote_of_an_answer_stands_in_the_lines_behind_it(relay: AnalysisHarness, question: str) -> None:
    document = await relay.ask(question)
    assert mark_faults(document["answer"], document["citations"]) == []
    assert (document["status"], exit_status(document)) == ("answered", EXIT_ANSWERED)
    assert 0 < document["confidence"] <= 1
    for quote, file, start, end in QUOTED.findall(document["answer"]):
        lines = (relay.root / file).read_text(encoding="utf-8").split("\n")
        assert holds(lines[int(start) - 1 : int(end or start)], quote), quote


@pytest.mark.parametrize(
    ("quote", "stays"),
    [("A place where parcels wait for the next van.", True), ("A place where parcels are eaten.", False)],
)
async def test_a_claim_whose_quote_its_lines_do_not_hold_is_dropped_and_counted(
    relay: AnalysisHarness, quote: str, stays: bool
) -> None:
    async def quoting(_context: Any, view: Any, _given: Any) -> dict[str, Any]:
        place = {"file": "relay/depot.py", "start_line": 8, "end_line": 9}
        claim = {"role": "lead", "text": f"It is so: «{quote}»", "citations": [place], "quotes": [quote]}
        return {"hints_for_goals": {goal.id: [claim] for goal in view.goals.remaining}, "coverage": 1.0}

    desk = relay.variant(with_agents(synthesizer=reasoning("synthesizer", quoting)))
    document = await desk.ask("Where do parcels wait for the next van?")
    assert desk.last is not None
    dropped = desk.last.outputs["integration"]["citations_dropped"]
    assert (quote in document["answer"]) is stays
    assert bool(dropped.get("quote_missing")) is not stays


async def test_what_is_not_there_is_not_found(relay: AnalysisHarness) -> None:
    document = await relay.ask("How is the purple elephant serialised?")
    assert (document["status"], document["confidence"], document["citations"]) == ("not_found", 0.0, [])
    assert exit_status(document) == EXIT_NOTHING_FOUND
    assert document["open_goals"]


async def test_below_one_half_likely_places_are_listed_and_nothing_is_claimed(relay: AnalysisHarness) -> None:
    document = await relay.ask("How does the depot encrypt the zebra manifest before a parcel leaves?")
    assert document["status"] == "not_found"
    assert 0 < document["confidence"] < ENOUGH
    assert document["answer"].startswith((NOT_FOUND, f"{NOT_SURELY} {LIKELY}"))
    listed = [line for line in document["answer"].split("\n") if re.match(r"(?:- )?`[^`]+`.* \[[^\]]+:\d+", line)]
    assert 1 <= len(listed) == len(document["citations"]) <= MAX_LIKELY
    assert mark_faults(document["answer"], document["citations"]) == []
    assert "«" not in document["answer"]
    assert exit_status(document) == EXIT_NOTHING_FOUND
    assert document["open_goals"]


@pytest.mark.parametrize(
    "question",
    [
        "How does the depot send parcels to Kafka?",
        "Which setting of a depot holds the address of the kafka broker?",
        "kafka",
        "Where is KAFKA?",
        "List all Kafka consumers",
        "Who calls `KafkaSink`?",
        "Wie nimmt ein Depot Pakete per GraphQL an?",
    ],
)
async def test_a_subject_that_occurs_nowhere_is_not_found(relay: AnalysisHarness, question: str) -> None:
    document = await relay.ask(question)
    assert (document["status"], exit_status(document)) == ("not_found", EXIT_NOTHING_FOUND)
    assert document["confidence"] < ENOUGH
    assert mark_faults(document["answer"], document["citations"]) == []


async def test_the_words_that_occur_nowhere_are_told_with_what_was_searched(relay: AnalysisHarness) -> None:
    document = await relay.ask("How does the depot send each parcel to Kafka, and with which protobuf?")
    head = document["answer"].split("\n")[0]
    assert head.startswith("I did not find this. `Kafka` and `protobuf` occur nowhere in this repository (searched: ")
    assert head.endswith("Likely places:")
    assert f"Confidence: low ({document['confidence']:.2f})." in document["answer"]


async def test_a_word_of_a_changelog_alone_is_quoted_from_there(own_root: Path, tmp_path: Path) -> None:
    changes = "# Changes\n\n- Removed the memcached store of parcels.\n"
    (own_root / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    document = await desk.ask("How does the depot keep parcels in memcached?")
    assert document["status"] == "not_found"
    told = "`memcached` is mentioned only in a changelog: «- Removed the memcached store of parcels.». [CHANGELOG.md:3]"
    assert told in document["answer"]


@pytest.mark.parametrize(
    "question", ["the of and", "?", "如何", "Where is (.*parcel[a-z]+)? kept", "parcel " * 4_000, "Kafka " * 4_000]
)
async def test_any_question_is_answered(relay: AnalysisHarness, question: str) -> None:
    document = await relay.ask(question)
    assert mark_faults(document["answer"], document["citations"]) == []


@pytest.mark.parametrize(
    "question",
    [
        "How does a depot accept a parcel?",
        "How does the depot encrypt the zebra manifest before a parcel leaves?",
        "Who calls `accept`?",
        "What is `Depot`?",
        "List all functions",
        "What does this repository do?",
    ],
)
async def test_every_answer_tells_its_confidence(relay: AnalysisHarness, question: str) -> None:
    document = await relay.ask(question)
    assert f"Confidence: {level(document['confidence'])} ({document['confidence']:.2f})." in document["answer"]


async def test_an_answer_that_was_not_found_is_not_remembered(relay: AnalysisHarness) -> None:
    question = "How does the depot encrypt the zebra manifest before every parcel leaves?"
    await relay.run(question)
    again = await relay.run(question + " Really?")
    earlier = again.outputs["perception"]["memory_context"].get("earlier_answers", [])
    assert question not in [answer["question"] for answer in earlier]


async def test_the_relations_of_a_name_have_the_confidence_of_their_kind(relay: AnalysisHarness) -> None:
    document = await relay.ask("Who calls `accept`?")
    assert (document["status"], document["confidence"]) == ("answered", WHO_CALLS.usual_confidence)
    assert {part["status"] for part in document["parts"]} == {"answered"}


@given(st.none() | st.floats(-1, 1), st.none() | st.floats(0, 1))
@example(0.4, LEAST_COMPARED)
@example(0.4, LEAST_COMPARED - 0.01)
def test_nearness_is_a_share_and_needs_enough_vectors(near: float | None, compared: float | None) -> None:
    features = features_of_meaning(Absence(near=near), compared)
    assert bool(features) is (near is not None and compared is not None and compared >= LEAST_COMPARED)
    assert all(0 <= value <= 1 for value in features.values())


@given(features, st.floats(0, 1), st.floats(0, 1))
def test_with_vectors_presence_does_not_fall_with_nearness(values: dict[str, float], near: float, more: float) -> None:
    known = {**values, "present": 1.0, "near": near}
    assert trust_in(known).presence <= trust_in({**known, "near": min(1.0, near + more)}).presence


def test_what_nothing_is_near_to_in_meaning_is_not_found_though_its_words_occur() -> None:
    words = {"top_share": 0.6, "present": 1.0, "together": 0.5, "familiar": 0.6}
    assert not trust_in({**words, "near": 0.2}).is_found
    assert trust_in({**words, "near": 0.55}).is_found


def test_what_documentation_speaks_of_in_the_words_of_the_question_is_not_denied() -> None:
    low = {"top_share": 0.0, "ahead": 0.0, "present": 1.0, "together": 0.0, "familiar": 0.0}
    assert not trust_in(low).is_found
    assert trust_in({**low, **features_of_documents(Absence(documented=True))}).presence == WITH_DOCUMENT >= ENOUGH
    assert features_of_documents(Absence()) == features_of_documents(None) == {}
    assert not trust_in({**low, "present": 0.0, **features_of_documents(Absence(documented=True))}).is_found


def test_what_other_software_speaks_of_and_this_repository_hardly_does_is_not_found() -> None:
    words = {"top_share": 0.6, "ahead": 0.2, "present": 1.0, "together": 0.5}
    assert not trust_in({**words, "familiar": 0.1}).is_found
    assert trust_in({**words, "familiar": 0.7}).is_found


@pytest.mark.parametrize(
    "question",
    [
        "Who calls `weigh_parcel_again`?",
        "Where is weigh_parcel_again called?",
        "What is the default of max_parallel_vans?",
        "What happens if max_parallel_vans is exceeded?",
        "How do I use ParcelScanner?",
        "Which tests cover weigh_parcel_again?",
        "Where is `ParcelScanner` configured?",
        "What does ParcelScanner do?",
    ],
)
async def test_what_is_asked_of_a_name_that_nothing_bears_is_not_found(relay: AnalysisHarness, question: str) -> None:
    document = await relay.ask(question)
    assert (document["status"], exit_status(document)) == ("not_found", EXIT_NOTHING_FOUND)
    assert document["confidence"] < ENOUGH
    first = document["answer"].split("\n")[0]
    assert first.startswith((DID_NOT_FIND, "Nothing in this repository"))
    assert re.search(r"weigh_parcel_again|max_parallel_vans|ParcelScanner", first)


@pytest.mark.parametrize("file", ["LICENSE.txt", "CITATION.cff", ".oxlintrc.json", "CONTRIBUTORS.txt"])
def test_files_of_rights_people_and_style_checks_answer_only_questions_for_them(file: str) -> None:
    facts = [found(file, 1, 1.0), found("a.py", 1, 0.5)]
    (lead, *others) = answer(evidence_of(analyse("How does it send mail when it has finished?"), facts))
    assert [lead.citations[0].file, *(claim.citations[0].file for claim in others)] == ["a.py"]
    asked = answer(evidence_of(analyse("Which authors and lint rules does the license name?"), facts))
    assert file in {citation.file for claim in asked for citation in claim.citations}


@pytest.mark.parametrize(
    ("heads", "code", "lines"),
    [
        ((), "code 50", [(50, 54)]),
        (((49, "if late:"),), "if late:\n    code 50", [(49, 54)]),
        (
            ((30, "if ship:"), (48, "    if late:")),
            "if ship:\n    …\n    if late:\n        …\n        code 50",
            [(30, 54)],
        ),
        (
            ((29, "if ship:"), (49, "    if late:")),
            "if ship:\n    …\n    if late:\n        code 50",
            [(49, 54), (29, 29)],
        ),
        (((20, "if a("), (21, "b):")), "if a(\nb):\n…\ncode 50", [(50, 54), (20, 21)]),
    ],
)
def test_the_lead_shows_the_conditions_that_decide_and_cites_them(
    heads: tuple[tuple[int, str], ...], code: str, lines: list[tuple[int, int]]
) -> None:
    indent = " " * (len(code.split("\n")[-1]) - len("code 50"))
    chosen = Excerpt(50, 54, 50, 50, f"{indent}code 50", (50,), ("code 50",), 0.5, heads=heads)
    (lead,) = answer_claims([Place(found("a.py", 50, 1.0, excerpt=chosen), 1.0)])
    assert lead.code == code
    assert [(citation.start_line, citation.end_line) for citation in lead.citations] == lines


@pytest.mark.parametrize(
    ("rest", "said", "lines"),
    [
        (0, None, [(1, 5)]),
        (4, None, [(1, 5)]),
        (5, None, [(1, 6)]),
        (9, None, [(1, 10)]),
        (9, (90, 91), [(1, 5), (90, 91), (6, 10)]),
        (4, (90, 91), [(1, 5), (90, 91)]),
    ],
)
def test_the_lead_goes_on_to_the_end_of_its_definition_and_cites_it(
    rest: int, said: tuple[int, int] | None, lines: list[tuple[int, int]]
) -> None:
    behind = tuple(f"rest {number}" for number in range(rest))
    sentence = None if said is None else Sentence("What it is all about.", *said, 0.5)
    chosen = msgspec.structs.replace(excerpt(1, 5, said=sentence), rest=behind)
    docstring = "" if sentence is None else sentence.text
    (lead,) = answer_claims([Place(found("a.py", 1, 1.0, excerpt=chosen, docstring=docstring), 1.0)])
    assert lead.code == "\n".join(("code 1", *behind))
    assert [(citation.start_line, citation.end_line) for citation in lead.citations] == lines


def test_the_lead_alone_is_shown_with_the_lines_after_that() -> None:
    after = tuple(f"after {number}" for number in range(9))
    chosen = msgspec.structs.replace(excerpt(1, 5), rest=("rest 0",), after=after)
    ranked = [Place(found("a.py", 1, 1.0, excerpt=chosen), 1.0), Place(found("b.py", 1, 0.9, excerpt=chosen), 0.9)]
    lead, *further = answer_claims(ranked)
    assert lead.code == "\n".join(("code 1", "rest 0", *after))
    assert lead.citations[-1].end_line == 11
    assert [claim.citations[0].file for claim in further] == ["b.py"]
    assert "after" not in further[0].code


def test_the_lead_shows_its_body_behind_the_sentence_that_documents_it() -> None:
    said = Sentence("What it is all about.", 1, 1, 0.5)
    body = ((8, "    if late:"), (9, "        go()"))
    chosen = msgspec.structs.replace(excerpt(1, 5, said=said), body=body, rest=("no", "part"))
    (lead,) = answer_claims([Place(found("a.py", 1, 1.0, excerpt=chosen, docstring=said.text), 1.0)])
    assert (lead.quotes, lead.code) == (("What it is all about.",), "if late:\n    go()")
    assert [(citation.start_line, citation.end_line) for citation in lead.citations] == [(1, 5), (8, 9)]


@pytest.mark.parametrize(
    ("of", "code"),
    [
        (None, ""),
        (Documented(9, 12, 9, "late = 1"), ""),
        (Documented(2, 8, 2, "def go():"), ""),
        (Documented(8, 9, 8, "if late:"), "if late:\n    go()"),
        (Documented(1, 40, 1, "def go():"), "if late:\n    go()"),
    ],
    ids=["not known", "the next one", "its first line alone", "it", "what it lies in"],
)
def test_no_sentence_stands_above_code_that_it_does_not_document(of: Documented | None, code: str) -> None:
    said = Sentence("What it is all about.", 1, 1, 0.5, of=of)
    chosen = msgspec.structs.replace(excerpt(1, 5, said=said), body=((8, "    if late:"), (9, "        go()")))
    (lead,) = answer_claims([Place(found("a.py", 1, 1.0, excerpt=chosen), 1.0)])
    assert (lead.quotes, lead.code) == (("What it is all about.",), code)


@pytest.mark.parametrize(("rest", "code"), [((), ""), (("    go()",), "code 1\n    go()")])
def test_a_signature_alone_is_not_shown_below_the_sentence_that_documents_it(rest: tuple[str, ...], code: str) -> None:
    said = Sentence("What it is all about.", 90, 91, 0.5)
    chosen = msgspec.structs.replace(excerpt(1, 5, said=said), is_bare=True, rest=rest)
    (lead,) = answer_claims([Place(found("a.py", 1, 1.0, excerpt=chosen, docstring=said.text), 1.0)])
    assert lead.code == code


def test_a_signature_alone_is_shown_where_no_sentence_documents_it() -> None:
    chosen = msgspec.structs.replace(excerpt(1, 5), is_bare=True)
    (lead,) = answer_claims([Place(found("a.py", 1, 1.0, excerpt=chosen), 1.0)])
    assert lead.code == "code 1"


@pytest.mark.parametrize(("is_prose", "text"), [(True, "`a.py`"), (False, "`Command` in `a.py`")])
def test_a_comment_by_itself_is_not_told_as_what_it_stands_in(is_prose: bool, text: str) -> None:
    chosen = msgspec.structs.replace(excerpt(1, 5), is_prose=is_prose)
    (lead,) = answer_claims([Place(found("a.py", 1, 1.0, excerpt=chosen, name="Command"), 1.0)])
    assert lead.text == text


def test_where_only_documents_answer_the_first_of_them_with_a_sentence_leads() -> None:
    said = Sentence("What it is all about.", 2, 2, 0.5)
    texts = [None, said, Sentence("Something else of it.", 3, 3, 0.5)]
    told = [
        Place(found(f"{number}.md", 1, 1.0, excerpt=excerpt(1, 5, said=text), symbol_kind="section"), 1.0)
        for number, text in enumerate(texts)
    ]
    assert all(place.is_prose for place in told)
    assert [claim.text for claim in answer_claims(told)] == ["`1.md` says: «What it is all about.»"]


@pytest.mark.parametrize(("read", "is_told"), [(LEAST_READ - 1, False), (LEAST_READ, True)])
def test_places_without_a_word_of_the_question_are_told_if_they_were_read(read: int, is_told: bool) -> None:
    asked = analyse("Why does it begin anew so often?")
    places = [
        found(f"{number}.py", 1, 1.0, reading=5.0 if number < read else None, excerpt=excerpt(1, 5, 0.0))
        for number in range(LEAST_READ)
    ]
    told = write_claims(evidence_of(asked, places), ["answer"])["answer"]
    assert bool(told) is is_told
