"""Which questions ask for a value whose literal is told of the first place, and for what kind of value."""

from __future__ import annotations

import pytest

from runtime.codebase.search.values.value_questions import asks_for_a_place, literal_parts


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("How many entries are kept in the cache?", ["count"]),
        ("How long may one attempt take if I configure nothing?", ["time"]),
        ("How often are expired entries swept?", ["time"]),
        ("How many times does it try before giving up?", ["count"]),
        ("Which layout is used when I give none?", ["any"]),
        ("Which exit status is used for errors that I raise?", ["any"]),
        ("Is there an upper bound on the size of a document?", ["any"]),
        ("After what time does a lock expire?", ["time"]),
        ("How similar must a word be to be suggested?", ["count"]),
        ("How many retries and what time limit does a job get?", ["count", "time"]),
        ("What delay and failure rate has it by default?", ["time", "count"]),
        ("What time-out has a request?", ["time"]),
    ],
)
def test_a_question_for_a_value_a_default_or_a_bound_asks_for_literals(question: str, measures: list[str]) -> None:
    assert [part.measure for part in literal_parts(question)] == measures


@pytest.mark.parametrize(
    "question",
    [
        "How does routing pick the next stage?",
        "Why is the deadline kept apart?",
        "What happens when too many bobbins are threaded?",
        "Where are tools registered?",
        "Who calls decide?",
        "How does it choose a layout if I give none?",
        "",
    ],
)
def test_other_questions_do_not(question: str) -> None:
    assert literal_parts(question) == []


def test_what_holds_where_nothing_is_given_is_a_default() -> None:
    (part,) = literal_parts("Which exit status is used for errors that I raise?")
    assert part.says_default


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [
        ("Where is the maximum number of carts configured?", True),
        ("In which file is the default port?", True),
        ("«Where» is it set?", True),
        ("How many carts are there where nothing is set?", False),
        ("What is the default port?", False),
        ("", False),
    ],
)
def test_a_question_for_a_place_is_told_from_one_for_a_value(question: str, is_asked: bool) -> None:
    assert asks_for_a_place(question) is is_asked
