"""What an answer begins with that was not found: how sure that is, and why."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.answers.absence.absent_subject import aside_claims
from actors.capabilities.code_analysis.answers.composition import DID_NOT_FIND, NOT_SURELY, compose
from actors.capabilities.code_analysis.answers.confidence import ENOUGH, SURELY_NOT
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import Purpose
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.codebase.citation import Citation
from runtime.codebase.search.presence.absence import Absence
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal

LEAD = Claim("lead", "`pay_out`", (Citation("shop.py", 4, 9, "pay_out", "paid"),), subject="pay_out")


def told(*, may_be_there: bool, absence: Absence | None = None) -> str:
    findings = [Finding(Goal(GoalId("answer"), ""), (LEAD,))]
    asked = analyse("Where is a refund paid out?")
    return compose(asked, findings, {}, None, is_found=False, may_be_there=may_be_there, absence=absence)


def test_what_may_be_there_was_not_found_for_sure() -> None:
    assert told(may_be_there=True).startswith(f"{NOT_SURELY} Likely places:")
    assert told(may_be_there=False).startswith(f"{DID_NOT_FIND} Likely places:")


def test_a_word_that_occurs_nowhere_is_the_reason_and_stands_behind_a_plain_no() -> None:
    answer = told(may_be_there=True, absence=Absence(nowhere=("refund",)))
    assert answer.startswith(f"{DID_NOT_FIND} `refund` occurs nowhere")


@pytest.mark.parametrize("text", [DID_NOT_FIND, NOT_SURELY])
def test_both_begin_alike_so_that_a_reader_of_scripts_knows_them(text: str) -> None:
    assert text.startswith("I did not find this")
    assert 0 < SURELY_NOT < ENOUGH


@pytest.mark.parametrize(
    ("purposes", "is_told"), [(("answer",), True), (("part",), False), (("part", "answer"), True), ((), True)]
)
def test_a_word_that_only_a_part_looked_for_is_no_subject_of_the_whole(
    purposes: tuple[Purpose, ...], is_told: bool
) -> None:
    where = Citation("tests/t.py", 3, 3, "celery")
    fact = CodeFact("only_aside", where, name="celery", purpose=next(iter(purposes), None), also_for=purposes[1:])
    assert bool(aside_claims([fact])) is is_told
