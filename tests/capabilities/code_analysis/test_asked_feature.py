"""Questions whether there is a feature: which they are, and how far it is believed that it is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.confidence import (
    LEAD_READING,
    LEAD_SPEAKS,
    NEAR,
    OF_FEATURE,
    READING,
    READING_AHEAD,
    THERE_OF_FEATURE,
    features_of_lead,
    trust_in,
    weights_of_models,
)
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.polar import MAX_CLAUSE_CHARS, MAX_FEATURE_TERMS, feature_terms
from actors.capabilities.code_analysis.ranking.answer_order import Place
from runtime.codebase.search.excerpts import Excerpt
from tests.capabilities.code_analysis.support import cited

USUAL = {"present": 1.0, "together": 1.0, "familiar": 0.4, "spoken_of": 0.8, "top_share": 0.6}
READ = {READING: 7.0, READING_AHEAD: 1.0, LEAD_READING: 7.0}


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Does it support proxies?", ("proxy",)),
        ("Is there a way to cancel a running job?", ("cancel", "run", "job")),
        ("Can I cancel a running job?", ("cancel", "run", "job")),
        ("Can a running job be stopped?", ("run", "job", "stop")),
        ("Can requests run in parallel?", ("request", "run", "parallel")),
        ("Are client certificates supported?", ("client", "certific")),
        ("Does it offer a cache?", ("cach",)),
        # How something behaves that is there.
        ("Are passwords visible in the log?", ()),
        ("Does a slow handler hold up my queries?", ()),
        ("Is the copying strict or shallow?", ()),
        ("Can I use a proxy unless it is switched off?", ()),
        ("Is there a timeout by default?", ()),
        # No question of one sentence by yes or no.
        ("Where are proxies supported?", ()),
        ("I have a proxy. Does it support that?", ()),
        ("Does it support this?", ()),
        ("", ()),
    ],
)
def test_whether_there_is_a_feature_is_asked_plainly(question: str, terms: tuple[str, ...]) -> None:
    assert feature_terms(question) == terms


@pytest.mark.parametrize(
    ("words", "is_one"), [(MAX_FEATURE_TERMS - 1, True), (MAX_FEATURE_TERMS, True), (MAX_FEATURE_TERMS + 1, False)]
)
def test_a_question_with_more_words_asks_for_more_than_a_feature(words: int, is_one: bool) -> None:
    asked = " ".join(["parcel", "label", "customs", "weight", "stamp"][:words])
    assert bool(feature_terms(f"Does it support {asked}?")) is is_one


@pytest.mark.parametrize(("more", "is_one"), [(-1, True), (0, True), (1, False)])
def test_a_long_text_asks_for_no_feature(more: int, is_one: bool) -> None:
    asked = "Does it support proxies"
    text = f"{asked}{'?' * (MAX_CLAUSE_CHARS + more - len(asked))}"
    assert bool(feature_terms(text)) is is_one


def led_by(*has: str) -> list[Place]:
    shown = Excerpt(1, 9, 1, 9, "    return first(parcel)", (1,), ("return first(parcel)",), 0.5, has=has)
    facts = [
        CodeFact("definition", cited(f"{number}.py", 1, 9), reading=9.0 - number, score=1.0, excerpt=shown)
        for number in range(3)
    ]
    return [Place(fact, 1.0 - 0.1 * number) for number, fact in enumerate(facts)]


@pytest.mark.parametrize(
    ("has", "share"), [((), 0.0), (("digest",), 0.5), (("authentic", "digest"), 1.0), (("other",), 0.0)]
)
def test_what_the_leading_place_speaks_of_counts(has: tuple[str, ...], share: float) -> None:
    found = features_of_lead("Does it support digest authentication?", led_by(*has))
    assert found[LEAD_SPEAKS] == share


def test_of_other_questions_it_does_not_count_what_the_leading_place_speaks_of() -> None:
    assert LEAD_SPEAKS not in features_of_lead("Where is digest authentication done?", led_by("digest"))


def test_a_feature_that_the_leading_place_does_not_speak_of_is_believed_less() -> None:
    speaks = [trust_in({**USUAL, **READ, LEAD_SPEAKS: share}).presence for share in (0.0, 0.5, 1.0)]
    assert speaks == sorted(set(speaks))
    assert trust_in({**USUAL, **READ, LEAD_SPEAKS: 1.0}).is_found
    assert not trust_in({**USUAL, **READ, LEAD_SPEAKS: 0.0, "top_share": 0.3}).is_found


def test_where_pieces_were_compared_by_meaning_a_feature_is_believed_as_anything_else() -> None:
    features = {**USUAL, **READ, NEAR: 0.5}
    assert trust_in({**features, LEAD_SPEAKS: 0.0}) == trust_in(features)


def test_without_readings_a_feature_is_believed_as_anything_else() -> None:
    assert trust_in({**USUAL, LEAD_SPEAKS: 0.0}) == trust_in(USUAL)


def test_each_feature_of_the_model_raises_presence() -> None:
    fitted = weights_of_models()[f"there{OF_FEATURE}"]
    assert set(fitted) == {"intercept", *THERE_OF_FEATURE}
    assert all(weight >= 0 for name, weight in fitted.items() if name != "intercept")


@given(st.text(max_size=600))
def test_any_text_may_be_asked(text: str) -> None:
    assert len(feature_terms(text)) <= MAX_FEATURE_TERMS
