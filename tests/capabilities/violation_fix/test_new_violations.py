"""New violations of a branch: a base commit's finding excuses one of the same check, file and place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.violation_fix.checks.new_violations import by_age
from actors.capabilities.violation_fix.checks.violation import Finding, Violation, with_ids

SYMBOLS = ("", "f", "g", "C.f")
TEXTS = ("import os", "x = 1", "print(x)")


def finding(line: int, symbol: str = "", text: str = "x = 1", check: str = "F401", path: str = "a.py") -> Finding:
    return Finding(path, line, 1, check, "told", symbol=symbol, text=text)


FINDINGS = st.lists(
    st.builds(
        finding,
        line=st.integers(1, 30),
        symbol=st.sampled_from(SYMBOLS),
        text=st.sampled_from(TEXTS),
        check=st.sampled_from(("F401", "no-print")),
        path=st.sampled_from(("a.py", "b.py")),
    ),
    max_size=12,
)


def new_of(findings: Sequence[Finding], base: Sequence[Finding]) -> list[Violation]:
    return list(by_age(with_ids(findings), with_ids(base)).new)


def check_and_file(each: Finding) -> tuple[str, str]:
    return each.check_id, each.path


@given(FINDINGS, FINDINGS)
def test_every_violation_is_new_or_old_and_keeps_its_order(found: list[Finding], base: list[Finding]) -> None:
    violations = with_ids(found)
    new, old = by_age(violations, with_ids(base))
    assert list(new) == [each for each in violations if each not in old]
    assert list(old) == [each for each in violations if each not in new]


@given(FINDINGS, st.data())
def test_lines_that_moved_and_definitions_in_another_order_bring_nothing_new(
    found: list[Finding], data: st.DataObject
) -> None:
    moved = [msgspec.structs.replace(each, line=data.draw(st.integers(1, 99))) for each in found]
    assert new_of(moved, data.draw(st.permutations(found))) == []


@given(FINDINGS, FINDINGS)
def test_a_check_has_no_more_old_violations_in_a_file_than_the_base_commit_had(
    found: list[Finding], base: list[Finding]
) -> None:
    had = Counter(map(check_and_file, base))
    old = Counter(map(check_and_file, by_age(with_ids(found), with_ids(base)).old))
    assert old <= had


@given(FINDINGS, FINDINGS)
def test_what_is_old_shares_its_line_or_its_definition_with_the_base_commit(
    found: list[Finding], base: list[Finding]
) -> None:
    for each in by_age(with_ids(found), with_ids(base)).old:
        alike = [other for other in base if check_and_file(other) == check_and_file(each)]
        assert any(other.text == each.text or (each.symbol and other.symbol == each.symbol) for other in alike)


@given(FINDINGS, st.sampled_from(SYMBOLS), st.sampled_from(TEXTS))
def test_one_more_of_the_same_kind_is_one_new_violation(found: list[Finding], symbol: str, text: str) -> None:
    assert len(new_of([*found, finding(99, symbol, text)], found)) == 1


@given(FINDINGS)
def test_without_findings_of_the_base_commit_all_is_new(found: list[Finding]) -> None:
    assert new_of(found, []) == list(with_ids(found))


@given(FINDINGS, FINDINGS)
def test_a_finding_more_in_the_base_commit_makes_nothing_more_new(found: list[Finding], base: list[Finding]) -> None:
    assert len(new_of(found, [*base, finding(1)])) <= len(new_of(found, base))


def test_an_edited_line_is_old_in_its_definition_and_new_outside_of_all() -> None:
    base = [finding(3, "f", "x = 1"), finding(9, "", "import os")]
    (new,) = new_of([finding(4, "f", "x = 2"), finding(10, "", "import os, re")], base)
    assert new.symbol == ""


def test_a_line_that_moved_to_another_definition_is_old_and_in_another_file_new() -> None:
    assert new_of([finding(4, "g")], [finding(3, "f")]) == []
    assert len(new_of([finding(4, "f", path="b.py")], [finding(4, "f")])) == 1
