"""What an answer says of the constants that stand in the code of its first place."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.answers.open_answer import answer_claims
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.values import ValueNote
from actors.capabilities.code_analysis.ranking.answer_order import Place
from runtime.codebase.search.excerpts import Excerpt
from tests.capabilities.code_analysis.support import cited

LINE = "LOOM_LIMIT = 64"


def note(role: str = "constant", line: str = LINE) -> ValueNote:
    return ValueNote("", "LOOM_LIMIT", "", role, "64", (), "", (cited("limits.py", 3),), (line,))


def lead_with(code: str, *notes: ValueNote) -> Place:
    chosen = Excerpt(1, 2, 1, 2, code, (1,), (code.split("\n")[0],), 0.5)
    return Place(CodeFact("definition", cited("a.py", 1, 2), name="weave", excerpt=chosen, constants=notes), 1.0)


def test_the_number_behind_a_name_in_the_code_follows_it() -> None:
    further = Place(CodeFact("definition", cited("b.py", 1, 2), excerpt=Excerpt(1, 2, 1, 2, "stop()")), 0.9)
    lead, constant, *_ = answer_claims([lead_with("if threads > LOOM_LIMIT:\n    stop()", note()), further])
    assert (lead.role, constant.role) == ("lead", "point")
    assert constant.text == "`LOOM_LIMIT` is `64`: `LOOM_LIMIT = 64`"
    assert constant.citations == (cited("limits.py", 3),)


def test_what_may_be_set_outside_is_said_to_hold_by_default() -> None:
    _, constant = answer_claims([lead_with("if threads > LOOM_LIMIT:\n    stop()", note("default"))])
    assert constant.text.startswith("`LOOM_LIMIT` is `64` by default: ")


def test_the_same_value_is_told_once() -> None:
    claims = answer_claims([lead_with("if threads > LOOM_LIMIT:\n    stop()", note(), note())])
    assert len(claims) == 2


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("if threads > 64:\n    stop()", LINE),
        ("if threads > LOOM_LIMITS:\n    stop()", LINE),
        ("if threads > LOOM_LIMIT:\n    stop()", "LOOM_LIMIT = 64  # \u202e46"),
    ],
    ids=["name not shown", "part of a name", "marks of direction"],
)
def test_nothing_is_said_of_other_constants(code: str, line: str) -> None:
    assert [claim.role for claim in answer_claims([lead_with(code, note(line=line))])] == ["lead"]
