"""What is shown of places that may answer, where nothing was found."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.answers.composition import compose
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.answers.places.likely_places import (
    MAX_LIKELY,
    MAX_LINE_CHARS,
    MAX_SHOWN,
    MAX_TESTS,
    likely_places,
)
from actors.capabilities.code_analysis.answers.places.shown_blocks import MAX_MORE_LINES
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal
from tests.capabilities.code_analysis.support import cited

GOAL = Goal(GoalId("answer"), "what is asked")
TERMS = {"parcel", "weight", "limit"}


def place(number: int, code: str = "", quotes: tuple[str, ...] = ()) -> Claim:
    return Claim(
        "point", "`f`: some words", (cited(f"{number}.py", 1, 9),), code=code, subject=f"f{number}", quotes=quotes
    )


def reduced(*claims: Claim, holds: bool = True) -> list[Claim]:
    (finding,) = likely_places([Finding(GOAL, claims)], TERMS, lambda _claim: holds)
    return list(finding.claims)


SHOWN = [place(number, "parcel = 1\nlimit = 2") for number in (8, 9)]


def test_the_first_two_places_are_shown_with_their_code() -> None:
    code = "if parcel.weight > limit:\n    refuse(parcel)"
    claims = reduced(*(place(number, code) for number in range(3)))
    assert [claim.code for claim in claims] == [code, code, ""]
    assert [claim.text for claim in claims[:2]] == ["`f0`", "`f1`"]
    assert all(claim.citations == (cited(f"{number}.py", 1, 9),) for number, claim in enumerate(claims))


@pytest.mark.parametrize(("number", "most"), list(enumerate(MAX_SHOWN)))
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_of_long_code_the_lines_with_most_words_of_the_question_are_shown(number: int, most: int, more: int) -> None:
    length = most + MAX_MORE_LINES + more
    lines = [f"step({at})" for at in range(length - 1)]
    code = "\n".join(["if parcel.weight > limit: refuse()", *lines])
    claim = reduced(*SHOWN[:number], place(1, code))[number]
    assert claim.code == (code if more <= 0 else "")
    assert bool(claim.quotes) is (more > 0)


def test_lines_in_a_row_are_shown_that_speak_of_the_question() -> None:
    told = ["if parcel.weight > limit:", "    refuse(parcel, limit)"]
    lines = [f"step({at})" for at in range(20)]
    (claim,) = reduced(place(1, "\n".join([*lines, *told, *lines])))
    assert claim.code == "\n".join(told)


def test_code_is_shown_of_which_only_a_comment_speaks_of_the_question() -> None:
    code = "# Refuses a parcel.\ndef refuse(box):\n    box.back()"
    (claim,) = reduced(place(1, code))
    assert (claim.text, claim.code) == ("`f1`", code)


def test_a_comment_does_not_count_where_code_speaks_of_the_question() -> None:
    lines = [f"step({at})" for at in range(20)]
    (claim,) = reduced(place(1, "\n".join(["# parcel weight limit", *lines, "if parcel:", "    refuse(parcel)"])))
    assert claim.code == "if parcel:\n    refuse(parcel)"


def test_of_the_others_the_two_lines_with_most_words_of_the_question_are_quoted() -> None:
    code = "total = 0\n    limit = 3\n    if parcel.weight > limit:\n        refuse(parcel)\n"
    *_, claim = reduced(*SHOWN, place(1, code))
    assert claim.text == "`f1`: `if parcel.weight > limit:`, `limit = 3`"
    assert claim.quotes == ("if parcel.weight > limit:", "limit = 3")
    assert (claim.code, claim.citations) == ("", (cited("1.py", 1, 9),))


def test_of_a_place_without_code_what_was_quoted_is_taken() -> None:
    (claim,) = reduced(place(1, quotes=("weigh(parcel)", "done()")))
    assert claim.text == "`f1`: `weigh(parcel)`"


@pytest.mark.parametrize(
    "code",
    ["total = 0", "total = 0\ncount = 1", "", "x = 'parcel\u202e'\ny = 'parcel\u202e'"],
    ids=["other words", "two lines of these", "nothing", "marks"],
)
def test_without_a_line_that_speaks_of_the_question_the_place_is_named_alone(code: str) -> None:
    (claim,) = reduced(place(1, code))
    assert (claim.text, claim.quotes) == ("`f1`", ())


def test_no_line_is_quoted_that_the_place_does_not_hold() -> None:
    (claim,) = reduced(place(1, "parcel = 1"), holds=False)
    assert (claim.text, claim.quotes) == ("`f1`", ())


@pytest.mark.parametrize(("more", "is_quoted"), [(-1, True), (0, True), (1, False)])
def test_a_line_that_is_too_long_is_not_quoted(more: int, is_quoted: bool) -> None:
    line = "parcel " + "x" * (MAX_LINE_CHARS + more - len("parcel "))
    (claim,) = reduced(place(1, line))
    assert bool(claim.quotes) is is_quoted


@pytest.mark.parametrize("count", [MAX_LIKELY - 1, MAX_LIKELY, MAX_LIKELY + 1])
def test_at_most_five_places_are_listed_each_once(count: int) -> None:
    claims = reduced(*(place(number) for number in range(count)), place(0, "parcel = 1"))
    assert [claim.subject for claim in claims] == [f"f{number}" for number in range(min(count, MAX_LIKELY))]


def test_mentions_aside_stay_as_they_are_ahead_of_the_places() -> None:
    aside = Claim("only_aside", "`Kafka` occurs in a test only", (cited("t.py", 3),))
    assert reduced(place(1), aside)[0] == aside


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_three_tests_that_fit_are_kept_besides(more: int) -> None:
    tests = [
        Claim("likely_test", f"`t{n}`: x", (cited("t.py", n),), subject=f"t{n}") for n in range(1, MAX_TESTS + more + 1)
    ]
    claims = reduced(*(place(number) for number in range(MAX_LIKELY)), *tests)
    assert [claim for claim in claims if claim.role == "likely_test"] == tests[:MAX_TESTS]
    assert len(claims) == MAX_LIKELY + min(MAX_TESTS, len(tests))


def test_they_stand_under_their_heading_ahead_of_the_places() -> None:
    test = Claim("likely_test", "`test_it`: `x`", (cited("t.py", 3),), subject="test_it")
    answer = compose(analyse("Is it tested?"), [Finding(GOAL, (place(1), test))], {}, None, is_found=False)
    begin = "I did not find this. Likely places:\n\n**Tests that fit best**\n\n"
    assert answer.startswith(f"{begin}- `test_it`: `x` [t.py:3]")
    assert answer.index("test_it") < answer.index("[1.py:1-9]")
