"""Facts drawn from what the built-in tools print, in the words of real programs."""

from __future__ import annotations

import json

import pytest

from runtime.context.actions import ActionResult
from runtime.context.builtin_rules import RULE_SETS
from runtime.context.fact_extraction import extract_facts
from runtime.context.fact_rules import ToolOutput
from runtime.context.understanding import Fact

SUCCESS, FAILURE, PARTIAL = ActionResult.SUCCESS, ActionResult.FAILURE, ActionResult.PARTIAL


def facts_of(tool: str, text: str, result: ActionResult = SUCCESS, scope: str = "") -> tuple[Fact, ...]:
    return extract_facts(ToolOutput(tool, text, result, step=3, scope=scope)).facts


def said(tool: str, text: str, result: ActionResult = SUCCESS) -> list[tuple[str, str, float]]:
    return [(each.category.value, each.statement, each.confidence) for each in facts_of(tool, text, result)]


RUFF = """src/app.py:1:8: F401 [*] `os` imported but unused
src/app.py:2:5: C901 `load` is too complex (11 > 5)
src/app.py:9:5: C901 `Store.save` is too complex (21 > 5)
src/app.py:2:5: PLR0913 Too many arguments in function definition (7 > 5)
src/app.py:40:5: long-function `load` has too many lines (120 > 100)
src/app.py:40:5: deep-nesting `load` has blocks that are nested too deep (6 > 5)
Found 6 errors.
[*] 1 fixable with `--fix`.
"""
RUFF_FACTS = [
    "Function 'load' has complexity 11, allowed 5",
    "Function 'Store.save' has complexity 21, allowed 5",
    "Function 'load' has 120 lines, allowed 100",
    "Function 'load' nests 6 deep, allowed 5",
    "Too many arguments in function definition: 7, allowed 5 (src/app.py:2)",
    "F401 at src/app.py:1: [*] `os` imported but unused",
    "Violations in all: 6",
]


def test_every_violation_that_a_linter_names_becomes_a_fact() -> None:
    assert [each[1] for each in said("run_check", RUFF, FAILURE)] == RUFF_FACTS
    assert {(each[0], each[2]) for each in said("run_conformance_check", RUFF, FAILURE)} == {("verification", 1.0)}


def test_the_json_of_a_linter_gives_the_same_facts() -> None:
    lines = [line.split(":", 3) for line in RUFF.splitlines()[:6]]
    found = [
        {
            "filename": path,
            "location": {"row": int(row), "column": int(column)},
            "code": rest.split()[0],
            "message": rest.strip().partition(" ")[2],
        }
        for path, row, column, rest in lines
    ]
    assert [each[1] for each in said("run_check", json.dumps(found, indent=1), FAILURE)] == RUFF_FACTS
    assert [each[1] for each in said("run_check", "[]")] == ["Check passed"]


@pytest.mark.parametrize(
    ("tool", "result", "text", "expected"),
    [
        ("run_check", SUCCESS, "All checks passed!\n", [("verification", "Check passed", 1.0)]),
        ("run_check", SUCCESS, "✓ Check PASSED: C901", [("verification", "Check passed", 1.0)]),
        (
            "run_check",
            FAILURE,
            "Violations (2):\n  Function 'load' has complexity 15\n  Function 'load' has 80 lines",
            [
                ("verification", "Function 'load' has complexity 15", 1.0),
                ("verification", "Function 'load' has 80 lines", 1.0),
                ("verification", "Violations in all: 2", 1.0),
            ],
        ),
        (
            "run_tests",
            FAILURE,
            "x.py:7: AssertionError\n"
            "=========================== short test summary info ============================\n"
            "FAILED tests/test_a.py::test_a - AssertionError: 5 passed oh\n"
            "FAILED tests/test_a.py::test_c[c::d e] - ValueError: c::d\n"
            "ERROR tests/test_b.py\n"
            "===== 2 failed, 12 passed, 1 skipped, 3 warnings, 1 error in 3.47s (0:00:03) =====\n",
            [
                ("verification", "Tests passed: 12", 1.0),
                ("verification", "Tests failed: 2", 1.0),
                ("verification", "Test errors: 1", 1.0),
                ("error", "Failing test: tests/test_a.py::test_a (AssertionError: 5 passed oh)", 0.9),
                ("error", "Failing test: tests/test_a.py::test_c[c::d e] (ValueError: c::d)", 0.9),
                ("error", "Failing test: tests/test_b.py", 0.9),
            ],
        ),
        ("run_affected_tests", SUCCESS, "3 passed in 0.01s", [("verification", "Tests passed: 3", 1.0)]),
        ("run_tests", FAILURE, "no tests ran in 0.01s", [("verification", "No tests ran", 1.0)]),
        ("run_tests", SUCCESS, "6 deselected in 3.30s", [("verification", "No tests ran", 1.0)]),
        (
            "run_tests",
            SUCCESS,
            "....\n----\nRan 4 tests in 0.005s\n\nOK (skipped=1)\n",
            [("verification", "Tests passed: 4", 1.0)],
        ),
        (
            "run_tests",
            FAILURE,
            "FAIL: test_z (test_x.TestQ.test_z)\n----\nRan 3 tests in 0.005s\n\nFAILED (failures=1, errors=1)\n",
            [
                ("verification", "Tests passed: 1", 1.0),
                ("verification", "Tests failed: 1", 1.0),
                ("verification", "Test errors: 1", 1.0),
                ("error", "Failing test: test_z (test_x.TestQ.test_z)", 0.9),
            ],
        ),
        ("run_tests", FAILURE, "pytest timed out after 600 s", [("error", "Timed out after 600 s", 1.0)]),
        ("edit_file", SUCCESS, "Edited src/app.py: 3 lines", [("code_structure", "File modified: src/app.py", 1.0)]),
        ("edit_file", SUCCESS, "Modified `src/app.py`.", [("code_structure", "File modified: src/app.py", 1.0)]),
        (
            "replace_lines",
            SUCCESS,
            "Replaced lines 3-9 of src/app.py",
            [("code_structure", "File modified: src/app.py", 1.0)],
        ),
        ("write_file", SUCCESS, "Created file: tests/c.py", [("code_structure", "File modified: tests/c.py", 1.0)]),
        (
            "edit_file",
            FAILURE,
            "error: old_text not found in src/app.py",
            [("error", "Edit failed: the text to replace was not found", 1.0)],
        ),
        (
            "edit_file",
            FAILURE,
            "the old text occurs 3 times in src/app.py",
            [("error", "Edit failed: the text to replace occurs 3 times", 1.0)],
        ),
        (
            "write_file",
            FAILURE,
            "reverted: SyntaxError: '(' was never closed on line 7",
            [
                ("error", "Syntax error at line 7", 1.0),
                ("error", "The edit was reverted, because tests that passed failed after it", 1.0),
            ],
        ),
        (
            "extract_function",
            SUCCESS,
            "Extracted function 'load_rows' from lines 10-24 of src/app.py\nCheck PASSED",
            [
                ("code_structure", "Extracted 'load_rows' from lines 10-24", 1.0),
                ("verification", "Check passed after the change", 1.0),
            ],
        ),
        (
            "extract_function",
            SUCCESS,
            "extracted lines 10 to 24 into `load_rows`",
            [("code_structure", "Extracted 'load_rows' from lines 10-24", 1.0)],
        ),
        (
            "extract_function",
            FAILURE,
            "cannot extract: line 12 has a `return` that leaves the function",
            [("error", "Extraction blocked: cannot extract: line 12 has a `return` that leaves the function", 0.95)],
        ),
        (
            "simplify_conditional",
            SUCCESS,
            "Converted the if at line 14 of 'load' to a guard clause",
            [("code_structure", "Conditional simplified at line 14 of 'load'", 1.0)],
        ),
        (
            "simplify_conditional",
            FAILURE,
            "no if statement at line 14",
            [("error", "Conditional not simplified: no if statement at line 14", 0.95)],
        ),
        (
            "read_file",
            SUCCESS,
            "   1 | import os\n   2 | class Store:\n   3 |     async def save(self): ...\n",
            [("code_structure", "Read a file: 3 lines, defines Store, save", 1.0)],
        ),
        (
            "load_context",
            SUCCESS,
            "Read src/app.py\ndef load(): pass\n",
            [("code_structure", "Read src/app.py: 1 lines, defines load", 1.0)],
        ),
        (
            "read_file",
            FAILURE,
            "[Errno 2] No such file or directory: 'src/x.py'",
            [("error", "File not found: src/x.py", 1.0)],
        ),
        (
            "record_plan",
            SUCCESS,
            "Plan:\n1. extract load_rows\n2. run checks",
            [("inference", "Plan: 1. extract load_rows 2. run checks", 1.0)],
        ),
        (
            "edit_file",
            SUCCESS,
            "modified a b.py: replaced 3 quoted lines",
            [("code_structure", "File modified: a b.py", 1.0)],
        ),
        (
            "replace_lines",
            SUCCESS,
            "modified src/app.py: replaced lines 3-9",
            [("code_structure", "File modified: src/app.py", 1.0)],
        ),
        (
            "replace_lines",
            FAILURE,
            "lines 30-39 are not in the file, which has 12 lines",
            [("error", "Lines 30-39 are not in the file, which has 12 lines", 1.0)],
        ),
        (
            "edit_file",
            FAILURE,
            "the old text is not in the file",
            [("error", "Edit failed: the text to replace was not found", 1.0)],
        ),
        (
            "edit_file",
            FAILURE,
            "the edit would change nothing",
            [("error", "Edit failed: it would change nothing", 1.0)],
        ),
        (
            "write_file",
            FAILURE,
            "only src/app.py belongs to this fix, not 'src/b.py'",
            [("error", "Edit refused: only src/app.py may be changed", 1.0)],
        ),
        (
            "write_file",
            FAILURE,
            "the file would not parse: line 7: invalid syntax",
            [("error", "Syntax error at line 7", 1.0)],
        ),
        (
            "edit_file",
            SUCCESS,
            "edit 2 of src/app.py was reverted",
            [("error", "The edit was reverted: src/app.py", 1.0)],
        ),
        (
            "extract_function",
            SUCCESS,
            "modified src/app.py: Extracted 'load_rows' from lines 10-24",
            [("code_structure", "Extracted 'load_rows' from lines 10-24", 1.0)],
        ),
        (
            "extract_function",
            FAILURE,
            "refused: maybe_unbound: 'rows' may be unbound after the block (line 12)",
            [
                (
                    "error",
                    "Extraction blocked: refused: maybe_unbound: 'rows' may be unbound after the block (line 12)",
                    0.95,
                )
            ],
        ),
        (
            "simplify_conditional",
            SUCCESS,
            "modified src/app.py: the if became a guard clause",
            [("code_structure", "File modified: src/app.py", 1.0)],
        ),
        (
            "read_file",
            SUCCESS,
            "src/app.py lines 3-5 of 120\n    3  class Store:\n    4      def save(self):\n    5          pass",
            [("code_structure", "Read lines 3-5 of src/app.py (120 lines), defines Store, save", 1.0)],
        ),
        (
            "load_context",
            SUCCESS,
            "definition of load: src/app.py:3-9 def load(path):\ndefinition of load: src/b.py:1-2 class load:",
            [
                ("code_structure", "load is defined at src/app.py:3-9", 1.0),
                ("code_structure", "load is defined at src/b.py:1-2", 1.0),
            ],
        ),
        (
            "load_context",
            FAILURE,
            "no definition of load was found in src/app.py and beside it",
            [("error", "No definition of load was found", 1.0)],
        ),
        ("deploy", SUCCESS, "done", [("verification", "deploy succeeded", 0.7)]),
        ("deploy", FAILURE, "\nno rights\nmore", [("error", "deploy failed: no rights", 0.7)]),
        ("deploy", PARTIAL, "", [("verification", "deploy succeeded in part", 0.7)]),
        ("deploy", ActionResult.SKIPPED, "blocked", [("error", "deploy was skipped: blocked", 0.7)]),
        ("deploy", ActionResult.FATAL, "", [("error", "deploy failed for good", 0.7)]),
    ],
)
def test_what_a_tool_prints_becomes_facts(
    tool: str, result: ActionResult, text: str, expected: list[tuple[str, str, float]]
) -> None:
    assert said(tool, text, result) == expected


@pytest.mark.parametrize(
    ("tool", "result", "text"),
    [
        ("run_check", FAILURE, "All checks passed!"),
        ("run_tests", SUCCESS, "assert '5 passed in 1s' in output\nwe saw 5 passed and 6 failed"),
        ("read_file", SUCCESS, "# this timed out, was reverted: syntax error on line 3, no such file: x"),
        ("edit_file", SUCCESS, "Edited src/app.py: `text not found` is now its message"),
        ("edit_file", FAILURE, "Modified src/app.py"),
        ("extract_function", SUCCESS, "Extracted 'f' from lines 1-2; no return, no break in it"),
    ],
)
def test_words_that_only_look_like_an_outcome_are_no_fact(tool: str, result: ActionResult, text: str) -> None:
    kinds = {each.kind for each in facts_of(tool, text, result)}
    assert kinds <= {"result", "file", "edit", "extraction"}
    assert result is SUCCESS or kinds == {"result"}


def test_a_statement_of_an_unfound_limit_leaves_it_out_and_brackets_of_the_text_stay() -> None:
    [fact] = facts_of("run_check", "src/app.py:3:1: RUF100 [*] Unused [C901]", FAILURE)
    assert fact.statement == "RUF100 at src/app.py:3: [*] Unused [C901]"


def test_facts_have_kind_subject_scope_source_and_a_steady_id() -> None:
    text = "`load` is too complex (11 > 5)"
    [fact] = facts_of("run_check", text, FAILURE, scope="C901 src/app.py")
    assert (fact.kind, fact.subject, fact.scope) == ("check.complexity", "load", "C901 src/app.py")
    assert (fact.source, fact.step) == ("run_check:complexity", 3)
    assert facts_of("run_check", text, FAILURE, scope="C901 src/app.py") == (fact,)
    assert facts_of("run_check", text, FAILURE, scope="C901 src/other.py")[0].id != fact.id


@pytest.mark.parametrize("tool", sorted(RULE_SETS))
def test_every_rule_of_the_table_is_well_formed(tool: str) -> None:
    from runtime.context.fact_rules import extended

    assert extended({}, {tool: RULE_SETS[tool]})[tool].rules
