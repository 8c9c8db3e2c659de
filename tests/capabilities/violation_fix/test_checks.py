"""Violations of a repository: what is found, in what, and what bad input becomes of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.checks.options import MAX_LIMIT, CheckOptions, checked_options
from actors.capabilities.violation_fix.checks.project_rules import NOT_ALLOWED
from actors.capabilities.violation_fix.checks.source_files import MAX_FILE_BYTES
from actors.capabilities.violation_fix.checks.violation import CheckReport
from runtime.errors import InputError

NESTED = {
    "python": ("a.py", "def f(x):\n  if x:\n    for y in x:\n      while y:\n        pass\n"),
    "javascript": ("a.js", "function f(x) {\n if (x) { for (;;) { while (x) { x(); } } }\n}\n"),
    "go": ("a.go", "package a\nfunc f(x int) {\n if x > 0 { for { switch x {\n case 1: f(1)\n } } }\n}\n"),
    "rust": ("a.rs", "fn f(x: bool) {\n if x { loop { while x { f(x); } } }\n}\n"),
    "java": ("A.java", "class A { void f(int x) {\n if (x>0) { for (;;) { while (true) { f(x); } } }\n} }\n"),
    "c": ("a.c", "int f(int x) {\n if (x) { for (;;) { while (x) { f(x); } } }\n return 1;\n}\n"),
    "ruby": (
        "a.rb",
        "def f(x)\n  if x\n    while x\n      case x\n      when 1 then f(1)\n      end\n    end\n  end\nend\n",
    ),
    "shell": ("a.sh", "f() {\n if x; then\n  for y in z; do\n   case y in\n    a) f;;\n   esac\n  done\n fi\n}\n"),
}
CHAIN = {
    "a.js": "function f(x) {\n if (x == 1) { a(); } else if (x == 2) { b(); } else if (x == 3) { c(); }\n}\n",
    "a.go": "package a\nfunc f(x int) {\n if x == 1 { g() } else if x == 2 { h() } else if x == 3 { i() }\n}\n",
    "A.java": "class A { void f(int x) {\n if (x==1) { a(); } else if (x==2) { b(); } else if (x==3) { c(); }\n} }\n",
    "a.py": "def f(x):\n  if x == 1:\n    a()\n  elif x == 2:\n    b()\n  elif x == 3:\n    c()\n",
    "a.rs": "fn f(x: i32) {\n if x == 1 { a(); } else if x == 2 { b(); } else if x == 3 { c(); }\n}\n",
    "a.c": "int f(int x) {\n if (x==1) { a(); } else if (x==2) { b(); } else if (x==3) { c(); }\n return 1;\n}\n",
}


def report(root: Path, *select: str, paths: tuple[str, ...] = (), **options: Any) -> CheckReport:
    chosen = CheckOptions(select=select or CheckOptions().select, **options)
    return list_violations(root, paths, chosen)


def found(root: Path, *select: str, **options: Any) -> list[tuple[str, str]]:
    return [(each.path, each.check_id) for each in report(root, *select, **options).violations]


@pytest.mark.parametrize("language", NESTED)
def test_nesting_is_measured_in_every_language_and_reported_beyond_the_limit_alone(
    tmp_path: Path, language: str
) -> None:
    name, text = NESTED[language]
    (tmp_path / name).write_text(text)
    assert found(tmp_path, "deep-nesting", max_nesting=3) == []
    (violation,) = report(tmp_path, "deep-nesting", max_nesting=2).violations
    assert (violation.measured, violation.allowed) == (3, 2)
    assert violation.symbol.rpartition(".")[2] == "f"


@pytest.mark.parametrize(("opened", "is_missed"), [(1_000, False), (1_001, True)])
def test_a_file_that_is_too_much_for_a_parser_is_named_for_the_checks_that_need_one(
    tmp_path: Path, opened: int, is_missed: bool
) -> None:
    nested = NESTED["java"][1]
    (tmp_path / "A.java").write_text(f"{nested}// {'(' * opened}\n")
    listed = report(tmp_path, "deep-nesting", max_nesting=2)
    assert [each.path for each in listed.violations] == [] * is_missed + ["A.java"] * (not is_missed)
    assert listed.is_whole is not is_missed
    assert [(each.path, each.reason) for each in listed.unchecked] == [
        ("A.java", "deep-nesting may miss functions: more than 1000 brackets of a kind are open at once: read as text")
    ] * is_missed
    assert report(tmp_path, "F").is_whole


def test_no_exception_is_called_unused_in_a_file_whose_functions_are_not_measured(tmp_path: Path) -> None:
    excused = NESTED["javascript"][1].replace("{\n", "{ // jeeves: allow deep-nesting - a table\n", 1)
    (tmp_path / "a.js").write_text(excused + f"// {'(' * 1_001}\n")
    assert found(tmp_path, "deep-nesting", max_nesting=2) == []


@pytest.mark.parametrize("name", CHAIN)
def test_a_chain_of_else_if_is_one_level_deep(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(CHAIN[name])
    assert found(tmp_path, "deep-nesting", max_nesting=1) == []


def test_blocks_of_a_function_inside_another_count_for_the_inner_one_alone(tmp_path: Path) -> None:
    inner = "    def inner(y):\n      if y:\n        if x:\n          pass\n"
    (tmp_path / "a.py").write_text(f"def outer(x):\n  if x:\n{inner}")
    (violation,) = report(tmp_path, "deep-nesting", max_nesting=1).violations
    assert (violation.symbol, violation.measured) == ("outer.inner", 2)


@pytest.mark.parametrize(("lines", "is_long"), [(4, False), (5, False), (6, True)])
def test_a_function_is_long_from_one_line_beyond_the_limit(tmp_path: Path, lines: int, is_long: bool) -> None:
    (tmp_path / "a.js").write_text("function f(x) {\n" + "  x();\n" * (lines - 2) + "}\n")
    assert found(tmp_path, "long-function", max_function_lines=5) == ([("a.js", "long-function")] if is_long else [])


def test_complexity_is_counted_against_the_given_limit_with_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(x):\n    if x:\n        return 1\n    return 2\n")
    assert found(tmp_path, "C901", max_complexity=2) == []
    (violation,) = report(tmp_path, "C901", max_complexity=1).violations
    assert (violation.measured, violation.allowed, violation.symbol, violation.line) == (2, 1, "f", 1)


@pytest.mark.parametrize("limit", [0, MAX_LIMIT + 1])
def test_a_limit_out_of_range_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(InputError, match=f"max_nesting is {limit}"):
        report(tmp_path, max_nesting=limit)
    assert report(tmp_path, max_nesting=1).violations == report(tmp_path, max_nesting=MAX_LIMIT).violations == ()


@pytest.mark.parametrize(("name", "told"), [("nonsense", "no check is named 'nonsense'"), ("XYZ", "XYZ")])
def test_a_check_that_does_not_exist_is_refused(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "a.py").write_text("")
    with pytest.raises(InputError, match=told):
        report(tmp_path, name)


@pytest.mark.parametrize(("name", "is_told"), [("no-print", True), ("nonsense", True), ("X_1", False)])
def test_a_refused_check_that_a_rule_not_in_force_may_be_is_told_with_that(name: str, is_told: bool) -> None:
    with pytest.raises(InputError, match=f"no check is named '{name}'") as caught:
        checked_options(CheckOptions(select=(name,)), (NOT_ALLOWED,))
    assert (f"; {NOT_ALLOWED}; name rules of ruff" in caught.value.message) == is_told


def test_a_comment_excuses_a_violation_unless_it_is_to_be_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os  # noqa: F401\n")
    assert found(tmp_path, "F") == []
    assert found(tmp_path, "F", ignore_noqa=True) == [("a.py", "F401")]


def test_a_syntax_error_is_listed_as_one_and_the_other_files_are_checked(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f(:\n")
    (tmp_path / "good.py").write_text("import os\n")
    listed = report(tmp_path, "F")
    assert {(each.path, each.check_id, each.severity) for each in listed.violations} == {
        ("bad.py", "syntax-error", "error"),
        ("good.py", "F401", "warning"),
    }


def test_tabs_carriage_returns_and_syntax_newer_than_this_interpreter_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"import os\r\ndef g(a):\r\n\tif a:\r\n\t\treturn 1\r\n")
    (tmp_path / "b.py").write_text("type Name = int\n\n\ndef h[T](x: T) -> T:\n    return x\n")
    assert found(tmp_path, "F", "E9") == [("a.py", "F401")]


def test_the_oldest_python_that_a_project_demands_counts(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from typing import Optional\n\nx: Optional[int] = None\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.8,<4"\n')
    assert found(tmp_path, "UP") == []
    (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.11"\n')
    assert found(tmp_path, "UP") == [("a.py", "UP045")]


def test_files_that_cannot_be_checked_are_named_with_the_reason(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.py").write_text("import os\n")
    (root / "good.py").write_text("import os\n")
    (root / "latin.py").write_bytes(b'x = "\xe9"\n')
    (root / "zero.py").write_bytes(b"x = 1\0\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    os.mkfifo(root / "pipe.py")
    with (root / "huge.py").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    listed = report(root, "F", "deep-nesting")
    assert [each.path for each in listed.violations] == ["good.py"]
    assert {each.path: each.reason for each in listed.unchecked} == {
        "huge.py": f"it has more than {MAX_FILE_BYTES} bytes",
        "latin.py": "not valid utf-8, bytes replaced",
        "link.py": "it is a link out of the repository",
        "pipe.py": "it is no regular file",
        "zero.py": "it is binary",
    }
    assert not listed.is_whole


@pytest.mark.parametrize(
    ("content", "is_whole"),
    [(b"x = 1\n", True), (b'x = "\xe9"\n', False), (b"x = 1\0\n", False), (None, False)],
    ids=["text", "latin", "binary", "pipe"],
)
def test_a_listing_is_whole_where_nothing_but_links_is_left_out(
    tmp_path: Path, content: bytes | None, is_whole: bool
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.py").write_text("import os\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "good.py").write_text("x = 1\n")
    (root / "twice.py").symlink_to(root / "good.py")
    if content is None:
        os.mkfifo(root / "a.py")
    else:
        (root / "a.py").write_bytes(content)
    assert report(root, "F").is_whole is is_whole


@pytest.mark.parametrize(("over", "is_whole"), [(-1, True), (0, True), (1, False)])
def test_a_listing_is_whole_up_to_the_most_bytes_of_a_file(tmp_path: Path, over: int, is_whole: bool) -> None:
    (tmp_path / "a.py").write_bytes(b"#".ljust(MAX_FILE_BYTES + over, b"x"))
    assert report(tmp_path, "F").is_whole is is_whole


def test_a_file_that_crashes_the_linter_is_the_only_one_left_out(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("x = " + "-" * 150_000 + "1\n")
    for number in range(4):
        (tmp_path / f"good{number}.py").write_text("import os\n")
    listed = report(tmp_path, "F")
    assert [each.path for each in listed.violations] == [f"good{number}.py" for number in range(4)]
    (left,) = listed.unchecked
    assert (left.path, "ruff failed on it" in left.reason) == ("deep.py", True)
    assert not listed.is_whole


def test_a_file_named_like_an_option_or_a_list_of_arguments_is_a_file(tmp_path: Path) -> None:
    for name in ("@list.py", "--help.py", "-x.py"):
        (tmp_path / name).write_text("import os\n")
    assert found(tmp_path, "F") == [("--help.py", "F401"), ("-x.py", "F401"), ("@list.py", "F401")]


def test_a_folder_whose_name_begins_with_a_dot_can_be_named(tmp_path: Path) -> None:
    (tmp_path / ".tools").mkdir()
    (tmp_path / ".tools/run.py").write_text("import os\n")
    for path in (".tools", ".tools/run.py"):
        listed = list_violations(tmp_path, [path], CheckOptions(select=("F",)))
        assert [each.path for each in listed.violations] == [".tools/run.py"]


def test_named_paths_alone_are_checked_and_those_outside_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    for name in ("a.py", "sub/b.py", "sub/c.py"):
        (root / name).write_text("import os\n")
    (root / "notes.txt").write_text("")
    (tmp_path / "outside.py").write_text("import os\n")
    assert [each.path for each in report(root, "F", paths=("sub",)).violations] == ["sub/b.py", "sub/c.py"]
    assert [each.path for each in report(root, "F", paths=("a.py", "sub/c.py")).violations] == ["a.py", "sub/c.py"]
    assert len(report(root, "F", paths=(".",)).violations) == 3
    (root / ".gitignore").write_text("sub/\n")
    assert [each.path for each in report(root, "F").violations] == ["a.py"]
    assert [each.path for each in report(root, "F", paths=("sub/b.py",)).violations] == ["sub/b.py"]
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    assert report(root, "F", paths=("link.py",)).unchecked[0].reason == "it is a link out of the repository"
    (root / "loop.py").symlink_to("loop.py")
    (root / "dangling.py").symlink_to("gone.py")
    for name in ("loop.py", "dangling.py"):
        assert [each.reason for each in report(root, "F", paths=(name,)).unchecked] == ["it cannot be read"]
    for path, told in (("../outside.py", "no file or folder"), ("gone.py", "gone.py"), ("notes.txt", "holds no file")):
        with pytest.raises(InputError, match=told):
            report(root, "F", paths=(path,))
