"""Questions for what is done to something, and for what happens in a case, on a small post office."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.done_to import deed_of, does_all, is_on_request, merely_asks, serves, sets_up
from actors.capabilities.code_analysis.facts import Fact
from actors.capabilities.code_analysis.question import analyse
from actors.capabilities.code_analysis.relevance import rank_entities
from tests.capabilities.code_analysis.support import FILES, Desk, cited, mark_faults, write_files

OFFICE = {
    **FILES,
    "office/routes.py": '''class Counter:
    """Where routes are told to the office."""

    def match(self, route, clerk):
        """Registers a route that matches letters of a kind."""
        self.routes.append((route, clerk))
        return self

    def any_route(self, clerk):
        """Registers a route that matches all letters."""
        return self.match("", clerk)
''',
    "office/office.py": '''from office.shelf import walk_shelf


class Office:
    """Takes letters in."""

    def handle_request(self, letter):
        # the route of the letter
        clerk = walk_shelf(self.shelf, letter.address)
        if clerk is None:
            raise LookupError("no clerk for the letter's route")
        return clerk(letter)
''',
    "office/shelf.py": '''def walk_shelf(shelf, address):
    """The clerk at the end of an address."""
    for part in address.split("/"):
        shelf = shelf.get(part)
        if shelf is None:
            return None
    return shelf.clerk
''',
}


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    write_files(tmp_path / "repo", OFFICE)
    return await Desk.open(tmp_path / "repo", tmp_path / "state")


@pytest.mark.parametrize(
    ("question", "verb", "others"),
    [
        ("How are passwords hashed?", "hash", {"password"}),
        ("How are uploaded files parsed?", "pars", {"upload"}),
        ("How is a letter matched and where is it configured?", "match", {"let"}),
        ("How does the office match a route?", "match", {"rout"}),
    ],
)
def test_the_verb_of_a_question_is_what_is_asked_to_be_done(question: str, verb: str, others: set[str]) -> None:
    deed = deed_of(question)
    assert deed is not None
    assert deed.verb == verb
    assert deed.others == others


@pytest.mark.parametrize(
    "question", ["How does authentication work?", "What is a letter?", "Where is it set?", "how", ""]
)
def test_other_questions_ask_for_no_deed(question: str) -> None:
    assert deed_of(question) is None


def test_what_prepares_asks_or_serves_is_told_by_its_words() -> None:
    deed = deed_of("How are routes matched?")
    assert deed is not None
    assert is_on_request(deed)
    assert sets_up(deed, "Registers a route that matches letters.")
    assert not sets_up(deed, "Matches a letter, and adds it to the shelf.")
    assert [serves(name) for name in ("A.handle_request", "ServeHTTP", "_dispatch_event", "handle", "server_name")] == [
        True,
        True,
        True,
        False,
        False,
    ]
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
    def found(name: str, line: int, score: float, doc: str = "") -> Fact:
        citation = cited("office/a.py", line, line + 5, name)
        return Fact("definition", citation, name=name, symbol_kind="function", docstring=doc, score=score, step="find")

    facts = [
        found("hash_pin", 10, 1.0),
        found("check_password_hash", 20, 0.75),
        found("hash_password", 30, 0.7, "Hash a password for the store."),
    ]
    assert rank_entities(analyse("How are passwords hashed?"), facts)[0].name == "hash_password"


def test_how_a_thing_works_in_general_begins_with_the_root_of_its_classes() -> None:
    def found(name: str, base: str, line: int, score: float) -> Fact:
        citation = cited("office/stamp.py", line, line + 5, name)
        signature = f"class {name}({base})" if base else f"class {name}"
        return Fact(
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


async def test_how_routes_are_matched_is_told_from_what_serves_requests_on(desk: Desk) -> None:
    document = await desk.ask("How are routes matched?")
    answer = document["answer"]
    assert answer.startswith("`Office.handle_request`")
    assert "`Office.handle_request` calls `walk_shelf`" in answer
    assert not mark_faults(answer, document["citations"])


async def test_what_happens_in_a_case_is_told_with_its_branch_and_who_comes_there(desk: Desk) -> None:
    document = await desk.ask("What happens when there is no clerk for a letter?")
    answer = document["answer"]
    assert answer.startswith("`Office.handle_request` is a method")
    assert "In `Office.handle_request`, where the case is met from line 10 on:" in answer
    assert 'raise LookupError("no clerk for the letter\'s route")' in answer
    assert not mark_faults(answer, document["citations"])
