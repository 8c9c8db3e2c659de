"""Questions for what is done to something, and for what happens in a case, on a small post office."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.action import (
    deed_of,
    does_all,
    gives_itself_back,
    is_of_something_else,
    merely_asks,
    sets_up,
)
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.documented_cases import says_it_is_for
from actors.capabilities.code_analysis.ranking.relevance import rank_entities
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, cited, mark_faults, write_files
from tests.repositories import repository_files

OFFICE = {**FILES, **repository_files("office")}


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", OFFICE)
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")


@pytest.mark.parametrize(
    ("question", "verb", "others"),
    [
        ("How are passwords hashed?", "hash", {"password"}),
        ("How are uploaded files parsed?", "pars", {"upload"}),
        ("How is a letter matched and where is it configured?", "match", {"let"}),
        ("How does the office match a route?", "match", {"rout"}),
        ("How is the address of a letter found?", "find", {"address", "let"}),
        ("Where are letters weighed?", "weigh", {"let"}),
    ],
)
def test_the_verb_of_a_question_is_what_is_asked_to_be_done(question: str, verb: str, others: set[str]) -> None:
    deed = deed_of(question)
    assert deed is not None
    assert deed.verb == verb
    assert deed.others == others


@pytest.mark.parametrize(
    "question", ["How does authentication work?", "What is a letter?", "Where is a letter?", "how", ""]
)
def test_other_questions_ask_for_no_deed(question: str) -> None:
    assert deed_of(question) is None


def test_what_prepares_or_asks_is_told_by_its_words() -> None:
    deed = deed_of("How are routes matched?")
    assert deed is not None
    assert sets_up(deed, "Registers a route that matches letters.")
    assert not sets_up(deed, "Matches a letter, and adds it to the shelf.")
    assert [merely_asks(deed, name) for name in ("is_matched", "Route.hasMatch", "island", "match")] == [
        True,
        True,
        False,
        False,
    ]
    asked_for = deed_of("How are letters checked?")
    assert asked_for is not None
    assert not merely_asks(asked_for, "check_letter")
    assert does_all(deed, lambda word: float(word == "match")) == 0
    assert does_all(deed, lambda word: 0.5) == 0.25


def test_what_hashes_passwords_comes_before_what_merely_has_the_word() -> None:
    def found(name: str, line: int, score: float, doc: str = "") -> CodeFact:
        citation = cited("office/a.py", line, line + 5, name)
        return CodeFact(
            "definition", citation, name=name, symbol_kind="function", docstring=doc, score=score, step="find"
        )

    facts = [
        found("hash_pin", 10, 1.0),
        found("check_password_hash", 20, 0.75),
        found("hash_password", 30, 0.7, "Hash a password for the store."),
    ]
    assert rank_entities(analyse("How are passwords hashed?"), facts)[0].name == "hash_password"


def _method(name: str, line: int, score: float, doc: str = "", signature: str = "") -> CodeFact:
    citation = cited("office/b.py", line, line + 5, name)
    return CodeFact(
        "definition",
        citation,
        name=name,
        symbol_kind="method",
        docstring=doc,
        signature=signature,
        score=score,
        step="find",
    )


def test_where_a_thing_is_done_is_not_where_it_is_prepared_or_done_to_something_else() -> None:
    facts = [
        _method("Office.add_tray", 10, 1.0, "Adds a tray in which letters are weighed."),
        _method("Office.weigh_parcel", 20, 0.95, "Puts it on the scales."),
        _method("Office.put_on_scales", 30, 0.9, "Weigh all letters of a tray."),
    ]
    ranked = rank_entities(analyse("Where are letters weighed?"), facts)
    assert ranked[0].name == "Office.put_on_scales"
    deed = deed_of("Where are letters weighed?")
    assert deed is not None
    assert is_of_something_else(deed, "Office.weigh_parcel", lambda word: 0.0)
    assert not is_of_something_else(deed, "Office.weigh_parcel", lambda word: 0.4)
    assert not is_of_something_else(deed, "Office.put_on_scales", lambda word: 0.0)


def test_what_is_called_like_the_verb_itself_does_it() -> None:
    facts = [
        _method("Office.watch_address_change", 10, 1.0, "Retrieve the first found address of a letter."),
        _method("Office.find", 20, 0.8, "Given a letter, find the address."),
    ]
    assert rank_entities(analyse("How is the address of a letter found?"), facts)[0].name == "Office.find"


@pytest.mark.parametrize(
    ("name", "signature", "expected"),
    [
        ("Walk.threads", "pub fn threads(&mut self, n: usize) -> &mut Walk", True),
        ("Walk.threads", "pub fn threads(mut self, n: usize) -> Self", True),
        ("Walk.threads", "pub fn threads(&self) -> usize", False),
        ("Walk.threads", "threads(n: number): this", True),
        ("a.Walk.threads", "public Walk threads(int n)", True),
        ("Walk.threads", "public int threads(Walk other)", False),
        ("Walk.threads", "func (w *Walk) threads(n int) *Walk {", True),
        ("Walk.threads", "func (w *Walk) threads(n Walk) int", False),
        ("Walk.threads", "def threads(self, n: int) -> Walk:", True),
        ("Walk.threads", "", False),
        ("threads", "fn threads() -> Self", False),
    ],
)
def test_a_method_of_a_builder_gives_its_own_object_back(name: str, signature: str, expected: bool) -> None:
    assert gives_itself_back(name, signature) is expected


def test_where_something_is_decided_is_not_where_a_builder_is_told() -> None:
    facts = [
        _method("Walk.pens", 10, 1.0, "The number of pens to use.", "pub fn pens(&mut self, n: usize) -> &mut Walk"),
        _method("Args.pens", 20, 0.9, "The number of pens to use.", "pub fn pens(&self) -> usize"),
    ]
    assert rank_entities(analyse("Where is the number of pens decided?"), facts)[0].name == "Args.pens"


@pytest.mark.parametrize(
    ("documentation", "expected"),
    [
        ("Called if the customer closed the counter.", True),
        ("Called when the counter is closed.", False),
        ("Closes the counter for a customer.", False),
        ("Called when the customer left. The counter closes then.", False),
        ("", False),
    ],
)
def test_documentation_says_for_which_case_something_is_there(documentation: str, expected: bool) -> None:
    terms = analyse("What happens when a customer closes the counter?").terms
    assert says_it_is_for(documentation, terms) is expected
    assert not says_it_is_for(documentation, terms[:1])


def test_what_says_that_it_is_there_for_the_case_comes_before_what_has_its_words() -> None:
    facts = [
        _method("Customer.close_counter", 10, 1.0),
        _method("Office.on_close", 20, 0.6, "Called if the customer closed the counter."),
    ]
    ranked = rank_entities(analyse("What happens when a customer closes the counter?"), facts)
    assert ranked[0].name == "Office.on_close"


def test_how_a_thing_works_in_general_begins_with_the_root_of_its_classes() -> None:
    def found(name: str, base: str, line: int, score: float) -> CodeFact:
        citation = cited("office/stamp.py", line, line + 5, name)
        signature = f"class {name}({base})" if base else f"class {name}"
        return CodeFact(
            "definition", citation, name=name, symbol_kind="class", signature=signature, score=score, step="find"
        )

    facts = [found("RedStamp", "Stamp", 20, 1.0), found("Stamp", "", 10, 0.9), found("Letter", "", 30, 0.1)]
    assert [e.name for e in rank_entities(analyse("How does a stamp work?"), facts)][:2] == ["Stamp", "RedStamp"]
    assert rank_entities(analyse("How does `RedStamp` work?"), facts)[0].name == "RedStamp"
    circle = [
        found("Stamp", "stamps.Stamp", 10, 1.0),
        found("Seal", "Stamp", 20, 0.95),
        found("Stamp", "Seal", 30, 0.9),
    ]
    assert rank_entities(analyse("How does a stamp work?"), circle)[0].name == "Stamp"


async def test_how_routes_are_matched_is_told_from_what_serves_requests_on(desk: AnalysisHarness) -> None:
    document = await desk.ask("How are routes matched?")
    answer = document["answer"]
    # What documents one of its methods is shown, and not told of the class.
    assert answer.startswith("`Counter` in `office/routes.py` [office/routes.py:1-11]")
    assert "self.routes.append((route, clerk))" in answer.split("```")[1]
    assert not mark_faults(answer, document["citations"])


async def test_what_happens_in_a_case_is_told_with_its_branch_and_who_comes_there(desk: AnalysisHarness) -> None:
    document = await desk.ask("What happens when there is no clerk for a letter?")
    answer = document["answer"]
    assert answer.startswith("`Office.handle_request` in `office/office.py` [office/office.py:7-12]")
    assert 'raise LookupError("no clerk for the letter\'s route")' in answer.split("```")[1]
    assert "the route of the letter»" not in answer
    assert not mark_faults(answer, document["citations"])
