"""Defines the rules for the output of checks and test runs.

A newer verification fact of a family (`check.`, `tests.`) and scope replaces all that an older output of both said.
"""

from __future__ import annotations

from runtime.context.actions import ActionResult
from runtime.context.fact_rules import FactRule
from runtime.context.output_readers import counts_of_tests
from runtime.context.understanding import FactCategory

FAILING_TEST_CONFIDENCE = 0.9

_VERIFICATION, _ERROR = FactCategory.VERIFICATION, FactCategory.ERROR
_SUCCESSFUL = frozenset({ActionResult.SUCCESS})

_FUNCTION = r"[`'\"](?P<function>[^`'\"\n]{1,200})[`'\"]"
_PLACE = r"(?P<path>[^\s:][^:\n]{0,300}):(?P<line>\d{1,7})"
_LIMIT = r"(?:(?: >|, (?:max(?:imum)?|limit|allowed)| \((?:max(?:imum)?|limit|allowed)) (?P<limit>\d{1,7}))?"
_CODE = r"(?P<code>[A-Z]{1,5}\d{2,4}|[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){1,5})"
_PASSED = r"^[^\w\n]{0,4}(?:(?i:(?:all )?(?:conformance )?checks? passed)\b|✓|✔)"


def _passed(name: str, statement: str) -> FactRule:
    return FactRule(name, _PASSED, _VERIFICATION, statement, kind="check.passed", results=_SUCCESSFUL)


CHECK_RULES = (
    _passed("passed", "Check passed{scope_note}"),
    FactRule(
        "complexity",
        rf"{_FUNCTION} (?:is too complex \(|has (?:a )?(?:cyclomatic )?complexity (?:of )?)"
        rf"(?P<value>\d{{1,7}}){_LIMIT}",
        _VERIFICATION,
        "Function '{function}' has complexity {value}[, allowed {limit}]",
        kind="check.complexity",
        subject="{function}",
    ),
    FactRule(
        "length",
        rf"{_FUNCTION} (?:(?:is too long|has too many lines) \((?P<value>\d{{1,7}})(?: lines)?{_LIMIT}"
        rf"|(?:has|takes|spans) (?P<value>\d{{1,7}}) lines{_LIMIT})",
        _VERIFICATION,
        "Function '{function}' has {value} lines[, allowed {limit}]",
        kind="check.length",
        subject="{function}",
    ),
    FactRule(
        "nesting",
        rf"{_FUNCTION} [^\n(]{{0,60}}\bnested too deep(?:ly)? \((?P<value>\d{{1,7}}){_LIMIT}",
        _VERIFICATION,
        "Function '{function}' nests {value} deep[, allowed {limit}]",
        kind="check.nesting",
        subject="{function}",
    ),
    FactRule(
        "too_many",
        rf"^(?:{_PLACE}(?::\d{{1,7}})?:? )?[^\n]{{0,60}}?\bToo many (?P<what>[a-z][a-z /-]{{0,60}}?) ?"
        r"\((?P<value>\d{1,7}) > (?P<limit>\d{1,7})\)",
        _VERIFICATION,
        "Too many {what}: {value}, allowed {limit}[ ({path}:{line})]",
        kind="check.limit",
        subject="{what}[ {path}:{line}]",
        is_rest=True,
    ),
    FactRule(
        "violation",
        rf"^{_PLACE}(?::\d{{1,7}})?:? {_CODE}:? (?P<message>[^\n]{{1,200}})",
        _VERIFICATION,
        "{code} at {path}:{line}: {message}",
        kind="check.violation",
        subject="{code} {path}:{line}",
        is_rest=True,
    ),
    FactRule(
        "violation_count",
        r"^[^\w\n]{0,4}(?:Violations? ?\((?P<n>\d{1,7})\)|Found (?P<n>\d{1,7}) (?:errors?|violations?)\b"
        r"|(?:Total )?[Vv]iolations?(?: in all)?: (?P<n>\d{1,7})\b|(?P<n>\d{1,7}) violations?\b)",
        _VERIFICATION,
        "Violations in all: {n}",
        kind="check.count",
    ),
)

CHECK_PASSED_AFTER = _passed("passed_after", "Check passed after the change{scope_note}")


def _count(name: str, outcome: str, statement: str) -> FactRule:
    return FactRule(name, counts_of_tests(outcome), _VERIFICATION, statement, kind=f"tests.{outcome}")


def _failing(name: str, pattern: str) -> FactRule:
    return FactRule(
        name,
        pattern,
        _ERROR,
        "Failing test: {test}[ ({why})]",
        confidence=FAILING_TEST_CONFIDENCE,
        kind="tests.failing",
        subject="{test}",
    )


TEST_RULES = (
    _count("tests_passed", "passed", "Tests passed: {n}{scope_note}"),
    _count("tests_failed", "failed", "Tests failed: {n}{scope_note}"),
    _count("test_errors", "error", "Test errors: {n}{scope_note}"),
    _count("no_tests", "none", "No tests ran{scope_note}"),
    _failing(
        "failing_test",
        r"^(?:FAILED|ERROR) (?P<test>[^\s:]{1,300}?(?:::[^\n]{1,300}?)?)(?: - (?P<why>[^\n]{0,120})[^\n]*)?$",
    ),
    _failing("failing_unittest", r"^(?:FAIL|ERROR): (?P<test>[^\s(]{1,200} \([\w.]{1,300}\))(?P<why>)"),
)
