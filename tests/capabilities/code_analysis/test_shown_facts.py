"""What a model is shown of each kind of fact, and which claims it may rest on it."""

from __future__ import annotations

from typing import get_args

import pytest

from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind
from actors.capabilities.code_analysis.models.agent_context import numbered, of_facts
from actors.capabilities.code_analysis.models.reading_order import in_reading_order
from actors.capabilities.code_analysis.models.schemas import CitedFact, WrittenClaim
from actors.capabilities.code_analysis.models.written_claims import ShownFact, claims_of
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.support import cited

SENTENCES = "The van leaves at eight. " * 12
OF_GIT = {"change", "together"}
QUESTION = analyse("How does the van leave?")


def shown(*facts: CodeFact) -> list[str]:
    return numbered(of_facts("synthesizer", "why", [], facts, 1), facts)


@pytest.mark.parametrize("kind", sorted(set(get_args(FactKind)) - OF_GIT))
def test_a_claim_may_rest_on_a_fact_of_each_kind(kind: FactKind) -> None:
    fact = CodeFact(kind, cited("van.py", 3), name="leave", text="leave()")
    claim = WrittenClaim(goal="g", text="It leaves.", facts=[CitedFact(fact=1, first_line=0, last_line=0)])
    read = claims_of([claim], [ShownFact(fact, 3 if kind == "code" else 0)], ["g"])
    assert [(made.text, made.citations) for made in read.by_goal["g"]] == [("It leaves.", (fact.citation,))]


def test_code_of_which_no_line_was_shown_carries_no_claim() -> None:
    claim = WrittenClaim(goal="g", text="It leaves.", facts=[CitedFact(fact=1, first_line=0, last_line=0)])
    read = claims_of([claim], [ShownFact(CodeFact("code", cited("van.py", 3, 9), name="leave"))], ["g"])
    assert (read.count, read.reasons) == (0, {"lines_not_shown": 1})


def test_a_passage_is_shown_with_all_of_its_sentences() -> None:
    fact = CodeFact("passage", cited("guide.md", 3, 4, quote="The van"), symbol_kind="test_name", text=SENTENCES)
    assert shown(fact) == [f"1. passage of a test name (guide.md:3-4) {SENTENCES.strip()}"]


def test_a_call_whose_receiver_is_unknown_is_not_shown_as_one_that_is_proven() -> None:
    fact = CodeFact("mention", cited("a.py", 7, quote="b.close()"), name="go", about="close")
    (line,) = shown(fact)
    assert line.startswith("1. call by name, of an object of unknown type: go")
    assert line.endswith("(a.py:7-7) b.close()")


def test_how_many_calls_are_not_proven_is_told_with_the_code_of_the_definition() -> None:
    definition = CodeFact("definition", cited("a.py", 3), name="close", unproven=5)
    code = CodeFact("code", cited("a.py", 1, 9), text="\n".join("123456789"))
    (only,) = in_reading_order(QUESTION, [definition, code], [], (), wants_uses=True)
    assert (only.kind, only.name, only.unproven) == ("code", "close", 5)
    said = "(its name is called 5 more times on objects of unknown type)"
    assert shown(only)[0].startswith(f"1. code close (a.py:1-9) {said}\n1| 1\n")
    assert said in shown(definition)[0]


@pytest.mark.parametrize(("last", "count"), [(8, 1), (9, 1), (10, 2)], ids=["inside", "to the end", "beyond the end"])
def test_a_passage_within_code_that_was_read_is_not_shown_again(last: int, count: int) -> None:
    passage = CodeFact("passage", cited("a.py", 3, last), symbol_kind="comment", text="The van leaves.")
    code = CodeFact("code", cited("a.py", 1, 9), name="leave", text="\n".join("123456789"))
    assert len(in_reading_order(QUESTION, [passage, code], [], (), wants_uses=False)) == count


@pytest.mark.parametrize(
    ("text", "lines"),
    [("one\ntwo\nthree", [1, 2, 3]), ("one\ntwo\n", [1, 2, 3]), ("one\ntw", [1]), ("on", [])],
    ids=["whole", "the last line is empty", "cut in the second line", "cut in the first line"],
)
def test_half_a_line_at_the_end_of_a_text_that_was_cut_is_not_shown_as_a_line(text: str, lines: list[int]) -> None:
    (said,) = shown(CodeFact("code", cited("a.py", 1, 3), name="go", text=text))
    assert [int(line.partition("|")[0]) for line in said.split("\n") if "| " in line] == lines
    assert said.endswith(f"(lines {len(lines) + 1} to 3 of it are not shown)") is (len(lines) < 3)
