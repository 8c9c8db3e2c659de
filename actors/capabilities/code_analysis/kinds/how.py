"""Explains how a thing works, or how something is done: «How are passwords hashed?»."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.answers.named_types.named_type import how_it_works, what_it_is
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.plans.members import steps_with_members
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import QuestionKind, wordings
from actors.capabilities.code_analysis.ranking.relevance import DOING

DOER_BONUS = 5.5

_HOW_TO = re.compile(r"^\W*how (?:(?:do|can|could|should|would|must) (?:i|you|we|one|users?)|to)\b", re.IGNORECASE)


def _always(question: Question) -> bool:
    """Return True."""
    return True


def _bonus(question: Question, best: CodeFact, facts: Sequence[CodeFact], weights: Mapping[str, float]) -> float:
    """Return what a method gains that gives what the question names."""
    return DOER_BONUS if _does_it(question, best) else 0.0


def _does_it(question: Question, fact: CodeFact) -> bool:
    """Return whether it is a method of the class that the question says does something, and gives what that names.

    «How does Shop make a Receipt?»: a method of `Shop` with `Receipt` ahead of its name or parameters.
    """
    if fact.symbol_kind not in DOING or fact.symbol_kind == "constructor":
        return False
    owner, _, last = fact.name.rpartition(".")
    doer = re.match(r"\W*how (?:does|do|did|can) (?:(?:the|an?) )?(\w+)", question.text, re.IGNORECASE)
    if doer is None or doer.group(1) != owner.rpartition(".")[2]:
        return False
    head, _, tail = fact.signature.partition(f"{last}(")
    given = head + tail.rpartition("->")[2] * ("->" in tail)
    wanted = [name for name in question.identifiers if name != doer.group(1)]
    return any(re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", given) for name in wanted)


KIND = QuestionKind(
    name="how",
    meaning="how it works",
    wordings=wordings(1400, r"\bhow\b|\bexplain\b|\bdescribe\b|\bmechanism\b"),
    is_default=True,
    aspects=("definition", "mechanism", "usage"),
    added=("mechanism",),
    asks_for_deed=_always,
    base_first=True,
    bonus=_bonus,
    guidance=_HOW_TO,
    follows_delegate=True,
    imperative="Explain {subject}",
    writers={"definition": what_it_is, "mechanism": how_it_works},
    plan=steps_with_members,
)
