"""Which of the found places leads an answer in words: what decides, before what declares, lists or tests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.by_aspect import answer
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.answer_order import Place, in_answer_order
from actors.capabilities.code_analysis.ranking.leading_place import (
    FEATURES,
    MOST,
    features_of,
    fitted_weights,
    in_leading_order,
)
from actors.capabilities.code_analysis.ranking.line_kinds import LineKinds, deciding_lines, line_kinds
from runtime.codebase.search.excerpts import Excerpt
from tests.capabilities.code_analysis.support import cited

ASKED = "What becomes of a request whose client went away while the answer was being written?"
DECIDES = "if self.gone:\n    self.close()\n    return None\nself.left = size"
DECLARES = "import socket\nclass Gone(Exception):\ndef lost(self):\n@property"


def fact(number: int, text: str, score: float, cosine: float | None = None, **more: Any) -> CodeFact:
    lines = len(text.split("\n"))
    chosen = Excerpt(1, lines, 1, lines, text, (1,), (text.split("\n")[0],), 0.4)
    given = {"symbol_kind": "function", "name": f"f{number}", "excerpt": chosen, **more}
    return CodeFact(
        "definition", cited(f"{number}.py", 1, lines), score=score, cosine=cosine, purpose="answer", **given
    )


def places(*facts: CodeFact) -> list[Place]:
    return [Place(one, one.score) for one in facts]


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("if done:\n    return 1", LineKinds(2, 0, 0, 2)),
        ("self.size = 3\nrun(task)", LineKinds(2, 0, 0, 1)),
        ("import os\nfrom a import b\nuse std::io;", LineKinds(3, 3, 0, 0)),
        ("def wait(self):\npublic void close()", LineKinds(2, 2, 0, 0)),
        ('log.info("gone")\nconsole.log(gone)', LineKinds(2, 2, 0, 0)),
        ('"name": 1,\n}\nlimit: 3', LineKinds(3, 0, 3, 0)),
        ("# if gone, return\n\n// x = 1", LineKinds(0, 0, 0, 0)),
        ("same == other\nx => x", LineKinds(2, 0, 0, 0)),
        ("} else if (gone) {\nmatch self {\nthrow gone;", LineKinds(3, 0, 1, 3)),
        ("", LineKinds(0, 0, 0, 0)),
    ],
)
def test_lines_are_counted_by_what_they_do(text: str, counted: LineKinds) -> None:
    assert line_kinds(text) == counted


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "line", ["a." * 50_000, "public " * 50_000, "x " * 50_000, " " * 100_000 + "x", "const a" + " " * 90_000]
)
def test_a_line_without_end_is_read_in_no_time(line: str) -> None:
    assert line_kinds(line).code == 1


def test_each_model_has_a_weight_for_each_of_its_features() -> None:
    for state, names in FEATURES.items():
        assert fitted_weights()[state].keys() == set(names)


@pytest.mark.parametrize("cosine", [None, 0.4])
def test_what_decides_leads_before_what_only_declares(cosine: float | None) -> None:
    found = places(fact(0, DECLARES, 1.0, cosine), fact(1, DECIDES, 0.95, cosine))
    assert [place.fact.name for place in in_leading_order(ASKED, found)] == ["f1", "f0"]


@pytest.mark.parametrize("cosine", [None, 0.4])
def test_a_place_that_fits_far_better_leads_all_the_same(cosine: float | None) -> None:
    found = places(fact(0, DECLARES, 1.0, cosine), fact(1, DECIDES, 0.05, cosine))
    assert [place.fact.name for place in in_leading_order(ASKED, found)] == ["f0", "f1"]


def test_a_test_leads_where_tests_are_asked_for_and_no_earlier() -> None:
    found = places(fact(0, DECIDES, 1.0, is_test=True), fact(1, DECIDES, 0.9))
    assert in_leading_order(ASKED, found)[0].fact.name == "f1"
    assert in_leading_order("Which tests cover a client that goes away?", found)[0].fact.name == "f0"


def test_of_places_near_in_meaning_the_nearer_one_gains() -> None:
    near, far = (features_of(ASKED, places(fact(0, DECIDES, 1.0, cosine)))[0]["near"] for cosine in (0.7, 0.2))
    assert fitted_weights()["vectors"]["near"] * (near - far) > 0


@given(st.lists(st.tuples(st.floats(0.01, 1.15), st.sampled_from([DECIDES, DECLARES, "x"])), max_size=14))
def test_no_place_is_lost_and_those_behind_the_tenth_stay(rows: list[tuple[float, str]]) -> None:
    ranked = sorted(rows, reverse=True)
    found = places(*(fact(number, text, score) for number, (score, text) in enumerate(ranked)))
    ordered = in_leading_order(ASKED, found)
    assert sorted(place.fact.name for place in ordered) == sorted(place.fact.name for place in found)
    assert ordered[MOST:] == found[MOST:]


def test_documents_and_places_without_chosen_lines_keep_their_position() -> None:
    section = fact(0, DECLARES, 1.0, symbol_kind="section")
    bare = fact(2, DECLARES, 0.96, excerpt=None)
    found = places(section, fact(1, DECLARES, 0.98), bare, fact(3, DECIDES, 0.95))
    assert [place.fact.name for place in in_leading_order(ASKED, found)] == ["f0", "f3", "f2", "f1"]


def test_an_answer_begins_with_the_leading_place() -> None:
    facts = [fact(0, DECLARES, 1.0), fact(1, DECIDES, 0.95)]
    assert in_answer_order(facts)[0].fact.name == "f0"
    lead = next(claim for claim in answer(evidence_of(analyse(ASKED), facts)) if claim.role == "lead")
    assert (lead.subject, lead.code) == ("f1", DECIDES)


def test_deciding_lines_are_conditions_with_their_outcomes_and_what_assigns_or_ends() -> None:
    text = """def wait(self, late=None):
    # if nothing waits
    log.warning("x = %s", late)
    if late is None:
        late = self.usual()
    self.send(
        to=late,
    )
    return late"""
    assert deciding_lines(text, 11) == [
        [(14, "if late is None:"), (15, "late = self.usual()")],
        [(15, "late = self.usual()")],
        [(19, "return late")],
    ]
