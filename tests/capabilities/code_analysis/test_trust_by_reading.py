"""How far an answer is trusted whose places were read together with the question."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.confidence import (
    AHEAD_OF_NEXT,
    GOOD_BY_READING,
    LEAD_READING,
    LEAST_READ,
    MOST_IF_ABSENT,
    NEAR,
    READING,
    READING_AHEAD,
    THERE_BY_READING,
    THERE_WHERE_COMPARED,
    WHERE_COMPARED,
    WITH_READINGS,
    all_features,
    features_of_lead,
    features_of_readings,
    is_compared,
    trust_in,
    weights_of_models,
)
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.answer_order import Place
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.presence.absence import Absence
from tests.capabilities.code_analysis.support import cited

USUAL = {"present": 1.0, "together": 0.6, "familiar": 0.5, "spoken_of": 0.8, "top_share": 0.4, "ahead": 0.2}


def facts(*readings: float | None) -> list[CodeFact]:
    return [
        CodeFact("definition", cited(f"{number}.py", 1, 9), reading=reading, score=1.0)
        for number, reading in enumerate(readings)
    ]


@pytest.mark.parametrize(
    ("count", "is_measured"), [(LEAST_READ - 1, False), (LEAST_READ, True), (LEAST_READ + 1, True)]
)
def test_the_best_reading_counts_from_three_places_on(count: int, is_measured: bool) -> None:
    found = features_of_readings(facts(None, *(float(number) for number in range(count))))
    assert bool(found) is is_measured
    if is_measured:
        assert found == {READING: count - 1.0, READING_AHEAD: count - 1.0 - (count - 1) // 2}


def test_a_place_that_two_searches_found_counts_once() -> None:
    assert features_of_readings([*facts(1.0, 5.0), *facts(1.0, 5.0)]) == {}


def test_what_was_read_is_among_the_features_of_an_answer() -> None:
    places = [Place(fact, 1.0) for fact in facts(1.0, 4.0, 2.0)]
    found = all_features("Where is it?", places, (), Absence(), None)
    assert (found[READING], found[READING_AHEAD]) == (4.0, 2.0)


def of_code(score: float, reading: float | None, number: int) -> Place:
    shown = Excerpt(1, 9, 1, 9, "    return first(parcel)", (1,), ("return first(parcel)",), 0.5)
    fact = CodeFact("definition", cited(f"{number}.py", 1, 9), reading=reading, score=score, excerpt=shown)
    return Place(fact, score)


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([5.0, 1.0, 2.0], 5.0),
        # One that was not read is taken to answer as badly as the worst of the others.
        ([None, 1.0, 2.0, 3.0], 1.0),
        ([5.0, 1.0], None),
    ],
)
def test_the_place_that_leads_counts_by_how_it_reads_and_how_far_it_is_ahead(
    readings: list[float | None], expected: float | None
) -> None:
    scores = [0.9, 0.4, 0.3, 0.2]
    places = [of_code(score, reading, at) for at, (score, reading) in enumerate(zip(scores, readings, strict=False))]
    found = features_of_lead("Where is it?", places)
    assert found == ({} if expected is None else {LEAD_READING: expected, AHEAD_OF_NEXT: pytest.approx(0.5)})


def test_places_without_chosen_lines_do_not_lead() -> None:
    assert features_of_lead("Where is it?", [Place(fact, 1.0) for fact in facts(1.0, 2.0, 3.0)]) == {}


def test_the_better_something_answers_the_more_an_answer_is_trusted() -> None:
    told = [{READING: reading, READING_AHEAD: 1.0, LEAD_READING: reading} for reading in (0.0, 4.0, 8.0, 12.0)]
    trust = [trust_in({**USUAL, **features}) for features in told]
    assert [one.presence for one in trust] == sorted({one.presence for one in trust})
    assert [one.confidence for one in trust] == sorted({one.confidence for one in trust})
    assert not trust[0].is_found
    assert trust[-1].is_found


def test_a_word_that_occurs_nowhere_outweighs_every_reading() -> None:
    trust = trust_in({**USUAL, "present": 0.0, READING: 50.0, READING_AHEAD: 40.0})
    assert trust.presence == MOST_IF_ABSENT


def test_where_pieces_were_compared_as_well_presence_goes_by_weights_of_its_own() -> None:
    features = {**USUAL, READING: 4.0, READING_AHEAD: 0.0, LEAD_READING: 4.0}
    assert not is_compared(features)
    assert is_compared({**features, NEAR: 0.0})
    weights = {**weights_of_models(), f"there{WHERE_COMPARED}": {"intercept": -1.0, READING: 0.5}}
    assert trust_in({**features, NEAR: 0.3, "small": 0.0}, weights).presence == round(1 / (1 + math.exp(-1.0)), 2)
    assert trust_in(features, weights) == trust_in(features)
    # How near the nearest piece is tells no more then.
    assert trust_in({**features, NEAR: 0.1}) == trust_in({**features, NEAR: 0.9})


def test_each_feature_raises_trust() -> None:
    weights = weights_of_models()
    for model, names in (
        (f"there{WITH_READINGS}", THERE_BY_READING),
        (f"there{WHERE_COMPARED}", THERE_WHERE_COMPARED),
        (f"good{WITH_READINGS}", GOOD_BY_READING),
    ):
        fitted = weights[model]
        assert set(fitted) == {"intercept", *names}
        assert all(weight >= 0 for name, weight in fitted.items() if name != "intercept")


@given(st.lists(st.floats(-30, 30), max_size=20))
def test_every_reading_gives_a_probability(readings: list[float]) -> None:
    trust = trust_in({**USUAL, **features_of_readings(facts(*readings))})
    assert 0 <= trust.confidence <= trust.presence <= 1
