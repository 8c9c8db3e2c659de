"""Defines which rules draw facts from which built-in tool.

Facts inform an agent. Whether checks and tests pass is decided by the code that ran them, never by these rules: a test
may print any line.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from runtime.context.check_rules import CHECK_RULES, TEST_RULES
from runtime.context.edit_rules import (
    COMMON_ERRORS,
    CONDITIONAL_RULES,
    EDIT_RULES,
    EXTRACTION_RULES,
    PLAN_RULES,
    READ_RULES,
)
from runtime.context.fact_rules import RuleSet
from runtime.context.output_readers import linter_lines

_checks = RuleSet((*CHECK_RULES, *COMMON_ERRORS), linter_lines)
_tests = RuleSet((*TEST_RULES, *COMMON_ERRORS))
_edits = RuleSet((*EDIT_RULES, *COMMON_ERRORS))
_reads = RuleSet((*READ_RULES, *COMMON_ERRORS))

RULE_SETS: Mapping[str, RuleSet] = MappingProxyType(
    {
        "run_check": _checks,
        "run_conformance_check": _checks,
        "run_tests": _tests,
        "run_affected_tests": _tests,
        "edit_file": _edits,
        "replace_lines": _edits,
        "write_file": _edits,
        "extract_function": RuleSet((*EXTRACTION_RULES, *COMMON_ERRORS)),
        "simplify_conditional": RuleSet((*CONDITIONAL_RULES, *COMMON_ERRORS)),
        "read_file": _reads,
        "load_context": _reads,
        "record_plan": RuleSet(PLAN_RULES),
    }
)
