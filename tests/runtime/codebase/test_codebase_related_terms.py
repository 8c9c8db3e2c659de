from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import index_terms, query_terms, stem
from runtime.codebase.search.query_expansion import MAX_TERMS, related_terms, root
from tests.runtime.codebase.sample_repository import write_files

FILES = {
    "a.py": "def extends(page):\n    return inherit(page)\n",
    "b.py": "def generate_dump(rows):\n    write(rows)\n",
    "c.py": "def other(inherited, written):\n    pass\n",
}


@pytest.fixture
def small(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, FILES)
    return opened(root)


@pytest.mark.parametrize(
    ("asked", "in_code"),
    [("inheritance", "inherits"), ("dependency", "depends"), ("persistence", "persist"), ("resistant", "resistance")],
)
def test_a_noun_and_its_verb_have_one_root(asked: str, in_code: str) -> None:
    assert root(stem(asked)) == root(stem(in_code))


@pytest.mark.parametrize(("one", "other"), [("agent", "agency"), ("event", "even"), ("parent", "par")])
def test_short_words_keep_their_endings(one: str, other: str) -> None:
    assert root(stem(one)) != root(stem(other)) or stem(one) == stem(other)


def test_forms_come_from_the_index_and_count_less_than_the_word_itself(small: Codebase) -> None:
    found = related_terms(small.index, list(query_terms("How does inheritance work?").counts))
    assert set(found) == {"inheritanc"}
    assert found["inheritanc"]["inherit"] > found["inheritanc"]["extend"]
    assert all(0 < factor < 1 for factor in found["inheritanc"].values())


def test_irregular_verbs_are_met_by_their_plain_form(small: Codebase) -> None:
    assert stem("write") == "writ"
    assert "writ" in related_terms(small.index, [index_terms("written")])["written"]


def test_what_is_asked_with_a_noun_is_found_by_the_verb(small: Codebase) -> None:
    assert small.search_chunks("How does inheritance work?")[0].file == "a.py"


@pytest.mark.parametrize(("extra", "is_widened"), [(-1, True), (0, True), (1, False)])
def test_long_questions_go_by_their_own_words(small: Codebase, extra: int, is_widened: bool) -> None:
    terms = ["inheritanc", *(f"word{number}" for number in range(MAX_TERMS + extra - 1))]
    assert bool(related_terms(small.index, terms)) is is_widened
