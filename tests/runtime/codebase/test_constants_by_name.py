"""A constant that is named like a word of another language, or like a keyword but for case, is a value."""

from __future__ import annotations

import pytest

from runtime.codebase.parsing.bodies.empty_bodies import is_empty

BODIES = {
    "a.py": "def f(a):\n    return {}\n",
    "A.java": "class A {{ Object f(int a) {{\n  return {};\n}} }}\n",
    "a.go": "package a\n\nfunc F(a int) T {{\n\treturn {}\n}}\n",
    "a.ts": "function f(a: T): T {{\n  return {};\n}}\n",
    "a.rs": "fn f(a: T) -> T {{\n    {}\n}}\n",
    "A.cs": "class A {{ T F(int a) => {}; }}\n",
    "a.kt": "fun f(a: Int): T {{\n    return {}\n}}\n",
    "a.rb": "def f(a)\n  {}\nend\n",
    "a.c": "int f(int a)\n{{\n    return {};\n}}\n",
}
NAMES = [
    *[(path, name) for path in BODIES for name in ("DEFAULT", "UNIT", "Default", "PASS")],
    *[(path, "NULL") for path in ("A.java", "a.go", "a.ts", "a.py", "a.kt", "a.rb", "A.cs")],
    *[(path, "None") for path in ("A.java", "a.go", "a.ts", "A.cs", "a.kt", "a.c")],
    *[(path, "Nil") for path in ("a.go", "a.rs", "A.java")],
]
NOTHING = [
    ("a.py", "None"),
    ("A.java", "null"),
    ("a.go", "nil"),
    ("a.ts", "undefined"),
    ("a.rs", "None"),
    ("A.cs", "default"),
    ("a.kt", "Unit"),
    ("a.rb", "nil"),
    ("a.c", "NULL"),
]


def judged(path: str, value: str) -> bool:
    text = BODIES[path].format(value)
    return is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_a_constant_with_a_name_of_its_own_is_an_answer(path: str, name: str) -> None:
    assert not judged(path, name)


@pytest.mark.parametrize(("path", "word"), NOTHING)
def test_what_stands_for_no_value_in_the_language_is_none(path: str, word: str) -> None:
    assert judged(path, word)


@pytest.mark.parametrize("body", ["RETURN NULL;", "Return Null;", "return NULL;", "THROW NEW \\Exception('TODO');"])
def test_php_writes_keywords_in_any_case(body: str) -> None:
    assert is_empty(f"<?php\nfunction f($a) {{\n  {body}\n}}\n", "a.php", 1, 4)


def test_where_nothing_is_parsed_keywords_are_read_in_any_case() -> None:
    assert is_empty("CREATE FUNCTION f() BEGIN\n  RETURN NULL;\nEND;\n", "a.sql", 2, 3)
