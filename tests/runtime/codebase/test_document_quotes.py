"""What a document says of a question: which sentence, with which neighbour, and how probably it answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.prose.answer_cues import AnswerCues
from runtime.codebase.search.prose.document_quotes import (
    SECOND_WITHIN,
    SIGNS,
    WITH_DEFINITION,
    choose,
    defined_in,
    defines,
    document_quotes,
    fitted_model,
)
from runtime.codebase.search.prose.passages import WordedPassage, term_weights
from runtime.codebase.search.prose.quotable_sentences import quotable_sentences
from runtime.codebase.search.prose.quote_candidates import FEATURES, PASSAGES_OF_EACH, QuoteCandidate, quote_candidates
from runtime.codebase.search.ranker import State
from tests.repositories import write_files

GUIDE = """# Harbour

The harbour keeps ships and their freight.

## Moorings

A ship that comes late is refused. It is moored again only when the tide has turned.

## Payments

A payment that fails is tried again three times by default, because banks are slow.
The depot writes a receipt for each payment.
"""


def codebase(tmp_path: Path, files: dict[str, str]) -> Codebase:
    write_files(tmp_path / "repo", files)
    refresh(tmp_path / "repo", tmp_path / "index.sqlite")
    return Codebase.open(tmp_path / "repo", tmp_path / "index.sqlite")


def candidates(lines: Sequence[str], passage: int = 1) -> list[QuoteCandidate]:
    said = quotable_sentences(lines, 1)
    text = WordedPassage(passage, "document", "guide.md", 1, len(lines), "Guide", "", 1.0, None)
    return [QuoteCandidate(text, one, (0.0,) * len(FEATURES)) for one in said if one.is_usable]


def test_the_sentence_that_answers_is_quoted_with_its_lines(tmp_path: Path) -> None:
    quote = codebase(tmp_path, {"docs/guide.md": GUIDE}).document_quotes("How often is a failed payment tried again?")[
        0
    ]
    assert (quote.file, quote.sentences[0].start_line) == ("docs/guide.md", 11)
    assert quote.sentences[0].text.startswith("A payment that fails is tried again three times")


def test_a_question_that_no_document_speaks_of_is_answered_by_none_with_much_probability(tmp_path: Path) -> None:
    opened = codebase(tmp_path, {"docs/guide.md": GUIDE})
    asked, other = "How often is a failed payment tried again?", "Which colour have the lamps of the payment engine?"
    worth = [max([0.0, *(quote.worth for quote in opened.document_quotes(one))]) for one in (asked, other)]
    assert worth[1] < worth[0] and worth[1] < 0.25


@pytest.mark.parametrize(
    "files", [{"a.c": "int a;\n"}, {"a.py": '"""Pays what is owed again."""\n'}], ids=["nothing", "code"]
)
def test_where_there_is_no_document_none_is_quoted(tmp_path: Path, files: dict[str, str]) -> None:
    assert codebase(tmp_path, files).document_quotes("How is a payment tried again?") == []


def test_a_question_without_words_is_answered_by_no_document(tmp_path: Path) -> None:
    assert codebase(tmp_path, {"docs/guide.md": GUIDE}).document_quotes("???") == []


@pytest.mark.parametrize("number", [PASSAGES_OF_EACH - 1, PASSAGES_OF_EACH, PASSAGES_OF_EACH + 1])
def test_so_many_passages_are_looked_at(tmp_path: Path, number: int) -> None:
    files = {f"docs/{place:02}.md": "# Tide\n\nThe tide turns every six hours here.\n" for place in range(number)}
    opened = codebase(tmp_path, files)
    asked = "When does the tide turn?"
    found, sentences = quote_candidates(opened.index, opened.try_source, asked, term_weights(opened.index, asked), None)
    assert len(sentences) == len({one.passage.id for one in found}) == min(number, PASSAGES_OF_EACH)


@pytest.mark.parametrize(("below", "is_told"), [(SECOND_WITHIN, True), (SECOND_WITHIN + 0.01, False)])
def test_a_neighbour_is_told_with_the_best_sentence_as_far_as_it_comes_near(below: float, is_told: bool) -> None:
    one, two = candidates(["Ships are moored here. The tide lifts all of them."])
    choice = choose([one, two], [2.0, 2.0 - below])
    assert choice is not None and choice.best is one
    assert choice.second is (two if is_told else None)


def test_a_sentence_that_is_no_neighbour_is_not_told_with_the_best() -> None:
    one, _, three = candidates(["Ships are moored here. The tide lifts all. Masts are painted in spring."])
    _, other = candidates(["Ropes are kept dry in the shed. Sails are dyed red by hand."], passage=2)
    for apart in (three, other):
        choice = choose([one, apart], [2.0, 2.0])
        assert choice is not None and choice.second is None


def test_a_sentence_that_needs_the_one_before_is_told_with_it_and_no_third() -> None:
    lines = ["Ships are moored here. However, they leave at noon. The tide lifts all of them."]
    said = quotable_sentences(lines, 1)
    found = candidates(lines)
    needing = next(one for one in found if one.said.text.startswith("However"))
    last = found[-1]
    choice = choose([needing, last], [2.0, 2.0])
    assert choice is not None and choice.second is None
    (quote,) = document_quotes([needing], {1: said}, "words")
    assert [one.text for one in quote.sentences] == [said[0].text, said[1].text]


def test_of_equals_the_first_is_quoted_and_of_none_nothing() -> None:
    found = candidates(["Ships are moored here. The tide lifts all of them."])
    choice = choose(found, [1.0, 1.0])
    assert choice is not None and choice.best is found[0]
    assert choose([], []) is None
    assert document_quotes([], {}, "words") == []


def test_each_model_weighs_only_features_and_signs_that_there_are() -> None:
    for state in get_args(State):
        model = fitted_model(state)
        assert model["features"].keys() <= set(FEATURES)
        assert model["signs"].keys() <= {"intercept", *SIGNS}


@pytest.mark.parametrize(
    ("question", "sentence", "found"),
    [
        ("Why is it slow?", "It waits, because banks are slow.", (1.0, 0.0, 0.0)),
        ("Why is it slow?", "Banks open at nine.", (0.0, 0.0, 0.0)),
        ("How many ships fit?", "There is room for 12.", (1.0, 1.0, 0.0)),
        ("How many ships fit?", "There is room.", (0.0, 0.0, 0.0)),
        ("What is the default port?", "The default is 80.", (1.0, 0.0, 1.0)),
        ("Lamps", "The default is 80.", (0.0, 0.0, 0.0)),
    ],
)
def test_a_sentence_shows_by_its_form_whether_it_answers(
    question: str, sentence: str, found: tuple[float, float, float]
) -> None:
    assert AnswerCues(question).of(sentence) == found


def test_cues_are_looked_for_in_linear_time() -> None:
    assert AnswerCues("where is " + "it " * 20_000).of("in " * 20_000 + "x") == (0.0, 0.0, 0.0)


HOOKS = """# Hooks

Hook factories are commonly used to make hooks once, and hook factories are registered by their predicate.

Hook factories are functions that make hooks.

To register hook factories, call the method for hook factories with the hook factory.
"""


def test_a_sentence_that_defines_what_is_asked_for_is_quoted_before_all_others(tmp_path: Path) -> None:
    opened = codebase(tmp_path, {"docs/hooks.md": HOOKS})
    quote = opened.document_quotes("what's a hook factory?")[0]
    assert (quote.sentences[0].start_line, quote.worth >= WITH_DEFINITION) == (5, True)


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("What is a hook factory?", "Hook factories are functions that make hooks.", True),
        ("what's the hook factory", "A *hook factory* is a function.", True),
        ("What does hook factory mean?", "**Hook factory** refers to a function.", True),
        ("Explain hook factories", "A hook factory is a function.", True),
        ("What is a hook factory?", "Hook factories are registered by name.", False),
        ("What is a hook factory?", "Hook factories are commonly made once.", False),
        ("What is a hook factory?", "The registry of hook factories is a dict.", False),
        ("What is a hook factory?", "Hook factories make hooks.", False),
        ("How is a hook factory made?", "Hook factories are functions.", False),
        ("What is the name of the first hook factory of a class?", "Hook factories are functions.", False),
        ("What is?", "It is a function.", False),
    ],
)
def test_what_defines_a_thing_begins_with_it_and_says_what_it_is(question: str, sentence: str, expected: bool) -> None:
    asked = defined_in(question)
    assert bool(asked and defines(sentence, asked)) is expected


def test_the_best_sentence_of_a_second_passage_is_quoted_too_and_of_no_third() -> None:
    lines = [["Ships are moored here."], ["Tides lift all of them."], ["Ships are moored here."], ["Masts are red."]]
    found = [one for number, said in enumerate(lines, 1) for one in candidates(said, passage=number)]
    of_passage = {number: quotable_sentences(said, 1) for number, said in enumerate(lines, 1)}
    quotes = document_quotes(found, of_passage, "words")
    assert [quote.passage.id for quote in quotes] == [1, 2]
    assert [quote.passage.id for quote in document_quotes([found[0], *found[2:]], of_passage, "words")] == [1, 4]
    assert quotes[0].worth >= quotes[1].worth
    assert len(document_quotes(found[:1], of_passage, "words")) == 1
