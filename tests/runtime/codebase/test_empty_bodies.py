"""Which lines implement something: what only passes, returns nothing or promises to be written does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.parsing.bodies.empty_bodies import is_empty

EMPTY = {
    "a.py": [
        "def f():\n    pass\n",
        "def f():\n    ...\n",
        'def f():\n    """Does it all."""\n',
        'def f(a, b):\n    """Does it."""\n    # later\n    return None\n',
        "def f():\n    raise NotImplementedError('soon')\n",
        "class C:\n    def f(self):\n        # TODO: write\n        pass\n",
        "async def f(\n    a: int,\n) -> None:\n    return\n",
        "# TODO everything\n",
        "\n\n",
    ],
    "a.js": [
        "function f() {}\n",
        "const f = () => {\n  // TODO\n};\n",
        'function f() {\n  throw new Error("Not implemented yet");\n}\n',
        "class C {\n  f() {\n    return null;\n  }\n}\n",
    ],
    "a.ts": [
        "export function f(a: number): void {\n}\n",
        "function f(): string {\n  throw new NotImplementedError();\n}\n",
    ],
    "a.go": [
        "func F() {\n}\n",
        'func F() error {\n\tpanic("not implemented")\n}\n',
        "func F() error {\n\treturn nil\n}\n",
    ],
    "a.rs": ["fn f() {\n    todo!()\n}\n", 'fn f() -> u8 {\n    unimplemented!("x")\n}\n'],
    "A.java": [
        "class A {\n  void f() {\n  }\n}\n",
        "class A {\n  int f() {\n    throw new UnsupportedOperationException();\n  }\n}\n",
    ],
    "a.c": ["int f(void) {\n  /* TODO */\n  return 0;\n}\n"],
    "a.rb": [
        "def load(url)\nend\n",
        "def load(url); end\n",
        "def load(url) = nil\n",
        "def load(url)\n  # does it\nend\n",
        "def load(url)\n  raise 'not implemented'\nend\n",
        "load = ->(url) {}\n",
    ],
    "a.php": [
        "<?php\nfunction load($url) { return null; }\n",
        "<?php\nfunction load($url) {\n  throw new \\Exception('not implemented');\n}\n",
        "<?php\n$load = fn($url) => null;\n",
    ],
    "A.cs": [
        "class A { object Load(string url) => null; }\n",
        "class A { object Load(string url) => throw new NotImplementedException(); }\n",
        "class A {\n  object Load(string url) {\n    return default(object);\n  }\n}\n",
    ],
    "a.kt": [
        "fun load(url: String) {}\n",
        "fun load(url: String) = Unit\n",
        "fun load(url: String): Any = TODO()\n",
        "override fun load(url: String) {\n}\n",
    ],
    "a.swift": [
        "func load() {}\n",
        "func load() -> Int? { nil }\n",
        'func load(a: Int) {\n    print("loading")\n}\n',
        "func load(a: Int) {\n    _ = a\n    let x = 1\n}\n",
    ],
    "a.jl": ["function load(a)\n    nothing\nend\n"],
    "a.r": ["load <- function(a) {\n  NULL\n}\n"],
    "a.zig": ["fn load(a: i32) void {\n    _ = a;\n}\n"],
    "a.pl": ["sub load {\n  my ($a) = @_;\n  return;\n}\n"],
    "a.groovy": ["def load(a) {\n  println 'loading'\n}\n"],
    "a.scala": ["def load(url: String): Unit = {}\n", "def load(url: String) = ???\n"],
    "a.lua": ["function load() end\n", "function load(a)\n  local x = 1\nend\n"],
    "notes.txt": ["TODO: say it\n", "\n"],
}
MORE_EMPTY = {
    "a.py": [
        "load = lambda url: None\n",
        "def load(url):\n    if True:\n        pass\n",
        "def load(url):\n    try:\n        pass\n    except Exception:\n        pass\n",
        "def load(url):\n    return (None)\n",
        "def load(url):\n    assert True\n",
        "def load(url):\n    _ = 0\n",
    ],
    "a.go": [
        "package a\n\nfunc Load() (int, error) { return 0, nil }\n",
        "package a\n\nvar Load = func(url string) {}\n",
        'func Load() error {\n\treturn errors.New("not implemented")\n}\n',
    ],
    "a.rs": ["fn load() -> Result<(), E> { Ok(()) }\n", "fn load() -> A {\n    Default::default()\n}\n"],
    "a.js": ["function load() { return Promise.resolve(); }\n"],
    "a.ts": ["function load(): any { return null as any; }\n"],
}
IDLE = {
    "a.py": [
        "def f(text):\n    text = text\n",
        "def f(text):\n    if False:\n        return bool(text)\n",
        "def f(text):\n    del text\n",
        'def f(text):\n    """Does it."""\n    0\n',
        "def f(text):\n    for _ in ():\n        call(text)\n",
        "def f(text):\n    text\n",
    ],
    "a.js": [
        "function f(a) { void a; }\n",
        "function f(a) {\n  a = a;\n}\n",
        "function f(a) {\n  if (false) { call(a); }\n}\n",
    ],
    "a.ts": [
        "function f(a: string): any {\n  return ({} as any);\n}\n",
        "function f(a: string) {\n  ({} as any);\n}\n",
    ],
    "a.go": [
        "package a\n\nfunc F(a int) {\n\t_ = a\n}\n",
    ],
    "a.rs": [
        "fn f(a: u8) {\n    let _ = a;\n}\n",
    ],
    "a.c": [
        "int f(int a) {\n  (void)a;\n  return 0;\n}\n",
    ],
}
FAILING_ONLY = {
    "a.py": [
        "def f(w):\n    raise ValueError('x')\n",
        "def f(w):\n    return\n    return w * 2\n",
        "def f(w):\n    int()\n",
    ],
    "a.js": ["function f(w) { throw new Error('x'); }\n", "const f = async () => { await null; };\n"],
    "a.rb": [
        "def f(w)\n  fail NotImplementedError, 'x'\nend\n",
        "def f(w)\n  raise 'x'\nend\n",
        "def f(w)\n  if false\n    w * 2\n  end\nend\n",
    ],
    "a.rs": ['fn f(w: i32) -> i32 { panic!("x") }\n', "fn f(w: i32) -> i32 { 0 }\n"],
}
ACTIVE = {
    "a.py": [
        "def f(self):\n    return self\n",
        "def f(text):\n    text.value = text.strip()\n",
        "def f(text):\n    return LIMIT\n",
        "def f(text):\n    if text:\n        return 1\n",
        "def f(text):\n    if False:\n        pass\n    else:\n        call()\n",
        "def f(items):\n    for _ in items:\n        call()\n",
        "def f(text):\n    yield\n",
        "def f(text):\n    yield text\n",
        "def f(text):\n    raise\n",
        "def f(text):\n    raise ValueError(f'no {text}')\n",
        "def f(text):\n    raise TypeError('read only')\n",
        "def f(text):\n    if text:\n        raise ValueError('x')\n",
        "class C:\n    limit = 3\n",
        "def f(self, text):\n    self.text = text\n",
    ],
    "a.js": ["function f(a) { return a + 1; }\n", "function f(a) { b = a; }\n", "const f = (a) => a.b;\n"],
    "a.go": ["package a\n\nfunc F() int {\n\treturn limit\n}\n"],
    "a.rs": [
        "fn f() -> u8 {\n    LIMIT\n}\n",
        "fn f(a: u8) -> u8 {\n    a + 1\n}\n",
        "fn f(&self) -> u8 {\n    self.a\n}\n",
    ],
    "a.c": ["int f(int a) {\n  return a + 1;\n}\n", "int f(void) {\n  return limit;\n}\n"],
    "a.rb": ["def f(a)\n  @a = a\nend\n", "def f\n  limit\nend\n"],
}
LOGGING_ONLY = {
    "a.py": [
        "def load(url):\n    logging.info('loading %s', url)\n",
        "def load(url):\n    log.debug('later')\n    return None\n",
        "def load(url):\n    self._logger.warning(\n        'later',\n        extra={'url': url},\n    )\n",
        "def load(url):\n    warnings.warn('later')\n    pass\n",
    ],
    "a.js": ["function load(url) {\n  console.log(url);\n}\n", "const load = (url) => { console.warn(`${url}`) };\n"],
    "a.ts": ["function load(url: string): void {\n  this.logger.info(url);\n}\n"],
    "a.go": ['package a\n\nfunc Load() {\n\tlog.Printf("%s", url)\n}\n'],
    "a.rs": ['fn load() {\n    log::info!("x");\n}\n', 'fn load() {\n    warn!("x");\n}\n'],
    "A.java": ['class A {\n  void load() {\n    LOG.info("y");\n  }\n}\n'],
    "a.rb": ["def load(url)\n  logger.info(url)\nend\n", "def load(url)\n  @logger.info url\nend\n"],
    "a.php": ["<?php\nfunction load($url) { error_log($url); }\n"],
    "a.kt": ['fun load(url: String) {\n    logger.info("x")\n}\n'],
}
PRINTING_ONLY = {
    "a.py": ["def load(url):\n    print('loading')\n", "def load(self, url):\n    print('later')\n    return None\n"],
    "a.js": ["function load(url) {\n  process.stdout.write('loading');\n}\n"],
    "a.ts": ["function load(url: string): void {\n  process.stdout.write('loading');\n}\n"],
    "a.go": ['package a\n\nfunc Load(url string) error {\n\tfmt.Println("loading")\n\treturn nil\n}\n'],
    "a.rs": ['fn load(url: &str) {\n    println!("loading");\n}\n'],
    "A.java": ['class A {\n  void load(String url) {\n    System.out.println("loading");\n  }\n}\n'],
}
PRINTING = {
    "a.py": [
        "def usage():\n    print('Usage: load URL')\n",
        "def usage(self):\n    print('Usage: load URL')\n",
        "def greet(name):\n    print(f'Hello {name}')\n",
        "def load(url):\n    print('loading')\n    return fetch(url)\n",
    ],
    "a.go": ['package a\n\nfunc Usage() {\n\tfmt.Println("Usage: load URL")\n}\n'],
    "a.rs": ['fn greet(name: &str) {\n    println!("Hello {name}");\n}\n'],
    "A.java": ['class A {\n  void greet(String name) {\n    System.out.println("Hello " + name);\n  }\n}\n'],
}
FULL = {
    "a.py": [
        "def show(row):\n    print(row)\n",
        "def load(url):\n    log.info('x')\n    return fetch(url)\n",
        "def load(url):\n    log.info('%s', fetch(url))\n",
        "def load(self):\n    self.say = log.info\n",
        "def load(url):\n    catalog.info(url)\n",
        "def f():\n    return g()\n",
        "def f():\n    pass\n    g()\n",
        "X = 1\n",
        "import os\n",
        "def f(a):\n    if a:\n        return None\n    return a + 1\n",
        "class C:\n    limit = 3\n",
    ],
    "a.js": ["function f() { return g(); }\n", "const f = () => g();\n"],
    "a.go": ["func F() error {\n\treturn g()\n}\n"],
    "a.rs": ["fn f() -> u8 {\n    g() + 1\n}\n"],
    "A.java": ["class A {\n  int f() {\n    return g();\n  }\n}\n"],
    "a.c": ["int f(void) {\n  return g();\n}\n"],
    "a.rb": ["def load(url)\n  fetch(url)\nend\n"],
    "a.kt": ["fun load(url: String) = fetch(url)\n"],
    "A.cs": ["class A { object Load(string url) => Fetch(url); }\n"],
    "a.scala": ["def load(url: String) = fetch(url)\n"],
    "a.swift": [
        "func load() { fetch() }\n",
        'func usage() {\n    print("usage: load URL")\n}\n',
        'func load(a: Int) {\n    print("loading \\(a)")\n}\n',
        "let timeout = 30\n",
        "func load(a: Int) {\n    let x = a + 1\n}\n",
    ],
    "a.pl": ["sub load {\n  my ($a) = @_;\n  fetch($a);\n}\n"],
    "a.md": ["The function load tries three times.\n", "true\n"],
    "notes.txt": ["Retries are limited to three.\n"],
    "a.toml": ["retries = 3\n"],
}


def cases(by_path: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(path, text) for path, texts in by_path.items() for text in texts]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *cases(EMPTY),
        *cases(MORE_EMPTY),
        *cases(LOGGING_ONLY),
        *cases(PRINTING_ONLY),
        *cases(IDLE),
        *cases(FAILING_ONLY),
    ],
)
def test_what_does_nothing_is_empty(path: str, text: str) -> None:
    assert is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(("path", "text"), [*cases(FULL), *cases(PRINTING), *cases(ACTIVE)])
def test_what_does_something_is_not(path: str, text: str) -> None:
    assert not is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(("path", "text"), [pair for pair in cases(EMPTY) if "def " in pair[1] or "fn " in pair[1]])
def test_the_head_of_an_empty_function_is_empty_too(path: str, text: str) -> None:
    head = next(number for number, line in enumerate(text.split("\n"), 1) if "def " in line or "fn " in line)
    assert is_empty(text, path, head, head)


def test_the_head_of_a_function_that_works_stands_for_its_body() -> None:
    assert not is_empty("def f():\n    return g()\n", "a.py", 1, 1)


@pytest.mark.parametrize(("body", "is_nothing"), [("return g(w)", False), ("pass", True)])
def test_a_decorator_alone_stands_for_what_it_decorates(body: str, is_nothing: bool) -> None:
    text = f"class C:\n    @cache\n    @named(\n        'w'\n    )\n    def f(w):\n        {body}\n"
    assert is_empty(text, "a.py", 2, 2) is is_nothing
    assert is_empty(text, "a.py", 2, 5) is is_nothing


def test_a_line_of_logging_in_a_function_that_works_is_work() -> None:
    assert not is_empty("def load(url):\n    log.info(url)\n    return fetch(url)\n", "a.py", 2, 2)
    assert is_empty("def load(url):\n    log.info(url)\n    return None\n", "a.py", 2, 2)


def test_a_docstring_alone_is_no_work_even_within_a_function_that_does_some() -> None:
    text = 'def f():\n    """Tells.\n\n    More.\n    """\n    return g()\n'
    assert is_empty(text, "a.py", 2, 5)
    assert not is_empty(text, "a.py", 2, 6)


@given(
    st.text(max_size=200), st.sampled_from(["a.py", "a.js", "a.rs", "x.bin"]), st.integers(1, 20), st.integers(0, 20)
)
def test_any_text_is_judged(text: str, path: str, start: int, more: int) -> None:
    assert is_empty(text, path, start, start + more) in {True, False}


EMPTY_RESULTS = {
    "a.py": [
        "def f(x):\n    return dict()\n",
        "def f(x):\n    return int(0)\n",
    ],
    "a.rs": ["fn f(x: i64) -> Vec<i64> {\n    Vec::new()\n}\n", "fn f(x: i64) -> Vec<i64> {\n    return vec![];\n}\n"],
    "A.java": [
        "class A {\n  List<Integer> f(int x) { return new ArrayList<>(); }\n}\n",
        "class A {\n  List<Integer> f(int x) { return Collections.emptyList(); }\n}\n",
        "class A {\n  Optional<Integer> f(int x) { return Optional.empty(); }\n}\n",
    ],
    "a.ts": ["function f(x: number) {\n  return new Map<string, number>();\n}\n"],
}


@pytest.mark.parametrize(("path", "text"), [*cases(EMPTY_RESULTS)])
def test_a_result_that_is_built_empty_is_as_empty_as_a_literal(path: str, text: str) -> None:
    count = text.count("\n")
    first = 2 if "class " in text else 1
    assert is_empty(text, path, first, count - (first == 2))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "def f(x):\n    return dict(x)\n"),
        ("a.rs", "fn f(x: i64) -> Vec<i64> {\n    vec![x + 1]\n}\n"),
        ("A.java", "class A {\n  Cart f(int x) { return new Cart(); }\n}\n"),
        ("B.java", "class B {\n  List<Integer> f(int x) { return List.of(x + 1); }\n}\n"),
    ],
)
def test_a_result_that_is_built_of_something_is_work(path: str, text: str) -> None:
    first = 2 if "class " in text else 1
    assert not is_empty(text, path, first, 2)


UNREACHED = [
    ("a.py", "def f(x):\n    return x + 1\n    return round(x, 2)\n", 3),
    ("b.py", "def f(x):\n    for y in x:\n        continue\n        use(y)\n", 4),
    ("a.ts", "function f(x) {\n  return g();\n  h(x);\n}\n", 3),
    ("a.js", "function f(x) {\n  throw new E(x);\n  h(x);\n}\n", 3),
    ("a.go", "package a\nfunc f(x int) int {\n\treturn g(x)\n\th(x)\n}\n", 4),
    ("a.rs", "fn f(x: i32) -> i32 {\n    return g(x);\n    h(x)\n}\n", 3),
    ("A.java", "class A { int f(int x) {\n    throw new E(x);\n    h(x);\n} }\n", 3),
    ("a.cs", "class A { int f(int x) {\n    return g(x);\n    h(x);\n} }\n", 3),
    ("a.cpp", "int f(int x) {\n  return g(x);\n  h(x);\n}\n", 3),
    ("a.rb", "def f(x)\n  return g(x)\n  h(x)\nend\n", 3),
    ("a.kt", "fun f(x: Int): Int {\n    return g(x)\n    h(x)\n}\n", 3),
    ("a.php", "<?php\nfunction f($x) {\n  return g($x);\n  h($x);\n}\n", 4),
]


@pytest.mark.parametrize(("path", "text", "line"), UNREACHED, ids=[path for path, _, _ in UNREACHED])
def test_what_stands_after_a_statement_that_always_leaves_implements_nothing(path: str, text: str, line: int) -> None:
    assert is_empty(text, path, line, line)


REACHED = [
    ("a.rs", "fn f(x: i32) -> i32 {\n    #[cfg(unix)]\n    return g(x);\n    h(x)\n}\n", 4),
    ("a.py", "def f(x):\n    if x:\n        return g(x)\n    return round(x, 2)\n", 4),
    ("b.py", "def f(x):\n    try:\n        return g(x)\n    except E:\n        return h(x)\n", 5),
    ("a.ts", "function f(x) {\n  return g();\n  function g() { return h(x); }\n}\n", 3),
    (
        "a.c",
        "int f(int x) {\n  switch (x) {\n  case 1: return g(x);\n  case 2: return h(x, 2);\n  }\n  return 3;\n}\n",
        4,
    ),
    ("b.c", "int f(int x) {\n  return 1;\nout:\n  y = h(x) + 2;\n  return y;\n}\n", 4),
    ("a.go", "package a\nfunc f(x int) int {\n\tif x > 1 {\n\t\treturn g(x)\n\t}\n\treturn h(x)\n}\n", 6),
]


@pytest.mark.parametrize(("path", "text", "line"), REACHED, ids=[path for path, _, _ in REACHED])
def test_what_control_may_reach_is_judged_by_what_it_does(path: str, text: str, line: int) -> None:
    assert not is_empty(text, path, line, line)
