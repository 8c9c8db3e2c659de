"""What an answer says of the literals in the lines of its first place."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.answers.open_answer import answer_claims
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.values import LiteralNote
from actors.capabilities.code_analysis.ranking.answer_order import Place
from runtime.codebase.search.excerpts import Excerpt
from runtime.codebase.search.values.literal_forms import LiteralForm
from tests.capabilities.code_analysis.support import cited

SHOWN = "if threads > 64:\n    stop()"


def note(
    form: LiteralForm = "test",
    subject: str = "threads > 64",
    value: str = "64",
    text: str = "if threads > 64:",
    line: int = 1,
    *,
    leads: bool = False,
) -> LiteralNote:
    return LiteralNote(form, subject, value, text, cited("a.py", line), leads)


def told(*notes: LiteralNote, values: tuple[Claim, ...] = ()) -> list[Claim]:
    chosen = Excerpt(1, 2, 1, 2, SHOWN, (1,), (SHOWN.split("\n")[0],), 0.5)
    lead = CodeFact("definition", cited("a.py", 1, 9), name="weave", excerpt=chosen, literals=notes)
    return [claim for claim in answer_claims([Place(lead, 1.0)], values=values) if claim.role != "lead"]


@pytest.mark.parametrize(
    ("form", "subject", "value", "expected"),
    [
        ("entry", '"CACHE_SIZE_LIMIT"', "1000", '`"CACHE_SIZE_LIMIT"` is `1000`'),
        ("constant", "LIMIT", "1000", "`LIMIT` is `1000`"),
        ("binding", "tries", "3", "`tries` is set to `3`"),
        ("argument", "time.sleep", "0.5", "`time.sleep` is given `0.5`"),
        ("keyword", "total", "3", "`total` is given `3`"),
        ("default", "timeout", "30", "`timeout` is `30` by default"),
        ("fallback", "options.timeout", "10_000", "`options.timeout` falls back to `10_000`"),
        ("returned", "80", "80", "What is returned here is `80`"),
        ("test", "len(x) > 255", "255", "It is tested whether `len(x) > 255`"),
        ("loop", "i < 10000", "10000", "The loop runs only while `i < 10000`"),
        ("repeat", "range(5)", "5", "The loop is over `range(5)`"),
        ("most", "min(x, 30)", "30", "`min(x, 30)` is at most `30`"),
        ("least", "max(x, 30)", "30", "`max(x, 30)` is at least `30`"),
        ("documented", "", "10000", "Documented default: `10000`"),
    ],
)
def test_a_sentence_says_what_the_line_says_of_a_literal(
    form: LiteralForm, subject: str, value: str, expected: str
) -> None:
    (claim,) = told(note(form, subject, value))
    assert (claim.role, claim.text, claim.citations) == ("point", expected, (cited("a.py", 1),))


def test_a_line_that_is_not_shown_is_quoted() -> None:
    (claim,) = told(note("binding", "tries", "3", "tries = 3", 5))
    assert claim.text == "`tries` is set to `3`: `tries = 3`"
    assert claim.quotes == ("tries = 3",)


def test_one_that_answers_by_itself_comes_first() -> None:
    assert [claim.role for claim in told(note(leads=True))] == ["value"]


def test_it_does_not_come_ahead_of_a_value_that_is_proven_otherwise() -> None:
    proven = Claim("value", "`LIMIT` is `7`", (cited("b.py", 3),))
    assert [claim.role for claim in told(note(leads=True), values=(proven,))] == ["point"]


def test_what_a_value_has_told_already_is_not_told_again() -> None:
    proven = Claim("value", "`threads` is `64`", (cited("a.py", 1),))
    assert told(note(), values=(proven,)) == []


def test_a_line_with_marks_of_direction_is_not_told() -> None:
    assert told(note("documented", "", "46", "# default: \u202e46")) == []
