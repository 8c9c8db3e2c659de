"""Which further places and documents an answer tells of: those that bear on the question, and say something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.documents.document_claims import LEAST_WORTH, document_claims
from actors.capabilities.code_analysis.answers.open_answer import answer_claims
from actors.capabilities.code_analysis.answers.places.further_places import further_claims
from actors.capabilities.code_analysis.evidence.facts import CodeFact, distinct
from actors.capabilities.code_analysis.ranking.answer_order import Place
from actors.capabilities.code_analysis.ranking.worth_telling import (
    ENOUGH,
    FEATURES,
    fitted_weights,
    worth_of,
    worth_telling,
)
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.prose.sentences import Sentence
from runtime.codebase.search.telling_lines import imports_or_exports, says_nothing
from tests.capabilities.code_analysis.support import cited

scores = st.floats(0.01, 1.15)
cosines = st.none() | st.floats(-1, 1)


def place(score: float, cosine: float | None = None, number: int = 0, quotes: tuple[str, ...] = ("x = 1",)) -> Place:
    lines = tuple(range(1, len(quotes) + 1))
    chosen = Excerpt(1, 5, 1, 2, "x = 1\ny = 2", lines, quotes, 0.5)
    fact = CodeFact(
        "definition", cited(f"{number}.py", 1, 5), name=f"p{number}", score=score, excerpt=chosen, cosine=cosine
    )
    return Place(fact, score)


def passage(file: str, worth: float | None, kind: str = "document") -> CodeFact:
    return CodeFact("passage", cited(file, 1, 1), symbol_kind=kind, text=f"What {file} says.", score=0.9, worth=worth)


def test_each_model_has_a_weight_for_each_of_its_features() -> None:
    for state, names in FEATURES.items():
        assert fitted_weights()[state].keys() == {"intercept", *names}


@given(st.lists(st.tuples(scores, cosines), min_size=1, max_size=8), st.integers(0, 7), st.floats(0.01, 1))
def test_what_scores_more_is_not_worth_less(rows: list[tuple[float, float | None]], at: int, more: float) -> None:
    at %= len(rows)
    places = [place(score, cosine, number) for number, (score, cosine) in enumerate(rows)]
    raised = [*places[:at], place(rows[at][0] + more, rows[at][1], at), *places[at + 1 :]]
    worth = worth_of(places)
    assert all(0 < one < 1 for one in worth)
    assert worth_of(raised)[at] >= worth[at]


def test_what_is_far_from_the_question_in_meaning_is_not_told_behind_what_is_near() -> None:
    far, near = place(0.5, 0.05, 2), place(0.5, 0.6, 1)
    kept = worth_telling([place(1.0, 0.6), near, far])
    assert near in kept
    assert far not in kept


def test_by_words_alone_the_last_of_many_weak_places_is_not_told() -> None:
    places = [place(1.0), *(place(0.3, None, number) for number in range(1, 12))]
    kept = worth_telling(places)
    assert places[0] in kept
    assert places[-1] not in kept
    assert all(worth >= ENOUGH["words"] for worth in worth_of(kept)[:1])


def test_an_answer_leaves_out_places_that_bear_on_nothing_of_the_question() -> None:
    places = [place(1.0, 0.6), place(0.5, 0.6, 1), place(0.3, 0.0, 2)]
    assert [claim.citations[0].file for claim in answer_claims(places)] == ["0.py", "1.py"]


@pytest.mark.parametrize(
    "quote",
    [
        "import type {RetryFunction} from './options.js';",
        "export default calculateRetryDelay;",
        "export * from './retry';",
        "export {retry, delay};",
        "module.exports = retry;",
        "extern crate num_cpus;",
        "pub use crate::retry::Delay;",
        "get ignoreInvalidCookies(): boolean {",
        "fn add(&mut self, sample: &[u8]) {",
        "def exception(self) -> BaseException | None: ...",
        "func ParseStandard(standardSpec string) (Schedule, error) {",
        "_addIgnoredPath(matcher: Matcher): void {",
        "@overload",
        "// what is retried",
        "return;",
        "return err",
        "return None",
        "continue",
    ],
)
def test_a_place_of_which_only_an_import_a_signature_or_a_remark_could_be_quoted_is_not_told(quote: str) -> None:
    assert further_claims([place(1.0, quotes=(quote,))], 100) == []


@pytest.mark.parametrize(
    "quote",
    [
        "if (attemptCount > retryOptions.limit) {",
        "for (const file of files) {",
        "return resolve(path)",
        "return 98",
        "return errors",
        "def wait(self, delay=5):",
        "} catch (error) {",
        "imported = retry()",
        "with pool.acquire() as slot:",
        "timer = time.NewTimer(100000 * time.Hour)",
        "@click.option('--result-ttl', help='How long results are kept.')",
    ],
)
def test_a_line_that_does_something_is_told(quote: str) -> None:
    (claim,) = further_claims([place(1.0, quotes=(quote,))], 100)
    assert quote in claim.text


@given(st.text("import expfrom (){};:=@.def class_", max_size=200))
def test_any_line_is_judged_and_an_import_says_nothing(line: str) -> None:
    assert says_nothing(line) or not imports_or_exports(line)


def test_a_very_long_line_is_judged_at_once() -> None:
    assert not says_nothing("a " * 200_000)


def test_a_remark_within_the_code_is_no_headline_and_its_documentation_is() -> None:
    said = Sentence("Kills the job from this side.", 3, 3, 0.5, "# Kills the job from this side.")
    base = place(1.0)
    assert base.fact.excerpt is not None
    excerpt = Excerpt(1, 5, 1, 5, "a\nb\n# Kills the job from this side.\nd\ne", (1,), ("a",), 0.5, said)
    for docstring, shown in (("", False), ("Watches. Kills the job from this side.", True)):
        fact = CodeFact("definition", base.fact.citation, name="watch", score=1.0, excerpt=excerpt, docstring=docstring)
        (lead,) = answer_claims([Place(fact, 1.0)])
        assert (said.text in lead.text) is shown


@pytest.mark.parametrize(("worth", "is_told"), [(LEAST_WORTH - 0.01, False), (LEAST_WORTH, True), (0.9, True)])
def test_what_a_document_says_is_quoted_only_if_it_probably_answers(worth: float, is_told: bool) -> None:
    assert bool(document_claims([passage("a.md", worth)])) is is_told


def test_of_what_several_documents_say_the_two_likeliest_answers_are_quoted() -> None:
    claims = document_claims([passage("b.md", 0.4), passage("a.md", 0.6), passage("c.md", 0.6), passage("d.md", None)])
    assert [claim.citations[0].file for claim in claims] == ["a.md", "c.md"]


def test_a_passage_that_was_not_judged_and_a_comment_are_not_quoted() -> None:
    assert document_claims([passage("a.md", None), passage("b.py", 0.9, "comment")]) == []


def test_a_quotation_found_again_by_a_search_that_trusts_it_more_is_as_trusted() -> None:
    (kept,) = distinct([passage("a.md", None), passage("a.md", 0.3), passage("a.md", 0.2)])
    assert kept.worth == 0.3
