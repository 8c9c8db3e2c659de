"""What became of violations: gone, new, worse, or the same in another place."""

from __future__ import annotations

from typing import Any

from actors.capabilities.violation_fix.checks.violation import Finding, Violation, with_ids
from actors.capabilities.violation_fix.verification.comparison import compared, is_fixed


def found(*rows: dict[str, Any]) -> tuple[Violation, ...]:
    base = {"path": "a.py", "line": 1, "column": 1, "check_id": "F841", "message": "", "symbol": "f", "text": "x = 1"}
    return with_ids(Finding(**{**base, **row}) for row in rows)


def test_one_that_moved_with_its_line_or_stayed_in_its_function_is_the_same() -> None:
    before = found({"text": "x = 1"}, {"text": "y = 1", "symbol": "g"})
    after = found({"text": "x = 1", "symbol": "f_helper"}, {"text": "y = 1 + 1", "symbol": "g"})
    result = compared(before, after)
    assert (result.gone, result.new, len(result.stayed)) == ((), (), 2)


def test_one_more_of_a_kind_is_new() -> None:
    before = found({})
    result = compared(before, found({}, {"line": 2, "text": "z = 1", "symbol": "h"}))
    assert [each.text for each in result.new] == ["z = 1"]
    twice = compared(before, found({}, {"line": 2}))
    assert len(twice.new) == 1


def test_one_that_measures_more_than_before_is_new_and_one_that_measures_less_is_not() -> None:
    def measured(count: int) -> tuple[Violation, ...]:
        return found({"check_id": "C901", "measured": count, "allowed": 10})

    assert compared(measured(12), measured(13)).new
    assert not compared(measured(12), measured(12)).new
    assert not compared(measured(12), measured(11)).new


def test_a_violation_is_fixed_once_it_is_gone_and_not_when_another_one_is() -> None:
    before = found({"text": "x = 1"}, {"line": 2, "text": "y = 1"})
    after = found({"line": 2, "text": "y = 1"})
    assert [is_fixed(each, compared(before, after)) for each in before] == [True, False]


def test_of_two_that_look_alike_either_may_be_fixed() -> None:
    before = found({}, {"line": 2})
    after = found({})
    assert [is_fixed(each, compared(before, after)) for each in before] == [True, True]
