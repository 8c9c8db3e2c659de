"""The questions that judge: whole, each once, and about repositories that train nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ranking import points
from tests.ranking.cases import HELD_OUT, QUESTIONS, Case, Nugget, Place, both_wordings, read_cases
from tests.ranking.judged import CASES, figures, scored
from tests.repositories import write_files

JUDGING = read_cases(CASES)
ABSENT_HELD_OUT = CASES.parent / "absent_held_out.jsonl"


def test_no_repository_of_a_question_that_judges_trains() -> None:
    trained = {case.repo for case in read_cases(points.CASES, unanswerable=True)}
    assert {case.repo for case in JUDGING} & trained == set()
    assert len(JUDGING) == len({case.id for case in JUDGING}) >= 180


@pytest.mark.parametrize(("path", "least"), [(QUESTIONS, 9_700), (HELD_OUT, 2_000)], ids=["teach", "held out"])
def test_questions_that_are_asked_in_two_ways_are_about_repositories_of_no_others(path: Path, least: int) -> None:
    asked = both_wordings(path)
    assert len({case.id for case in asked}) == len(asked) // 2 >= least
    assert len({case.question for case in asked}) == len(asked)
    used = {case.repo for case in read_cases(points.CASES, unanswerable=True)} | {case.repo for case in JUDGING}
    used |= {case.repo for case in read_cases(HELD_OUT if path == QUESTIONS else QUESTIONS)}
    assert {case.repo for case in asked} & used == set()
    assert all(len(case.base_commit) == 40 and case.kind for case in asked)
    places = [place for case in asked for place in case.lead]
    assert all(1 <= place.start <= place.end and place.end - place.start < 50 for place in places)


@pytest.mark.parametrize("case", JUDGING, ids=lambda case: case.id)
def test_a_question_that_judges_says_what_an_answer_has_to_tell(case: Case) -> None:
    assert case.kind
    assert len(case.base_commit) == 40
    assert 2 <= len(case.nuggets) <= 4
    assert all(nugget.any_place for nugget in case.nuggets)
    places = [*case.lead, *(place for nugget in case.nuggets for place in nugget.any_place)]
    assert all(1 <= place.start <= place.end and place.end - place.start < 50 for place in places)


def test_an_answer_is_scored_by_what_it_tells_and_where_it_begins(tmp_path: Path) -> None:
    text = "def moor(ship):\n    if ship.is_late:\n        raise TooLate('the harbour is closed')\n    return True\n"
    write_files(tmp_path / "clones" / "a+harbour", {"harbour.py": text})
    (tmp_path / "state").mkdir()
    place = Place("harbour.py", 2, 3)
    told = Case(
        "1",
        "a/harbour",
        "Why is a late ship refused by the harbour?",
        "why",
        lead=(place,),
        nuggets=(Nugget((place,)),),
    )
    other = Case("2", "a/harbour", "Why is a late ship refused by the harbour?", "why", lead=(Place("sea.py", 1, 2),))
    missing = Case("3", "b/sea", "Why is it salty?", "why", lead=(place,))
    answers = scored([told, other, missing], tmp_path / "clones", tmp_path / "state", None)
    assert [(one.case.id, one.told.is_good) for one in answers] == [("1", True), ("2", False)]
    assert figures(answers) == "2 | 50.0 | 50.0 | 50.0 | 50.0"


def test_questions_about_what_is_not_there_are_about_repositories_held_out() -> None:
    absent = read_cases(ABSENT_HELD_OUT, unanswerable=True)
    assert len({case.id for case in absent}) == len({case.question for case in absent}) == len(absent) >= 160
    assert not any(case.lead or case.nuggets for case in absent)
    assert {case.form for case in absent} == {"named", "feature", "described"}
    assert {case.repo for case in absent} == {case.repo for case in read_cases(HELD_OUT)}
