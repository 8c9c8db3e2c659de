from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from tests.benchmarks.leads import MENDED, UNSEEN, Asked, Lead, Place, rank_of, report, root_of, spans_of


def test_the_rank_is_that_of_the_first_place_that_touches_an_expected_one() -> None:
    spans = [Place("a.py", 10, 20), Place("b.py", 1, 5)]
    places = [Place("c.py", 1, 99), Place("a.py", 21, 30), Place("b.py", 5, 9), Place("a.py", 20, 20)]
    assert rank_of(spans, places) == 3
    assert rank_of(spans, places[:2]) is None
    assert rank_of([], places) is None


@pytest.mark.parametrize(
    "lead", [lead for lead in (*MENDED, *UNSEEN) if root_of(lead.package, {}) is not None], ids=str
)
def test_every_question_is_asked_once(lead: Lead) -> None:
    assert [other.question for other in (*MENDED, *UNSEEN) if other.package == lead.package].count(lead.question) == 1
    assert lead.expected


def test_a_package_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    asked = Asked(tmp_path, {}, answers=False, words=True)
    told = report("some", [Lead("no_such_package", "What?", ("a.py",))], asked, answers=False)
    asked.close()
    assert told == "some: locate first 0 of 0, among three 0\n"


@pytest.mark.slow
def test_words_alone_put_the_expected_place_first_for_most_questions(tmp_path: Path) -> None:
    asked = Asked(tmp_path, {}, answers=False, words=True)
    ranks = [found[0] for lead in (*MENDED, *UNSEEN) if (found := asked.ranks(lead)) is not None]
    asked.close()
    assert len(ranks) >= 20
    assert sum(rank == 1 for rank in ranks) >= 0.65 * len(ranks)
    assert sum(rank is not None and rank <= 3 for rank in ranks) >= 0.8 * len(ranks)


def test_expectations_name_places_that_are_there(tmp_path: Path) -> None:
    root = root_of("pluggy", {})
    assert root is not None
    asked = Asked(tmp_path, {}, answers=False, words=True)
    leads = [lead for lead in MENDED if lead.package == "pluggy"]
    assert asked.ranks(leads[0]) is not None
    codebase = Codebase.open(root, next((tmp_path / "index").glob("*/index.sqlite")))
    assert all(spans_of(codebase, [place]) for lead in leads for place in lead.expected)
    codebase.close()
    asked.close()
