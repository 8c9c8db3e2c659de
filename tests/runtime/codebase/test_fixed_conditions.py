"""Code that never runs does nothing: under a fixed condition, for nothing, or behind a failure that is caught."""

from __future__ import annotations

import time

import pytest

from runtime.codebase.parsing.bodies.empty_bodies import is_empty
from runtime.codebase.parsing.bodies.fixed_conditions import MAX_CHARS, holds


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("1 > 2", False),
        ("2 >= 2", True),
        ("1 <= 0", False),
        ("!true", False),
        ("not (a and False)", True),
        ("a && false", False),
        ("False and load(a)", False),
        ("load(a) and False", None),
        ("a or True", True),
        ("load(a) or True", None),
        ("'a' == 'b'", False),
        ("'and' == a", None),
        ("1 == '1'", None),
        ("(a) && (1 > 2)", False),
        ("a[0] && false", False),
        ("a", None),
        ("a > 2", None),
        ("a + 1 > 2", None),
        ("1 < 2 < a", None),
        ("1 if a else 0", None),
        ("a ? 1 : 0", None),
        ("defined(X) && 0", None),
        ("0 && defined(X)", False),
        ("None is not None", False),
        ("a is a", True),
        ("a is  not a", False),
        ("a.b is a.b", None),
        ("a != a", None),
        ("1 is 1", None),
        ("None < None", None),
        ("null === null", True),
        ("null === undefined", None),
        ("len([]) > 0", False),
        ("len( () )", False),
        ("len(a) > 0", None),
        ("bool()", False),
        ("not", None),
        ("(a", None),
        ("", None),
    ],
)
def test_a_condition_is_fixed_where_nothing_that_comes_in_decides_it(condition: str, expected: bool | None) -> None:
    assert holds(condition) is expected


@pytest.mark.parametrize("text", ["(" * 5_000, "!" * 5_000 + "1", "(" * 149 + ")" * 149, "a && " * 59 + "0"])
def test_conditions_made_to_be_slow_or_deep_are_read_at_once(text: str) -> None:
    began = time.process_time()
    holds(text)
    assert time.process_time() - began < 0.5


def test_a_condition_is_read_up_to_its_greatest_length() -> None:
    assert holds("1 > 2".ljust(MAX_CHARS)) is False
    assert holds("1 > 2".ljust(MAX_CHARS + 1)) is None


AROUND = {
    "a.py": "def f(a, b):\n{}\n",
    "a.ts": "function f(a: T) {{\n{}\n}}\n",
    "a.go": "package a\n\nfunc F(a int, c chan int) {{\n{}\n}}\n",
    "A.java": "class A {{ void f(Object a) {{\n{}\n}} }}\n",
    "a.rs": "fn f(a: i32) {{\n{}\n}}\n",
    "a.c": "void f(int a)\n{{\n{}\n}}\n",
    "a.cpp": "void f(int a)\n{{\n{}\n}}\n",
    "A.cs": "class A {{ void F(object a) {{\n{}\n}} }}\n",
    "a.kt": "fun f(a: Int) {{\n{}\n}}\n",
    "a.rb": "def f(a)\n{}\nend\n",
    "a.php": "<?php\nfunction f($a) {{\n{}\n}}\n",
}
IDLE = [
    ("a.py", "    if 1 > 2:\n        g(a)"),
    ("a.py", "    if not True:\n        g(a)"),
    ("a.py", "    if a and False:\n        g(a)"),
    ("a.py", "    if []:\n        g(a)"),
    ("a.py", "    if TYPE_CHECKING:\n        g(a)"),
    ("a.py", "    while 1 > 2:\n        g(a)"),
    ("a.py", "    for x in set():\n        g(x)"),
    ("a.py", "    for x in range(3, 3):\n        g(x)"),
    ("a.py", "    for x in a[:0]:\n        g(x)"),
    ("a.py", "    try:\n        raise KeyError\n    except KeyError:\n        pass"),
    ("a.py", "    assert False, 'later'"),
    ("a.ts", "if (!true) { g(a); }"),
    ("a.ts", "for (let i = 0; i < 0; i++) { g(i); }"),
    ("a.ts", "try { throw new Error('x'); } catch (e) { }"),
    ("a.ts", "return Object();"),
    ("a.go", "if 1 > 2 {\ng(a)\n}"),
    ("a.go", "for i := 0; i < 0; i++ {\ng(i)\n}"),
    ("a.go", "for _, x := range []int{} {\ng(x)\n}"),
    ("a.go", "for range a {\n}"),
    ("A.java", "if (a != null && false) { g(a); }"),
    ("A.java", "for (Object x : List.of()) { g(x); }"),
    ("A.java", "for (Object x : new Object[0]) { g(x); }"),
    ("a.rs", "if !true { g(a); }"),
    ("a.rs", "for x in Vec::<i32>::new() { g(x); }"),
    ("a.rs", "assert_eq!(1, 1);"),
    ("a.c", "if (0 && a) g(a);"),
    ("a.c", "#if 1 > 2\ng(a);\n#endif"),
    ("a.c", "#if 0 && X\ng(a);\n#endif"),
    ("a.c", "for (int i = 0; i < 0; i++) g(i);"),
    ("a.cpp", "for (int x : std::vector<int>{}) g(x);"),
    ("a.cpp", "try { throw 1; } catch (...) { }"),
    ("A.cs", "foreach (var x in new int[0]) { G(x); }"),
    ("a.kt", "if (!true) { g(a) }"),
    ("a.kt", "check(true)"),
    ("a.rb", "if 1 > 2\n  g(a)\nend\nnil"),
    ("a.rb", "Thread.pass\nnil"),
    ("a.php", "if (!true) { g($a); }"),
]
ACTIVE = [
    ("a.py", "    if a > 2:\n        g(a)"),
    ("a.py", "    if g(a) and False:\n        h(a)"),
    ("a.py", "    for x in range(3, 4):\n        g(x)"),
    ("a.py", "    try:\n        raise KeyError(g(a))\n    except KeyError:\n        pass"),
    ("a.py", "    try:\n        raise KeyError\n    except KeyError:\n        g(a)"),
    ("a.py", "    assert a, 'later'"),
    ("a.ts", "for (let i = 0; i < 1; i++) { g(i); }"),
    ("a.ts", "while (true) { g(a); }"),
    ("a.go", "for range c {\n}"),
    ("a.go", "for x := range c {\n_ = x\n}"),
    ("a.go", "for i := 0; i < n(); i++ {\ng(i)\n}"),
    ("A.java", "for (Object x : List.of(a)) { g(x); }"),
    ("A.java", "for (Object x : new Object[1]) { g(x); }"),
    ("a.c", "#if 2 > 1\ng(a);\n#endif"),
    ("a.c", "#if X\ng(a);\n#endif"),
    ("a.c", "for (int i = 0; i <= 0; i++) g(i);"),
    ("a.rs", "assert_eq!(a, 1);"),
    ("a.kt", "check(a > 0)"),
]


@pytest.mark.parametrize(("path", "body"), IDLE)
def test_what_never_runs_does_nothing(path: str, body: str) -> None:
    text = AROUND[path].format(body)
    assert is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(("path", "body"), ACTIVE)
def test_what_may_run_does_something(path: str, body: str) -> None:
    text = AROUND[path].format(body)
    assert not is_empty(text, path, 1, text.count("\n"))


def test_imports_for_types_at_the_top_of_a_file_are_there_for_who_checks_them() -> None:
    assert not is_empty("if TYPE_CHECKING:\n    import net\n", "a.py", 1, 2)
