"""Forms of «not implemented», parameters handed on, and code that is never compiled do nothing, by their syntax."""

from __future__ import annotations

import time

import pytest

from runtime.codebase.parsing.bodies.empty_bodies import is_empty, judge_of
from runtime.codebase.parsing.bodies.empty_statements import says_nothing

EMPTY = [
    ("a.kt", "fun f(x: Int): Int {\n    throw NotImplementedError()\n}\n"),
    ("a.kt", "fun f(x: Int): Int = kotlin.TODO()\n"),
    ("a.kt", 'fun f(x: Int): Int = kotlin.TODO("later")\n'),
    ("a.kt", "fun f(x: Int): Int {\n    val y = x\n    return y\n}\n"),
    ("a.rs", "fn f(x: i32) -> i32 {\n    core::todo!()\n}\n"),
    ("a.rs", "fn f(x: i32) -> i32 {\n    std::unimplemented!()\n}\n"),
    ("a.rs", 'fn f(x: i32) -> i32 {\n    panic!("{}", "later")\n}\n'),
    ("a.rs", "fn f(x: i32) -> Result<i32, ()> {\n    Ok(x)\n}\n"),
    ("a.rs", "fn f(x: i32) -> Result<i32, ()> {\n    Ok(0)\n}\n"),
    ("a.rs", "fn f(x: i32) -> Result<i32, ()> {\n    Err(())\n}\n"),
    ("a.rs", "fn f(x: i32) -> i32 {\n    let y = x;\n    y\n}\n"),
    ("a.rs", "fn f(x: i32) -> Option<i32> {\n    Some(x)\n}\n"),
    (
        "a.c",
        'PyObject *f(PyObject *x) {\n    PyErr_SetString(PyExc_NotImplementedError, "later");\n    return NULL;\n}\n',
    ),
    ("a.c", 'int f(int x) {\n    assert(!"todo");\n}\n'),
    ("a.c", 'int f(int x) {\n    assert(0 && "todo");\n    return 0;\n}\n'),
    ("a.c", "int f(int x) {\n    __builtin_unreachable();\n}\n"),
    ("a.c", "int f(int x) {\n    int y = x;\n    return y;\n}\n"),
    ("a.c", "int f(int x) {\n#if 0\n    g(x);\n#endif\n    return 0;\n}\n"),
    ("a.cpp", "int f(int x) {\n    auto y = x;\n    return y;\n}\n"),
    ("a.cpp", "int f(int x) {\n    std::unreachable();\n}\n"),
    ("a.ts", "function f(x: string): string {\n    return undefined!;\n}\n"),
    ("a.ts", "function f(x: string): string {\n    return null!;\n}\n"),
    ("a.ts", 'function f(x: string): string {\n    throw "todo";\n}\n'),
    ("a.ts", "function f(x: string): number {\n    return x as any;\n}\n"),
    ("a.ts", "function f(x: string): string {\n    const y = x;\n    return y;\n}\n"),
    ("a.js", "function f(x) {\n    let y = x;\n    return y;\n}\n"),
    ("a.cs", "class A {\n    string F(string x) {\n        return default!;\n    }\n}\n"),
    ("a.cs", "class A {\n    string F(string x) => default!;\n}\n"),
    ("a.cs", "class A {\n    string F(string x) {\n        return null!;\n    }\n}\n"),
    ("a.cs", "class A {\n    string F(string x) {\n        throw null;\n    }\n}\n"),
    ("a.cs", "class A {\n    string F(string x) {\n        var y = x;\n        return y;\n    }\n}\n"),
    ("a.py", "def f(x):\n    return ...\n"),
    ("a.py", "def f(x):\n    raise AssertionError\n"),
    ("a.py", "def f(x):\n    y = (x)\n    return y\n"),
    ("a.py", "def f(x):\n    return typing.cast(bytes, x)\n"),
    ("a.py", "def f(x):\n    if isinstance(x, bytes):\n        return x\n    return x\n"),
    ("a.py", "def f(x):\n    raise AssertionError()\n"),
    ("a.py", "def f(x):\n    y = x\n    return y\n"),
    ("a.py", "def f(x):\n    y = x\n    z = y\n    return z\n"),
    ("a.go", "package a\n\nfunc f(x int) (int, error) {\n\treturn x, nil\n}\n"),
    ("a.go", "package a\n\nfunc f(x int) int {\n\tpanic(nil)\n}\n"),
    ("a.go", "package a\n\nfunc f(x int) int {\n\ty := x\n\treturn y\n}\n"),
    ("a.java", "class A {\n    int f(int x) {\n        int y = x;\n        return y;\n    }\n}\n"),
    ("a.java", "class A {\n    int f(int x) {\n        throw null;\n    }\n}\n"),
    ("a.php", "<?php\nfunction f($x) {\n    $y = $x;\n    return $y;\n}\n"),
    ("a.rb", "def f(x)\n  y = x\n  y\nend\n"),
    ("a.rb", "def f(x)\n  y = x\n  return y\nend\n"),
    ("a.scala", "def f(x: Int): Int = throw new NotImplementedError()\n"),
]
REAL = [
    ("a.py", "def f(x):\n    y = x + 1\n    return y\n"),
    ("a.py", "def f(x):\n    y = x\n    y.append(1)\n    return y\n"),
    ("a.py", "def f(x, n):\n    y = x\n    if n:\n        y = 2\n    return y\n"),
    ("a.py", "def f(x):\n    y = g(x)\n    return y\n"),
    ("a.py", "def f(x):\n    y = x.name\n    return y\n"),
    ("a.py", "def f(x):\n    return typing.cast(bytes, x.body)\n"),
    ("a.py", "def f(x):\n    if isinstance(x, bytes):\n        return x.decode()\n    return x\n"),
    ("a.py", "def f(x):\n    if isinstance(x, bytes):\n        return None\n    return x\n"),
    ("a.py", "def f(x):\n    return isinstance(x, bytes)\n"),
    ("a.py", "def f(x):\n    y = x\n    for z in y:\n        y = z\n    return y\n"),
    ("a.py", "def f(x):\n    global y\n    y = x\n    return y\n"),
    ("a.py", "def f(x):\n    raise AssertionError(f'{x} is wrong')\n"),
    ("a.py", "def f(x):\n    if not x:\n        raise AssertionError\n    return g(x)\n"),
    ("a.py", "def f(self):\n    y = self\n    return y\n"),
    ("a.go", "package a\n\nfunc f(x int) (int, error) {\n\treturn x + 1, nil\n}\n"),
    (
        "a.go",
        "package a\n\nfunc f(x int) (int, error) {\n\tif x > 3 {\n\t\treturn x, nil\n\t}\n\treturn 0, errSmall\n}\n",
    ),
    ("a.rs", "fn f(x: i32) -> Result<i32, ()> {\n    Ok(x + 1)\n}\n"),
    ("a.rs", "fn f(x: i32) -> Result<i32, E> {\n    Err(E::Small(x))\n}\n"),
    ("a.rs", "fn f(x: i32) -> i32 {\n    let y = x.abs();\n    y\n}\n"),
    ("a.rs", "fn f(x: i32) -> Result<i32, E> {\n    if x > 3 {\n        return Ok(x);\n    }\n    Err(E::Small)\n}\n"),
    ("a.ts", "function f(x: string): number {\n    return parse(x) as any;\n}\n"),
    ("a.ts", "function f(x: string): string {\n    throw new ParseError(x);\n}\n"),
    ("a.kt", "fun f(x: Int): Int {\n    val y = x * 2\n    return y\n}\n"),
    ("a.c", "int f(int x) {\n    int y = x * 2;\n    return y;\n}\n"),
    ("a.c", "int f(int x) {\n    assert(x > 0);\n    return x;\n}\n"),
    ("a.c", 'PyObject *f(PyObject *x) {\n    PyErr_SetString(PyExc_ValueError, "too long");\n    return NULL;\n}\n'),
    ("a.c", "int f(int *x) {\n    int *y = x;\n    *y = 3;\n    return 0;\n}\n"),
    ("a.c", "int f(int x) {\n#if 1\n    return g(x);\n#endif\n}\n"),
    ("a.c", "int f(int x) {\n#if DEBUG\n    log_it(x);\n#endif\n    return 0;\n}\n"),
    ("a.java", "class A {\n    int f(int x) {\n        int y = x;\n        y += 2;\n        return y;\n    }\n}\n"),
    ("a.php", "<?php\nfunction f($x) {\n    $y = trim($x);\n    return $y;\n}\n"),
    ("a.rb", "def f(x)\n  y = x.strip\n  y\nend\n"),
    ("a.cs", "class A {\n    string F(string x) {\n        return x!.Trim();\n    }\n}\n"),
]


@pytest.mark.parametrize(("path", "text"), EMPTY)
def test_a_body_that_only_says_that_it_is_unwritten_is_empty_and_one_that_hands_on_what_it_got_is_told(
    path: str, text: str
) -> None:
    lines = 1, text.count("\n")
    assert is_empty(text, path, *lines) or judge_of(text, path).constant_body(*lines) is not None


@pytest.mark.parametrize(("path", "text"), REAL)
def test_a_body_that_computes_decides_or_fails_for_a_reason_is_not_empty(path: str, text: str) -> None:
    assert not is_empty(text, path, 1, text.count("\n"))


HANDLED = "def f(x):\n    try:\n        return g(x)\n    except (OSError, KeyError):\n        {}\n"
CAUGHT = (
    "class A {{\n    int f(int x) {{\n        try {{\n            return g(x);\n        }} catch (A | B e) {{\n"
    "            {}\n        }}\n    }}\n}}\n"
)


@pytest.mark.parametrize(
    ("path", "text", "line", "is_nothing"),
    [
        ("a.py", HANDLED.format("return h(x)"), 4, False),
        ("a.py", HANDLED.format("pass"), 4, True),
        ("a.py", HANDLED.replace(" (OSError, KeyError)", "").format("return h(x)"), 4, True),
        ("a.java", CAUGHT.format("return h(x);"), 5, False),
        ("a.java", CAUGHT.format(""), 5, True),
    ],
)
def test_what_a_handler_that_does_something_is_for_is_decided_in_its_head(
    path: str, text: str, line: int, is_nothing: bool
) -> None:
    assert is_empty(text, path, line, line) == is_nothing


@pytest.mark.parametrize(("first", "last", "is_nothing"), [(2, 4, True), (3, 3, True), (2, 5, False)])
def test_code_that_is_never_compiled_is_no_evidence_and_its_alternative_is(
    first: int, last: int, is_nothing: bool
) -> None:
    text = "int f(int x) {\n#if 0\n    g(x);\n#endif\n    return h(x);\n}\n"
    assert is_empty(text, "a.c", first, last) == is_nothing
    other = text.replace("#endif", "#else\n    h(x);\n#endif")
    assert not is_empty(other, "a.c", 2, 6)


# What hides that nothing is written: imports, continued lines, a byte order mark.
HIDDEN = [
    ("a.py", "def f(x):\n    from typing import Any\n    raise NotImplementedError\n"),
    ("a.py", "def f(x):\n    import os\n    return None\n"),
    ("a.py", "def f(x):\n    import os\n    pass\n"),
    (
        "a.py",
        'def f(x):\n    """Compute it."""\n    import os, sys\n'
        "    from a.b import (\n        c,\n        d as e,\n    )\n"
        "    ...\n",
    ),
    ("a.py", 'def f(x):\n    import logging\n    logging.info("f was called")\n'),
    ("a.py", 'def f(x):\n    import warnings\n    warnings.warn("todo")\n'),
    ("a.py", 'def f(x):\n    from a import log\n    logger.info("f was called")\n    return None\n'),
    ("a.py", "def f(x):\n    import os\n    if x:\n        pass\n"),
    ("a.py", "def f(x):\n    import time\n    time.sleep(0)\n"),
    ("a.rb", 'def f(x)\n  require "json"\n  nil\nend\n'),
    ("a.rb", "def f(x)\n  require_relative 'a'\n  raise NotImplementedError\nend\n"),
    ("a.rs", "fn f(x: i32) -> i32 {\n    use std::fmt::{self, Write};\n    todo!()\n}\n"),
    ("a.rs", "fn f(x: i32) {\n    use std::fmt::Write;\n}\n"),
    ("a.js", 'function f(x) {\n  const fs = require("fs");\n}\n'),
    ("a.js", 'function f(x) {\n  const { join } = require("path");\n  return null;\n}\n'),
    ("a.ts", 'function f(x: any) {\n  const fs = require("fs");\n  throw new Error("not implemented");\n}\n'),
    ("a.py", "def f(x):\n    return \\\n        None\n"),
    ("a.py", "def f(x):\n    if x: \\\n        pass\n"),
    ("a.py", "def f(x):\n    raise \\\n        NotImplementedError\n"),
    ("a.py", "def f(x):\n    while \\\n        False: x.go()\n"),
    ("a.py", "\ufeffdef f(x):\n    pass\n"),
    ("a.py", "\ufeffdef f(x):\n    raise NotImplementedError\n"),
    ("a.ts", "\ufeffexport function f(x: any) {\n}\n"),
    ("a.ts", '\ufefffunction f(x: any) {\n  throw new Error("not implemented");\n}\n'),
    ("a.js", "\ufeffconst f = (x) => {\n};\n"),
    ("a.swift", "\ufefffunc f(x: Int) {\n}\n"),
    ("a.py", 'def f(x):\n    raise NotImplementedError(f"f of {x} is not implemented")\n'),
    ("a.py", 'def f(x):\n    raise NotImplementedError("f of {}; later".format(x))\n'),
    ("a.py", "def f(x):\n    E = NotImplementedError\n    raise E\n"),
    ("a.py", 'def f(x):\n    e = NotImplementedError(f"f of {x}")\n    raise e from None\n'),
    ("a.py", 'def f(x):\n    message = f"f of {x}"\n    raise NotImplementedError(message)\n'),
    ("a.py", 'def f(x):\n    raise RuntimeError(f"TODO {x}")\n'),
    ("a.py", 'def f(x):\n    raise Exception(f"{x} is not yet implemented")\n'),
    ("a.rs", 'fn f(x: i32) -> i32 {\n    todo!("f of {x}")\n}\n'),
    ("a.rs", 'fn f(x: i32) -> i32 {\n    unimplemented!("f of {}; later", x)\n}\n'),
    ("a.rs", 'fn f(x: i32) -> i32 {\n    panic!("{x} is not implemented")\n}\n'),
    ("a.ts", "function f(x: any) {\n  throw new Error(`f of ${x} is not implemented`);\n}\n"),
    ("a.ts", "function f(x: any) {\n  const e = new Error(`${x}: not implemented`);\n  throw e;\n}\n"),
    ("a.rb", 'def f(x)\n  raise NotImplementedError, "#{self.class} has no f"\nend\n'),
    ("a.rb", 'def f(x)\n  raise "#{x} is not implemented"\nend\n'),
    ("a.go", 'package a\n\nfunc f(x int) (int, error) {\n\treturn 0, fmt.Errorf("f of %d: not implemented", x)\n}\n'),
    ("a.go", 'package a\n\nfunc f(x int) (T, error) {\n\treturn T{}, errors.New("f is not implemented")\n}\n'),
    ("a.go", 'package a\n\nfunc f(x int) (int, error) {\n\treturn x, fmt.Errorf("todo: %d", x)\n}\n'),
    ("a.go", 'package a\n\nfunc f(x int) error {\n\terr := errors.New("not implemented")\n\treturn err\n}\n'),
    ("a.go", 'package a\n\nfunc f(x int) int {\n\tpanic(fmt.Sprintf("f of %d: not implemented", x))\n}\n'),
    ("a.scala", "object A { def f = ??? }\n"),
    ("a.scala", "object A {\n  def f(x: Int): Int = ???\n}\n"),
    ("a.pl", 'sub f { die "not implemented"; }\n'),
    ("a.pl", 'sub f { my ($x) = @_; die "$x is not implemented" }\n'),
    ("a.pl", 'sub f { require A; die "todo"; }\n'),
    ("a.R", 'f <- function(x) { stop("not implemented") }\n'),
    ("a.ps1", 'function F { throw "not implemented" }\n'),
    ("a.zig", 'fn f() void { @panic("todo"); }\n'),
    ("a.swift", 'class A { func f() { fatalError("f") } }\n'),
    ("a.lua", 'function f(x) error("not implemented") end\n'),
    ("a.lua", 'function f(x) local y = require("y") return nil end\n'),
    ("a.groovy", "class A { int f(int x) { throw new UnsupportedOperationException() } }\n"),
    ("a.dart", "class A { int f(int x) => throw UnimplementedError(); }\n"),
    ("a.dart", "class A { int f(int x) { throw UnimplementedError(); } }\n"),
    ("a.py", "def f(x:\n    pass\n"),
    ("a.py", "def f(x)\n    raise NotImplementedError\n"),
    ("a.ts", "function f(x: {\n}\n"),
    ("a.js", "function f(x {\n  return null;\n}\n"),
    ("a.go", 'package a\n\nfunc f(x int {\n\tpanic("todo")\n}\n'),
    ("a.py", "def f(x):\n    (y := x)\n"),
    ("a.py", "def f(x):\n    ((y := x + 1))\n"),
    ("a.py", "def f(x):\n    a, b = x, x\n"),
    ("a.py", "def f(x):\n    (a, b) = x, 1\n    return None\n"),
    ("a.py", "def f(x):\n    x += 0\n"),
    ("a.py", "def f(x):\n    x *= 1\n    return None\n"),
    ("a.py", "def f(x):\n    if True:\n        return None\n    x.go()\n"),
    ("a.py", "def f(x):\n    if None is not None:\n        x.go()\n"),
    ("a.py", "def f(x):\n    if x is not x:\n        x.go()\n"),
    ("a.py", "def f(x):\n    if len([]) > 0:\n        x.go()\n"),
    ("a.py", "def f(x):\n    if bool():\n        x.go()\n"),
    ("a.py", "def f(x):\n    return False and x.go()\n"),
    ("a.py", "def f(x):\n    False and x.go()\n"),
    ("a.py", "def f(x):\n    True or x.go()\n"),
    ("a.py", "def f(x):\n    [x.go() for _ in ()]\n"),
    ("a.py", "def f(x):\n    return [x.go(y) for y in []]\n"),
    ("a.py", "def f(x):\n    return x.go() if False else None\n"),
    ("a.py", "def f(x):\n    return None or None\n"),
    ("a.js", "function f(x) {\n  if (true) { return null; }\n  x.go();\n}\n"),
    ("a.js", "function f(x) {\n  if (null !== null) { x.go(); }\n}\n"),
    ("a.js", "function f(x) {\n  return false && x.go();\n}\n"),
    ("a.js", "function f(x) {\n  if ([].length > 0) { x.go(); }\n}\n"),
    ("a.js", "function f(x) {\n  return false ? x.go() : null;\n}\n"),
    ("a.go", "package a\n\nfunc f(x T) {\n\tif true {\n\t\treturn\n\t}\n\tx.Go()\n}\n"),
]
BESIDE = [
    ("a.py", "def f(x):\n    import a.signals\n"),
    ("a.py", 'def f(x):\n    """Register the handlers."""\n    from . import signals  # noqa\n'),
    ("a.py", "def f(x):\n    import os\n    os.remove(x)\n"),
    ("a.py", "def f(x):\n    from a import g\n    return g(x)\n"),
    ("a.py", "def f(x):\n    import json\n    return json.dumps(x)\n"),
    ("a.py", 'def f(x):\n    from a import g\n    logging.info("f was called")\n    g(x)\n'),
    ("a.py", "def f(x):\n    try:\n        import a\n    except ImportError:\n        return False\n    return True\n"),
    ("a.py", "def f(x):\n    if x:\n        import a\n    return None\n"),
    ("a.rb", 'def f(x)\n  require "json"\nend\n'),
    ("a.rb", 'def f(x)\n  require "json"\n  JSON.parse(x)\nend\n'),
    ("a.rs", "fn f(x: i32) -> i32 {\n    use std::cmp::max;\n    max(x, 3)\n}\n"),
    ("a.js", 'function f(x) {\n  require("./register");\n}\n'),
    ("a.js", 'function f(x) {\n  const fs = require("fs");\n  return fs.readFileSync(x);\n}\n'),
    ("a.py", "def f(x):\n    return \\\n        x + 1\n"),
    ("a.py", "def f(x):\n    if x: \\\n        x.go()\n"),
    ("a.py", "\ufeffdef f(x):\n    return x + 1\n"),
    ("a.ts", "\ufeffexport function f(x: any) {\n  g(x);\n}\n"),
    ("a.py", 'def f(x):\n    raise ValueError(f"{x} is no number")\n'),
    ("a.py", "def f(x):\n    E = TypeError if x else ValueError\n    raise E(x)\n"),
    (
        "a.py",
        'def f(x):\n    if x < 0:\n        raise NotImplementedError(f"{x} is not implemented")\n    return x + 1\n',
    ),
    ("a.py", 'def f(x):\n    print(f"{x}; {x.name}")\n'),
    ("a.py", 'def f(x):\n    return f"{x} is not implemented"\n'),
    ("a.rs", 'fn f(x: i32) -> i32 {\n    panic!("{x} is too large")\n}\n'),
    ("a.ts", "function f(x: any) {\n  throw new Error(`${x} is no number`);\n}\n"),
    ("a.ts", "function f(x: any) {\n  return `{${x}}; ${x}`;\n}\n"),
    ("a.rb", 'def f(x)\n  raise ArgumentError, "#{x} is no number"\nend\n'),
    ("a.go", 'package a\n\nfunc f(x int) (int, error) {\n\treturn 0, fmt.Errorf("%d is too large", x)\n}\n'),
    (
        "a.go",
        "package a\n\nfunc f(x int) (int, error) {\n\tif x > 3 {\n"
        '\t\treturn 0, fmt.Errorf("%d: not implemented", x)\n\t}\n\treturn g(x), nil\n}\n',
    ),
    ("a.go", 'package a\n\nfunc f(x int) (int, error) {\n\treturn g(x), errors.New("not implemented")\n}\n'),
    ("a.go", 'package a\n\nfunc f(x int) int {\n\tpanic(fmt.Sprintf("%d is too large", x))\n}\n'),
    ("a.scala", "class A { def f(x: Int) = x + 1 }\n"),
    ("a.scala", "case class A(x: Int) { def f(y: Int) = g(y) }\n"),
    ("a.scala", "class A(x: Int)\n"),
    ("a.pl", "sub f { my ($x) = @_; return $x + 1; }\n"),
    ("a.pl", "sub f { require A; }\n"),
    ("a.pl", 'sub f { my ($x) = @_; die "todo" if $x; g($x); }\n'),
    ("a.pl", "sub f { print \"a;die 'todo'\"; g(); }\n"),
    ("a.R", 'f <- function(x) { stop("x is no number") }\n'),
    ("a.lua", 'function f(x) error("x is no number") end\n'),
    ("a.lua", 'function f(x) local y = require("y") return y.go(x) end\n'),
    ("a.swift", "class A { func f() { g() } }\n"),
    ("a.dart", "class A { int f(int x) => x + 1; }\n"),
    ("a.groovy", "class A { int f(int x) { return x + 1 } }\n"),
    ("a.py", "def f(x:\n    return x + 1\n"),
    ("a.py", 'def f(x):\n    print "a", x\n'),
    ("a.js", "function f(x {\n  return g(x);\n}\n"),
    ("a.py", "def f(x):\n    (y := g(x))\n"),
    ("a.py", "def f(x):\n    (y := x)\n    return y + 1\n"),
    ("a.py", "def f(x):\n    a, b = x, x\n    return g(a, b)\n"),
    ("a.py", "def f(x):\n    a, x.b = x, x\n"),
    ("a.py", "def f(x):\n    x += 1\n"),
    ("a.py", "def f(x):\n    x += [0]\n"),
    ("a.py", "def f(x):\n    a, b = b, a = g(x)\n"),
    ("a.py", "def f(x):\n    global a, b\n    a, b = x, x\n"),
    ("a.py", "def f(x):\n    a, b = x\n    return b, a\n"),
    ("a.py", "def f(x):\n    a, b = x\n"),
    ("a.py", "def f(x):\n    if x:\n        return None\n    x.go()\n"),
    ("a.py", "def f(x):\n    if x is not None:\n        x.go()\n"),
    ("a.py", "def f(x):\n    if x != x:\n        x.go()\n"),
    ("a.py", "def f(x):\n    if x is not y:\n        x.go()\n"),
    ("a.py", "def f(x):\n    if len(x) > 0:\n        x.go()\n"),
    ("a.py", "def f(x):\n    if True:\n        x.go()\n    return None\n"),
    ("a.py", "def f(x):\n    return x and x.go()\n"),
    ("a.py", "def f(x):\n    x or g(x)\n"),
    ("a.py", "def f(x):\n    [x.go() for _ in x]\n"),
    ("a.py", "def f(x):\n    return x.go() if x else None\n"),
    ("a.py", "def f(x):\n    return x.go() if True else None\n"),
    ("a.py", "def f(x):\n    return g(x) or None\n"),
    ("a.js", "function f(x) {\n  return true && x.go();\n}\n"),
    ("a.js", "function f(x) {\n  return x ? x.go() : null;\n}\n"),
    ("a.js", "function f(x) {\n  if (x !== null) { x.go(); }\n}\n"),
    ("a.scala", "trait A {\n  val limit = 1\n  def f(): Int\n}\n"),
    ("a.scala", "abstract class A {\n  def f(): Int\n}\n"),
    ("a.swift", "protocol A {\n    func f() -> Int\n}\n"),
]


@pytest.mark.parametrize(("path", "text"), HIDDEN)
def test_nothing_hides_that_a_body_is_unwritten(path: str, text: str) -> None:
    assert is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(("path", "text"), BESIDE)
def test_what_only_looks_like_an_unwritten_body_is_taken_for_work(path: str, text: str) -> None:
    assert not is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(
    "said",
    [
        "{}",
        "raise RuntimeError('{}",
        'panic(fmt.Sprintf("{}',
        'return 0, fmt.Errorf("{}',
        "throw new Error(`{}",
        "return {}",
    ],
)
@pytest.mark.parametrize("word", ["todo ", "not implemented", "not ", "\\'", "'", '"', "`", "a, ", "{};", "0, "])
def test_a_text_that_repeats_itself_is_judged_in_no_time(said: str, word: str) -> None:
    begun = time.process_time()
    says_nothing(said.replace("{}", word * 5_000))
    assert time.process_time() - begun < 1


NOOP = "def _noop(*a):\n    {}\n\n\ndef f(x):\n    {}\n"


@pytest.mark.parametrize(
    ("path", "text", "line", "is_nothing"),
    [
        ("a.py", NOOP.format("pass", "_noop(x)"), 5, True),
        ("a.py", NOOP.format('"""Do nothing."""', "_noop(x)\n    return None"), 5, True),
        ("a.py", NOOP.format("pass", "_noop(g(x))"), 5, False),
        ("a.py", NOOP.format("g(*a)", "_noop(x)"), 5, False),
        ("a.py", NOOP.format("pass", "_noop(x)") + "\n\nif x:\n\n    def _noop(x):\n        g(x)\n", 5, False),
        ("a.py", NOOP.format("pass", "x._noop(x)"), 5, False),
        ("a.py", NOOP.format("pass", "_noop(x)").replace("f(x)", "f(x, _noop)"), 5, False),
        ("test_a.py", NOOP.format("pass", "_noop(x)"), 5, False),
        ("a.js", "function noop() {}\nfunction f(x) {\n  noop(x);\n}\n", 2, True),
        ("a.js", "function noop(x) {\n  g(x);\n}\nfunction f(x) {\n  noop(x);\n}\n", 4, False),
        ("a.go", "package a\n\nfunc noop(x int) {\n}\n\nfunc f(x int) {\n\tnoop(x)\n}\n", 6, True),
        ("a.rs", "fn noop(x: i32) {}\nfn f(x: i32) {\n    noop(x);\n}\n", 2, True),
        ("a.c", "void noop(int x) {}\nvoid f(int x) {\n    noop(x);\n}\n", 2, True),
    ],
)
def test_to_call_a_function_of_the_file_that_does_nothing_is_nothing(
    path: str, text: str, line: int, is_nothing: bool
) -> None:
    assert is_empty(text, path, line, text.rstrip().count("\n") + 1 if "if x" not in text else line + 1) == is_nothing


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a.go", "package a\n\nfunc f(x int) error {{\n\treturn {}\n}}\n"),
        ("a.go", "package a\n\nfunc f(x int) error {{\n\ty := {}\n\treturn y\n}}\n"),
        ("a.py", "def f(x):\n    return ({})\n"),
        ("a.py", "def f(x):\n    y = {}\n    raise y\n"),
        ("a.py", "def f(x):\n    import {}\n    pass\n"),
        ("a.js", "function f(x) {{\n  const y = {};\n  throw y;\n}}\n"),
        ("a.pl", "sub f {{ {} }}\n"),
    ],
)
@pytest.mark.parametrize(
    "word",
    [", ", " ", "a, ", "todo ", "NotImplemented", "a,                    ", "a if ", "a ? b : ", "{;", "die '", "{ f("],
)
def test_a_body_that_repeats_itself_is_judged_in_no_time(path: str, said: str, word: str) -> None:
    text = said.format(word * (3_500 // len(word)))
    begun = time.process_time()
    is_empty(text, path, 1, text.count("\n"))
    assert time.process_time() - begun < 1
