"""Which place answers a question: the order of what was found."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.ranking.relevance import coverage, is_named, rank_entities
from tests.capabilities.code_analysis.support import cited


def definition(name: str, file: str = "app/a.py", line: int = 10, score: float = 0.5, **more: object) -> CodeFact:
    fields = {"symbol_kind": "function", "step": "find", **more}
    return CodeFact("definition", cited(file, line, line + 2, name), name=name, score=score, **fields)  # type: ignore[arg-type]


def names(question: str, *facts: CodeFact) -> list[str]:
    return [entity.name for entity in rank_entities(analyse(question), facts)]


def test_what_the_question_names_comes_first_whatever_its_score() -> None:
    assert names("What is `refund`?", definition("charge", score=1.0), definition("refund", line=30, score=0.1)) == [
        "refund",
        "charge",
    ]


def test_a_member_is_named_by_its_last_part_and_by_its_whole_name() -> None:
    found = (definition("Bank.charge", score=0.9), definition("Shop.refund", line=30, score=0.1))
    assert names("Who calls `refund`?", *found)[0] == "Shop.refund"
    assert names("Who calls Shop.refund?", *found)[0] == "Shop.refund"


def test_a_name_is_not_met_by_a_part_of_it() -> None:
    assert is_named("Shop.refund", ["refund"])
    assert is_named("app.Shop.refund", ["Shop.refund"])
    assert not is_named("Shop.refund_all", ["refund"])
    assert not is_named("Shop.refund", ["und", "Shop", "hop.refund"])


def test_a_place_that_shares_words_with_the_question_beats_one_that_does_not() -> None:
    assert names("How is money refunded?", definition("open_door"), definition("refund_money", line=30))[0] == (
        "refund_money"
    )


def test_the_beginning_of_a_word_counts_less_than_the_word_and_more_than_nothing() -> None:
    order = names(
        "How does authentication happen?",
        definition("door", line=1),
        definition("auth", line=20),
        definition("authentication", line=40),
    )
    assert order == ["authentication", "auth", "door"]


def test_a_place_that_several_searches_found_beats_one_that_a_single_one_found() -> None:
    twice = definition("refund", score=0.5)
    again = msgspec.structs.replace(twice, step="name0", score=0.4)
    assert names("payments", definition("charge", line=30, score=0.55), twice, again)[0] == "refund"


def test_what_the_search_put_well_before_another_leads_though_the_other_is_named_after_a_word() -> None:
    found = definition("Extends", score=1.0)
    named = definition("visit_template", line=30, score=0.7)
    assert names("How does template inheritance work?", found, named) == ["Extends", "visit_template"]


def test_a_name_with_another_word_for_what_is_asked_gains_from_it() -> None:
    other = definition("close", score=1.0)
    extends = definition("extend", line=30, score=0.95)
    assert names("How does inheritance work?", other, extends) == ["extend", "close"]


def test_a_method_of_the_doer_that_gives_what_is_named_leads_before_the_thing_itself() -> None:
    thing = definition("PaperReceipt", score=1.0)
    made = definition("Shop.issue", line=30, score=0.5)
    made = msgspec.structs.replace(made, symbol_kind="method", signature="def issue(self) -> PaperReceipt")
    assert names("How does Shop create a PaperReceipt?", thing, made)[0] == "Shop.issue"
    taken = msgspec.structs.replace(made, signature="def issue(self, old: PaperReceipt) -> None")
    assert names("How does Shop create a PaperReceipt?", thing, taken)[0] == "PaperReceipt"


def test_tests_stand_behind_code_unless_they_are_asked_for() -> None:
    code = definition("refund", score=0.5)
    test = definition("test_refund", "tests/test_a.py", 5, 1.0, is_test=True)
    assert names("How is money refunded?", code, test) == ["refund", "test_refund"]
    assert names("Explain the refund test", code, test) == ["test_refund", "refund"]


def test_a_heading_and_the_imports_of_a_file_seldom_answer() -> None:
    head = CodeFact("excerpt", cited("app/b.py", 1, 9), score=1.0)
    heading = definition("Refund", "README.md", 3, 0.6, symbol_kind="section")
    code = definition("refund", score=0.6)
    assert names("refund", head, heading, code) == ["refund", "Refund", ""]


def test_facts_about_one_place_make_one_entity_with_the_code_that_was_read_there() -> None:
    fact = definition("refund")
    code = CodeFact("code", cited("app/a.py", 11, 12), text="    return 1")
    elsewhere = CodeFact("code", cited("app/a.py", 13, 14), text="other")
    (entity,) = rank_entities(analyse("refund"), [fact, fact, elsewhere, code])
    assert entity.code == code


def test_coverage_is_the_share_of_the_words_that_the_best_places_mention() -> None:
    entities = rank_entities(analyse("x"), [definition("refund_money")])
    assert coverage(analyse("refund money"), entities, []) == 1.0
    assert coverage(analyse("refund zebra"), entities, []) == 0.5
    assert coverage(analyse("yacht zebra"), entities, []) == 0.0
    assert coverage(analyse("yacht zebra"), [], []) == 0.0


@pytest.mark.parametrize(
    "pair",
    [
        (definition("a", line=1), definition("b", line=1)),
        (definition("a", line=1), definition("a", line=9)),
        (definition("a", signature="def a(x)"), definition("a", signature="def a(y)")),
        (definition("a", docstring="One."), definition("a", docstring="Two.")),
        (definition("a", symbol_kind="class"), definition("a", symbol_kind="struct")),
    ],
    ids=["two names", "two places of a name", "two signatures", "two docstrings", "two kinds"],
)
def test_what_scores_alike_is_ordered_by_what_it_is(pair: tuple[CodeFact, CodeFact]) -> None:
    first, second = (rank_entities(analyse("zebra"), facts) for facts in (pair, pair[::-1]))
    assert first == second


files = st.sampled_from(["a.py", "app/b.py", "tests/test_c.py", "README.md"])
any_fact = st.builds(
    lambda kind, file, line, size, name, score, doc, step, symbol_kind: CodeFact(
        kind,
        cited(file, line, line + size, name),
        step=step,
        name=name,
        symbol_kind=symbol_kind,
        docstring=doc,
        text="x",
        score=score,
        is_test=file.startswith("tests/"),
    ),
    st.sampled_from(["definition", "excerpt", "code", "caller"]),
    files,
    st.integers(1, 6),
    st.integers(0, 3),
    st.sampled_from(["", "refund", "Shop.refund", "charge", "Shop"]),
    st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]) | st.floats(0, 1),
    st.sampled_from(["", "Refunds money.", "Opens."]),
    st.sampled_from(["find", "name0", "config"]),
    st.sampled_from(["", "function", "class", "section", "module"]),
)
questions = st.sampled_from(["How is money refunded?", "What is `refund`?", "test of Shop", "payments", ""]).map(
    analyse
)


@given(
    questions, st.lists(any_fact, max_size=10).flatmap(lambda facts: st.tuples(st.just(facts), st.permutations(facts)))
)
def test_the_order_does_not_depend_on_the_order_of_the_facts(
    question: Question, orders: tuple[list[CodeFact], list[CodeFact]]
) -> None:
    shown = [
        [(e.name, e.kind, e.citation, e.signature, e.docstring, e.score) for e in rank_entities(question, facts)]
        for facts in orders
    ]
    assert shown[0] == shown[1]


@given(questions, st.lists(any_fact, max_size=10))
def test_each_place_appears_once_and_scores_fall(question: Question, facts: list[CodeFact]) -> None:
    entities = rank_entities(question, facts)
    assert [entity.score for entity in entities] == sorted((entity.score for entity in entities), reverse=True)
    keys = [(entity.citation.file, entity.name or entity.citation.start_line) for entity in entities]
    assert len(set(keys)) == len(keys)
    assert 0.0 <= coverage(question, entities, facts) <= 1.0
    assert {entity.citation for entity in entities} <= {fact.citation for fact in facts}
