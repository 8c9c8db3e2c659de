"""Exceptions for one place: a comment with a reason excuses one check on its line or the line below."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.project_rules import parse_checks
from actors.capabilities.violation_fix.checks.violation import CheckReport

RULES = "rules: [{id: no-print, pattern: 'print'}, {id: no-eval, pattern: 'eval'}]"
ALLOW = "jeeves: allow no-print — it is a command"


def listed(
    root: Path,
    text: str,
    name: str = "a.py",
    rules: str = RULES,
    select: tuple[str, ...] = ("project",),
    ignore_noqa: bool = False,
) -> CheckReport:
    (root / name).write_text(text)
    return list_violations(
        root, [], CheckOptions(select=select, rules=parse_checks(rules).rules, ignore_noqa=ignore_noqa)
    )


def places(report: CheckReport) -> list[tuple[int, str]]:
    return [(each.line, each.check_id) for each in report.violations]


@pytest.mark.parametrize(
    ("name", "comment"),
    [
        ("a.py", f"# {ALLOW}"),
        ("a.ts", f"// {ALLOW}"),
        ("a.c", f"/* {ALLOW} */"),
        ("a.lua", f"-- {ALLOW}"),
        ("a.go", f"//{ALLOW}"),
        ("a.rb", "# jeeves: allow no-print - it is a command"),
    ],
)
def test_a_comment_excuses_its_line_and_alone_the_line_below(tmp_path: Path, name: str, comment: str) -> None:
    behind = listed(tmp_path, f"print(1) {comment}\nprint(2)\n", name)
    assert (places(behind), behind.excused) == ([(2, "no-print")], 1)
    above = listed(tmp_path, f"{comment}\nprint(1)\nprint(2)\n", name)
    assert (3, "no-print") in places(above)
    assert (2, "no-print") not in places(above)


@pytest.mark.parametrize("text", [f"# {ALLOW}\nx = 1\n", f"x = 1  # {ALLOW}\n"])
def test_a_pattern_that_matches_the_comment_itself_makes_it_no_use(tmp_path: Path, text: str) -> None:
    found = listed(tmp_path, text)
    assert ([check for _, check in places(found)], found.excused) == (["unused-exception"], 0)


def test_two_comments_above_a_line_excuse_two_checks(tmp_path: Path) -> None:
    both = "# jeeves: allow no-eval - trusted input\n# jeeves: allow no-print - it is a command\neval(print)\n"
    found = listed(tmp_path, both)
    assert (places(found), found.excused) == ([], 2)


def test_a_comment_for_another_check_excuses_nothing(tmp_path: Path) -> None:
    found = listed(tmp_path, "print(1)  # jeeves: allow no-eval - trusted input\n")
    assert (1, "no-print") in places(found)


def test_an_exception_that_excuses_nothing_is_a_violation_where_its_check_ran(tmp_path: Path) -> None:
    text = "x = 1  # jeeves: allow no-long - said elsewhere\n"
    rules = "rules: [{id: no-long, pattern: 'y{9}'}]"
    (found,) = listed(tmp_path, text, rules=rules).violations
    assert (found.check_id, found.line, found.message) == (
        "unused-exception",
        1,
        "this excuses nothing: no violation of no-long is here; take it away",
    )
    assert places(listed(tmp_path, text, rules=RULES)) == []
    assert places(listed(tmp_path, text, select=("F",))) == []


@pytest.mark.parametrize(
    "told", ["no-print", "no-print -", "no-print - !", "no-print because", "", "NO-PRINT - a reason"]
)
def test_without_a_rule_and_a_reason_in_words_it_excuses_nothing_and_says_so(tmp_path: Path, told: str) -> None:
    assert places(listed(tmp_path, f"print(1)  # jeeves: allow {told}\n")) == [
        (1, "no-print"),
        (1, "unused-exception"),
    ]


def test_long_functions_and_rules_with_a_command_are_excused_too_and_the_linters_rules_are_not(tmp_path: Path) -> None:
    body = "    x = 1\n" * 101
    text = f"# jeeves: allow long-function - a table\ndef f():\n{body}"
    assert places(listed(tmp_path, text, select=("long-function",))) == []
    rules = "rules: [{id: own, command: [sh, -c, 'echo a.py:2: wrong']}]"
    assert places(listed(tmp_path, "\nx = 1  # jeeves: allow own - known\n", rules=rules)) == []
    linted = listed(tmp_path, "import os  # jeeves: allow F401 - no\n", select=("F401", "project"))
    assert (1, "F401") in places(linted)


def test_an_exception_is_not_called_unused_where_the_command_of_its_rule_failed(tmp_path: Path) -> None:
    rules = "rules: [{id: own, command: [no-such-program]}]"
    assert places(listed(tmp_path, "x = 1  # jeeves: allow own - known\n", rules=rules)) == []


def test_comments_can_be_ignored_all_together(tmp_path: Path) -> None:
    found = listed(tmp_path, f"print(1)  # {ALLOW}\n", ignore_noqa=True)
    assert (places(found), found.excused) == ([(1, "no-print")], 0)
