"""Exceptions for one place: a comment with a reason excuses one check on its line or the line below."""

from __future__ import annotations

import time
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


IN_STRINGS = {
    "a.py": ['x = "# {}"', 'x = """\n# {}\n"""', 'def f():\n    """Says.\n\n    # {}\n    """', "x = f'# {}'"],
    "a.js": ['x = "// {}";', "x = `\n// {}\n`;"],
    "a.ts": ["const x = '// {}';"],
    "a.tsx": ["const x = <p title='// {}'>\n// {}\n</p>;"],
    "a.go": ['package a\nvar x = "// {}"', "package a\nvar x = `\n// {}\n`"],
    "a.rs": ['const X: &str = "// {}";', 'const X: &str = r#"\n// {}\n"#;'],
    "A.java": ['class A { String x = "// {}"; }', 'class A { String x = """\n// {}\n"""; }'],
    "a.kt": ['val x = "// {}"', 'val x = """\n// {}\n"""'],
    "a.c": ['char *x = "// {}";', '#define X "// {}"'],
    "a.cpp": ['auto x = "// {}";', 'auto x = R"(\n// {}\n)";'],
    "a.cs": ['class A { string x = "// {}"; }', 'class A { string x = @"\n// {}\n"; }'],
    "a.rb": ['x = "# {}"', "x = <<~END\n  # {}\nEND"],
    "a.php": ['<?php $x = "// {}";', "<?php $x = <<<END\n// {}\nEND;"],
    "a.sh": ['x="# {}"', "cat <<END\n# {}\nEND"],
    "a.lua": ['x = "-- {}"', "x = 'a\\'-- {}'"],
}
IN_COMMENTS = {
    "a.py": ["x = '# {}'  # {}", "(  # {}"],
    "a.js": ["x = '// {}';  // {}", "x = `${{1 /* {} */}}`;", "/*\n * {}\n */"],
    "a.tsx": ["const x = <p>{{/* {} */}}</p>;"],
    "a.go": ["package a // {}"],
    "a.rs": ["/// {}\nfn f() {{}}", "/* {} */"],
    "A.java": ["/** {} */ class A {{}}"],
    "a.kt": ["val x = 1 // {}"],
    "a.c": ["#define X 1 // {}", "#if X // {}\n#endif", "int x; /* {} */"],
    "a.cpp": ["// {}"],
    "a.cs": ["#region a // {}\n#endregion", "class A {{ }} // {}"],
    "a.rb": ["x = 1 # {}", "=begin\n# {}\n=end"],
    "a.php": ["<?php # {}", "<p>\n<script>\n// {}\n</script>"],
    "a.sh": ["x=1 # {}"],
    "a.lua": ["x = 1 -- {}", "x = 'a' -- {}", "it's -- {}", "x = '-- {}' -- {}"],
}
UNUSED = "no-long - the rule that finds nothing"


def comments_told(root: Path, name: str, text: str) -> list[int]:
    """The lines of comments of ours, which excuse nothing."""
    rules = "rules: [{id: no-long, pattern: 'y{9}'}]"
    written = text.format(*[f"jeeves: allow {UNUSED}"] * 2)
    return [line for line, check in places(listed(root, written, name, rules)) if check == "unused-exception"]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in IN_STRINGS.items() for text in texts])
def test_what_stands_in_a_string_is_no_comment(tmp_path: Path, name: str, text: str) -> None:
    assert comments_told(tmp_path, name, text.replace("{ ", "{{ ").replace(" }", " }}")) == []


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in IN_COMMENTS.items() for text in texts])
def test_a_comment_is_known_by_the_syntax_of_its_language(tmp_path: Path, name: str, text: str) -> None:
    assert len(comments_told(tmp_path, name, text)) == 1


def test_a_string_excuses_nothing(tmp_path: Path) -> None:
    assert places(listed(tmp_path, f'print("# {ALLOW}")\n')) == [(1, "no-print")]
    found = listed(tmp_path, f'print("# {ALLOW}")  # jeeves: allow no-print - told to a person\n')
    assert (places(found), found.excused) == ([], 1)


def test_columns_are_those_of_characters_and_lines_those_of_an_editor(tmp_path: Path) -> None:
    text = f'\ufeffx = "é" * 3; print(1)  # {ALLOW}\r\ny = "ü # {ALLOW}"; print(2)\r\n'
    found = listed(tmp_path, text)
    assert (places(found), found.excused) == ([(2, "no-print")], 1)


def test_a_file_that_is_not_parsed_is_read_by_lines(tmp_path: Path) -> None:
    text = f"print(1)  # {ALLOW}\nprint('# {ALLOW}')\n# {'(' * 1_001}\n"
    found = listed(tmp_path, text)
    assert (places(found), found.excused) == ([(2, "no-print")], 1)


def test_many_marks_are_read_in_little_time(tmp_path: Path) -> None:
    marks = f"# {ALLOW} " * 20_000
    started_s = time.process_time()
    for name in ("a.lua", "a.py"):
        assert (1, "no-print") in places(listed(tmp_path, f'x = "{marks}"\n', name))
    assert places(listed(tmp_path, "x = [\n" + f'"# {ALLOW}",\n' * 20_000 + "]\n", rules="rules: []")) == []
    assert time.process_time() - started_s < 10
