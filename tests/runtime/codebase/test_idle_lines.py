"""A statement that only computes, for nothing that is read, is no work within a function that does some."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import ALL_LINES, ChangedLines
from actors.capabilities.code_change.evidence.checklist_evidence import refutation
from runtime.codebase.git.work_trees import Change
from runtime.codebase.parsing.bodies.empty_bodies import is_empty

AROUND = {
    "a.py": ("def f(url):\n    {}\n    return net.fetch(url)\n", 2),
    "a.ts": ("function f(url: string) {{\n  {}\n  return net.fetch(url);\n}}\n", 2),
    "a.go": ("package a\n\nfunc F(url string) T {{\n\t{}\n\treturn net.Fetch(url)\n}}\n", 4),
    "A.java": ("class A {{ T f(String url) {{\n  {}\n  return net.fetch(url);\n}} }}\n", 2),
    "a.rs": ("fn f(url: &str) -> T {{\n    {}\n    net::fetch(url)\n}}\n", 2),
    "a.rb": ("def f(url)\n  {}\n  net.fetch(url)\nend\n", 2),
    "a.c": ("int f(char *url)\n{{\n    {}\n    return fetch(url);\n}}\n", 3),
    "A.cs": ("class A {{ T F(string url) {{\n  {}\n  return net.Fetch(url);\n}} }}\n", 2),
    "a.php": ("<?php\nfunction f($url) {{\n  {}\n  return fetch($url);\n}}\n", 3),
}
IDLE = [
    *[("a.py", said) for said in ("str(url)", "x = 1", "x = len(url)", "url", "url == url", "_ = url", "url = url")],
    *[("a.ts", said) for said in ("String(url);", "const x = 1;", "url;", "void 0;", "url = url;", "Math.max(1, 2);")],
    *[("a.go", said) for said in ("_ = url", "_ = len(url)", "_ = fmt.Sprint(url)")],
    *[("A.java", said) for said in ("url.toString();", "int x = 1;", "String.valueOf(url);", "url = url;")],
    *[("a.rs", said) for said in ("let _ = url;", "let x = 1;", "url.to_string();")],
    *[("a.rb", said) for said in ("url", "url.to_s", "url = url")],
    *[("a.c", said) for said in ("(void)url;", "int x = 1;", "strlen(url);", "url;")],
    *[("A.cs", said) for said in ("_ = url;", "url.ToString();")],
    *[("a.php", said) for said in ("$url;", "$url = $url;", "strval($url);")],
]
ACTIVE = [
    ("a.py", "url.open"),
    ("a.py", "url[0]"),
    ("a.py", "int(url)"),
    ("a.py", "url.closed = True"),
    ("a.py", "url = url.strip()"),
    ("a.py", "global kept; kept = 1"),
    ("a.py", "await url"),
    ("a.py", "yield"),
    ("a.ts", "url.open;"),
    ("a.ts", "let x = open(url);"),
    ("a.ts", "url = url.trim();"),
    ("a.ts", "delete url.x;"),
    ("a.go", "_ = url.Close()"),
    ("a.go", "count++"),
    ("A.java", "this.url = url;"),
    ("A.java", "Object x = open(url);"),
    ("a.rs", "let _guard = lock();"),
    ("a.rs", "let url = url.trim();"),
    ("a.rs", "drop(url);"),
    ("a.rb", "reload"),
    ("a.rb", "@url = url"),
    ("a.c", "TRACE;"),
    ("a.c", "Timer x = 1;"),
    ("a.c", "count = 1;"),
    ("a.php", "$this->url = $url;"),
]


def judged(path: str, said: str) -> bool:
    text, line = AROUND[path]
    return is_empty(text.format(said), path, line, line)


@pytest.mark.parametrize(("path", "said"), IDLE)
def test_a_statement_without_an_effect_is_no_work(path: str, said: str) -> None:
    assert judged(path, said)


@pytest.mark.parametrize(("path", "said"), ACTIVE)
def test_a_statement_that_may_have_one_is(path: str, said: str) -> None:
    assert not judged(path, said)


@pytest.mark.parametrize(("path", "said"), IDLE)
def test_the_function_around_it_still_does_something(path: str, said: str) -> None:
    text = AROUND[path][0].format(said)
    assert not is_empty(text, path, 1, text.count("\n"))


def test_a_variable_that_is_read_further_down_is_work() -> None:
    assert not is_empty("function f(url) {\n  const x = 1;\n  return g(x);\n}\n", "a.js", 2, 2)
    assert not is_empty("def f(url):\n    x = 1\n    return g(x)\n", "a.py", 2, 2)


def test_a_function_that_a_variable_holds_and_that_is_called_is_work() -> None:
    text = "function f(url) {\n  const load = () => {\n    return g(url);\n  };\n  return load();\n}\n"
    assert not is_empty(text, "a.js", 2, 4)
    assert is_empty(text.replace("load()", "h(url)"), "a.js", 2, 4)


def test_what_may_fail_in_a_try_or_a_test_is_asked_for_that() -> None:
    assert not is_empty("def f(x):\n    try:\n        len(x)\n    except TypeError:\n        g(x)\n", "a.py", 3, 3)
    assert not is_empty("def test_f(x):\n    str(x)\n    assert f(x)\n", "test_a.py", 2, 2)


@pytest.mark.parametrize(("file", "said"), [("a.c", "(void)url;"), ("a.go", "_ = url"), ("a.rs", "let _ = url;")])
def test_a_value_that_is_dropped_proves_an_item_that_speaks_of_what_is_unused(
    tmp_path: Path, file: str, said: str
) -> None:
    text, line = AROUND[file]
    (tmp_path / file).write_text(text.format(said))
    changed = ChangedLines((Change(file, "added"),), {file: ALL_LINES}, {}, frozenset())
    assert refutation(f"{file}:{line}", tmp_path, changed, "silence the warning of an unused parameter") is None
    assert "implement nothing" in str(refutation(f"{file}:{line}", tmp_path, changed, "retry loop"))
