"""Functions that only give a constant, or what they were given, are known by their last statement in each language."""

from __future__ import annotations

import time

import pytest

from runtime.codebase.parsing.bodies.constant_bodies import is_constant
from runtime.codebase.parsing.bodies.empty_bodies import is_empty, judge_of

CONSTANT = [
    ("a.py", "def f(x):\n    return True\n"),
    ("a.py", 'def f(x):\n    """Say so."""\n    return "ok"  # so\n'),
    ("a.py", "def f(x):\n    y = 1\n    return y\n"),
    ("a.py", "def f(x):\n    return x + 0\n"),
    ("a.py", "def f(x):\n    return x or x\n"),
    ("a.py", "def f(x):\n    return {'a': [1, -2.5], 'b': (None, f'c')}\n"),
    ("a.py", "def f(x):\n    return not False\n    return x.go()\n"),
    ("a.py", "class A:\n    @property\n    def name(self):\n        return 'net'\n"),
    ("a.js", "function f(x) {\n  return { ok: true, n: 1 };\n}\n"),
    ("a.js", "const f = (x) => 'done';\n"),
    ("a.ts", "export async function f(x: number) {\n  const y = 1;\n  return Promise.resolve(y);\n}\n"),
    ("a.ts", "export function f(x: number) {\n  return x * 1;\n}\n"),
    ("a.go", "package a\n\nfunc F(x int) (int, error) {\n\treturn 42, nil\n}\n"),
    ("a.go", "package a\n\nfunc F(x int) int {\n\ty := 7\n\treturn y\n}\n"),
    ("A.java", "class A {\n  boolean f(int x) {\n    return true;\n  }\n}\n"),
    ("A.java", "class A {\n  int f(int x) {\n    int y = 7;\n    return y;\n  }\n}\n"),
    ("a.rs", "fn f(x: u8) -> Result<u8, E> {\n    Ok(1)\n}\n"),
    ("a.rs", "fn f(x: u8) -> u8 {\n    return 7;\n}\n"),
    ("a.rs", 'fn f(x: u8) -> String {\n    "a".to_string()\n}\n'),
]
UNCHANGED = [
    # A member that is only looked up may be a property, which may do something.
    ("a.py", "def f(x):\n    x.extras\n"),
    ("a.js", "function f(x) {\n  x.extras;\n}\n"),
    ("a.py", "def f(x):\n    y = x\n    return y\n"),
    ("a.py", "def f(x):\n    str(x)\n    return x\n"),
    ("a.py", "def f(x):\n    ordered = sorted(x)\n    return x\n"),
    ("a.py", "def f(x):\n    seen = []\n    seen.append(x)\n    return x\n"),
    ("a.py", "def f(x):\n    logger.info('saving %s', x)\n    return x\n"),
    ("a.pyx", "cdef int load(int x) nogil:\n    return x\n"),
    ("a.rs", "fn f(x: u8) -> Result<u8, E> {\n    Ok(x)\n}\n"),
    ("a.go", "package a\n\nfunc F(x int) (int, error) {\n\treturn x, nil\n}\n"),
    ("a.py", "def f(a):\n    if not a:\n        pass\n    return a\n"),
    ("a.kt", "fun f(a: Int): Int { return a }\n"),
    ("a.kt", "fun f(a: Int): Int = a\n"),
    ("A.cs", "class A { int F(int a) { return a; } }\n"),
    ("A.cs", "class A { int F(int a) => a; }\n"),
    ("a.rb", "def f(a)\n  a\nend\n"),
    ("a.rb", "def f(a)\n  return a\nend\n"),
    ("a.php", "<?php\nfunction f($a) { return $a; }\n"),
    ("a.py", "def f(text):\n    return text\n"),
    ("a.js", "const f = (a) => {\n  return a;\n};\n"),
    ("a.go", "package a\n\nfunc F(a int) int {\n\treturn a\n}\n"),
    ("a.rs", "fn f(a: u8) -> u8 {\n    a\n}\n"),
    ("a.c", "int f(int a) {\n  return a;\n}\n"),
]
WORK = [
    ("a.py", "def f(x):\n    return x.y\n"),
    ("a.py", "def f(x):\n    return LIMIT\n"),
    ("a.py", "def f(x):\n    return x + 1\n"),
    ("a.py", "def f(x):\n    return f'{x}'\n"),
    ("a.py", "def f(x):\n    return {x: 1}\n"),
    ("a.py", "def f(x):\n    x.go()\n    return True\n"),
    ("a.py", "def f(x):\n    if x:\n        return True\n    return False\n"),
    ("a.py", "def f(x):\n    yield 1\n"),
    ("a.py", "def f(x):\n    return Special(1)\n"),
    ("a.py", "def f(x):\n    y = x.go()\n    return 1\n"),
    ("a.js", "function f(x) {\n  return `${x}`;\n}\n"),
    ("a.js", "function f(x) {\n  return x ? 1 : 2;\n}\n"),
    ("a.js", "const f = (x) => x.y;\n"),
    ("a.go", "package a\n\nfunc F(x int) int {\n\treturn x + 1\n}\n"),
    ("A.java", "class A {\n  int f(int x) {\n    return g(7);\n  }\n}\n"),
    ("a.rs", "fn f(x: u8) {\n    7;\n}\n"),
    ("a.rs", "fn f(x: u8) -> u8 {\n    x + 1\n}\n"),
]


def gives_constant(file: str, text: str) -> bool:
    first = next(
        n for n, line in enumerate(text.split("\n"), 1) if "f(" in line.lower() or "name(" in line or "=>" in line
    )
    return judge_of(text, file).constant_body(first, text.count("\n")) is not None


@pytest.mark.parametrize(("file", "text"), CONSTANT)
def test_a_body_that_gives_a_literal_or_what_it_was_given_is_constant(file: str, text: str) -> None:
    assert gives_constant(file, text)


@pytest.mark.parametrize(("file", "text"), UNCHANGED)
def test_a_body_that_gives_back_what_it_took_or_looks_something_up_is_no_empty_one_and_told(
    file: str, text: str
) -> None:
    assert judge_of(text, file).constant_body(1, text.count("\n")) is not None
    assert not is_empty(text, file, 1, text.count("\n"))


@pytest.mark.parametrize(("file", "text"), WORK)
def test_a_body_that_names_or_does_anything_is_not(file: str, text: str) -> None:
    assert not gives_constant(file, text)


def test_a_file_without_a_grammar_has_none() -> None:
    assert judge_of("sub f { return 1; }\n", "a.unknown").constant_body(1, 1) is None


@pytest.mark.parametrize(("said", "constant"), [("return 1", True), ("'a';", True), ("[]", False), ("x", False)])
def test_a_line_is_constant_by_its_text(said: str, constant: bool) -> None:
    assert is_constant(said) is constant


def test_an_attribute_that_is_assigned_to_itself_does_nothing() -> None:
    assert is_empty("class A:\n    def f(self, x):\n        self.x = self.x\n", "a.py", 1, 3)
    assert not is_empty("class A:\n    def f(self, x):\n        self.x = x\n", "a.py", 1, 3)


@pytest.mark.parametrize("values", ["1234567890" * 40, "1.25, -3e5, " * 400, "'a', " * 900, "((" * 900, "- + " * 900])
@pytest.mark.parametrize("text", ["def f(x):\n    return [{}, x.y]\n", "def f(x):\n    y = [{}, g()]\n    return y\n"])
def test_long_values_are_judged_at_once(text: str, values: str) -> None:
    began = time.process_time()
    assert not gives_constant("a.py", text.format(values))
    assert time.process_time() - began < 2
