"""Ids of violations: the same while lines move, distinct where two violations look alike."""

from __future__ import annotations

from pathlib import Path

from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.specification import specification_of
from actors.capabilities.violation_fix.checks.violation import Finding, Violation, with_ids

BRANCHES = "".join(f"    if a == {number}:\n        a += 1\n" for number in range(11))
FIRST = f"def first(a):\n{BRANCHES}    return a\n"
SECOND = f"def second(a):\n{BRANCHES}    return a\n"
LOCAL = "def third():\n    value = 1\n    return None\n"


def listed(root: Path, text: str, select: tuple[str, ...] = ("C901", "F", "long-function")) -> tuple[Violation, ...]:
    (root / "module.py").write_text(text, encoding="utf-8")
    return list_violations(root, [], CheckOptions(select=select)).violations


def ids(violations: tuple[Violation, ...]) -> set[str]:
    return {each.violation_id for each in violations}


def test_lines_inserted_above_and_functions_reordered_keep_every_id(tmp_path: Path) -> None:
    before = listed(tmp_path, FIRST + SECOND + LOCAL)
    assert [(each.check_id, each.symbol) for each in before] == [
        ("C901", "first"),
        ("C901", "second"),
        ("F841", "third"),
    ]
    above = listed(tmp_path, "# one more\n\nNAME = 1\n\n" + FIRST + SECOND + LOCAL)
    assert [each.line for each in above] == [each.line + 4 for each in before]
    assert ids(above) == ids(before)
    assert ids(listed(tmp_path, LOCAL + SECOND + FIRST)) == ids(before)


def test_indentation_and_blanks_within_the_line_keep_the_id_and_another_file_does_not(tmp_path: Path) -> None:
    before = listed(tmp_path, LOCAL)
    assert ids(listed(tmp_path, LOCAL.replace("value = 1", "value  =  1"))) == ids(before)
    (tmp_path / "module.py").rename(tmp_path / "other.py")
    assert not ids(list_violations(tmp_path, [], CheckOptions(select=("F",))).violations) & ids(before)


def test_two_equal_violations_of_a_function_get_distinct_ids_that_stay(tmp_path: Path) -> None:
    text = "def twice():\n    import os\n    import os\n"
    before = listed(tmp_path, text, ("F401",))
    assert len(before) == 2
    assert len(ids(before)) == 2
    assert ids(listed(tmp_path, f"NAME = 1\n{text}", ("F401",))) == ids(before)


def test_a_violation_that_was_fixed_takes_the_id_of_no_other_function(tmp_path: Path) -> None:
    both = listed(tmp_path, FIRST + SECOND)
    left = listed(tmp_path, "def first(a):\n    return a\n" + SECOND)
    assert ids(left) == {each.violation_id for each in both if each.symbol == "second"}


def test_equal_findings_are_numbered_in_order_of_their_lines() -> None:
    found = [Finding("a.py", line, 1, "F401", "unused", text="import os") for line in (9, 3)]
    first, second = with_ids(found)
    assert (first.line, second.line) == (3, 9)
    alone = with_ids(found[:1])[0]
    assert alone.violation_id == first.violation_id


def test_a_violation_becomes_the_specification_that_agents_work_on(tmp_path: Path) -> None:
    (violation,) = listed(tmp_path, LOCAL)
    spec = specification_of(violation, "tests/test_module.py")
    assert (spec.violation_id, spec.check_id, spec.file_path) == (violation.violation_id, "F841", "module.py")
    assert (spec.line_number, spec.severity, spec.test_path) == (2, "warning", "tests/test_module.py")
    assert spec.message == violation.message
    assert spec.fix_hint == "Remove assignment to unused variable `value`"
