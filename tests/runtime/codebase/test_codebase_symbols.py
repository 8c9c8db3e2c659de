from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.files.source_text import from_bytes
from runtime.codebase.language_registry import language_of, language_of_content, languages
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.syntax import FileSyntax, Symbol


def read(text: str, language: str, path: str = "pkg/mod.py") -> FileSyntax:
    return parse(from_bytes(text.encode()), path, language)


def by_name(syntax: FileSyntax) -> dict[str, Symbol]:
    return {symbol.qualified_name: symbol for symbol in syntax.symbols}


PYTHON = '''"""What the module is for.

More of it.
"""
import os, sys as system
from . import sibling
from ..above import (
    one,
    two as second,
)
from far.away import *

LIMIT: int = 3
first = other = 1


@decorate(1)
@pkg.plain
class Base(Parent, metaclass=Meta):
    """Base class."""

    kind = "x"

    @property
    async def name(self, *, deep: bool = False) -> str:
        "One line."
        def inner():
            return os.path.join(self.kind)
        return inner()


if True:
    def guarded(): ...
'''


SEVERAL_LINES = """
class Till:
    COINS = {
        "a": 1,
    }
    open = 1

    def count(self):
        self.kept = [
            2,
        ]
        return 3
"""

ATTRIBUTES = """
class Till:
    depth = 1

    def __init__(self, size, other):
        self.size: int = size
        self.depth = 2
        self.open = self.left = False
        other.gone = 1
        self.size = 3
        self.__class__ = Till

    @property
    def open(self):
        self.lid.shut = True

        def inner():
            self.inside = 1

    class Bay:
        def fill(self):
            self.size = 4


def free(self):
    self.loose = 1
"""


def test_what_methods_of_python_give_self_is_an_attribute_of_the_class_at_its_first_assignment() -> None:
    found = [symbol for symbol in read(ATTRIBUTES, "python").symbols if symbol.kind == "attribute"]
    assert [(symbol.qualified_name, symbol.start_line, symbol.signature) for symbol in found] == [
        ("Till.depth", 3, "depth = 1"),
        ("Till.size", 6, "self.size: int = size"),
        ("Till.inside", 18, "self.inside = 1"),
        ("Till.Bay.size", 22, "self.size = 4"),
    ]


def test_python_definitions_carry_kind_place_signature_and_docstring() -> None:
    found = by_name(read(PYTHON, "python"))
    module, base, name = found["mod"], found["Base"], found["Base.name"]
    assert (module.kind, module.docstring) == ("module", "What the module is for.")
    assert (base.kind, base.start_line, base.name_line, base.docstring) == ("class", 17, 19, "Base class.")
    assert base.signature == "class Base(Parent, metaclass=Meta)"
    assert (name.kind, name.start_line, name.end_line) == ("method", 24, 29)
    assert name.signature == "async def name(self, *, deep: bool = False) -> str"
    assert name.docstring == "One line."
    assert found["Base.name.inner"].kind == "function"
    assert found["guarded"].kind == "function"
    assert (found["LIMIT"].kind, found["first"].kind, found["Base.kind"].kind) == ("constant", "variable", "attribute")


def test_python_references_tell_kind_qualifier_and_enclosing_symbol() -> None:
    syntax = read(PYTHON, "python")
    found = {
        (item.name, item.kind, item.qualifier, item.enclosing and syntax.symbols[item.enclosing].qualified_name)
        for item in syntax.references
    }
    assert ("join", "call", "os.path", "Base.name.inner") in found
    assert ("inner", "call", "", "Base.name") in found
    assert ("decorate", "decorator", "", "Base") in found
    assert ("plain", "decorator", "pkg", "Base") in found
    assert ("Parent", "base", "", "Base") in found
    assert ("Meta", "base", "", "Base") in found


def test_python_imports_keep_dots_aliases_and_lines() -> None:
    assert [tuple(item) for item in read(PYTHON, "python").imports] == [
        ("os", "", "", 5),
        ("sys", "", "system", 5),
        (".", "sibling", "", 6),
        ("..above", "one", "", 8),
        ("..above", "two", "second", 9),
        ("far.away", "*", "", 11),
    ]


def test_python_with_syntax_errors_is_read_as_far_as_possible() -> None:
    syntax = read("def good():\n    pass\n\ndef broken(:\n\nclass Later:\n    def f(self): pass\n", "python")
    assert "good" in by_name(syntax)
    assert "Later" in by_name(syntax)
    assert syntax.status == "parsed"
    assert "syntax errors" in syntax.note


def test_windows_line_ends_do_not_move_lines() -> None:
    syntax = read("# one\r\n\r\ndef f():\r\n    g()\r\n", "python")
    assert (by_name(syntax)["f"].start_line, by_name(syntax)["f"].end_line) == (3, 4)


@given(st.binary(max_size=200), st.sampled_from(sorted(name for name, record in languages().items() if record.grammar)))
def test_any_bytes_can_be_parsed_and_ranges_stay_in_the_file(data: bytes, language: str) -> None:
    source = from_bytes(data)
    lines = max(1, len(source.text.split("\n")))
    for symbol in parse(source, "a/b.x", language).symbols:
        assert 1 <= symbol.start_line <= symbol.name_line <= symbol.end_line <= lines


SAMPLES: list[tuple[str, str, set[tuple[str, str]], set[str], set[str]]] = [
    (
        "javascript",
        """import x from './x.js'
const y = require('y')
/** Says hello. */
export class Greeter extends Base { greet(a) { return this.say(a) } }
export const arrow = (a) => call(a)
app.handle = function handle(req) {}
Route.prototype.dispatch = function dispatch() {}
""",
        {
            ("class", "Greeter"),
            ("method", "Greeter.greet"),
            ("function", "arrow"),
            ("method", "app.handle"),
            ("method", "Route.dispatch"),
        },
        {"say", "call", "Base"},
        {"./x.js", "y"},
    ),
    (
        "typescript",
        """import { a } from "./a";
export interface Shape { area(): number }
export type Id = string;
export enum Colour { Red }
export abstract class Box<T> implements Shape { private size = (n: number) => n; area(): number { return f(1) } }
export function make<T>(x: T): Box<T> { return new Box() }
""",
        {
            ("interface", "Shape"),
            ("type", "Id"),
            ("enum", "Colour"),
            ("class", "Box"),
            ("method", "Box.area"),
            ("method", "Box.size"),
            ("function", "make"),
        },
        {"f", "Box", "Shape"},
        {"./a"},
    ),
    (
        "go",
        """package p
import "example.com/p/q"
const Max = 3
type Engine struct { n int }
type Doer interface { Do() }
func New() *Engine { return build() }
func (e *Engine) Run(a int) error { return e.step(a) }
""",
        {
            ("constant", "Max"),
            ("struct", "Engine"),
            ("interface", "Doer"),
            ("method", "Doer.Do"),
            ("function", "New"),
            ("method", "Engine.Run"),
        },
        {"build", "step"},
        {"example.com/p/q"},
    ),
    (
        "rust",
        """use crate::a::B;
mod sub;
pub struct S { x: i32 }
pub trait T { fn t(&self); }
impl T for S { fn t(&self) { helper(1) } }
fn main() { S::new(); println!("x") }
const K: i32 = 1;
""",
        {
            ("struct", "S"),
            ("trait", "T"),
            ("method", "T.t"),
            ("method", "S.t"),
            ("function", "main"),
            ("constant", "K"),
        },
        {"helper", "new", "println"},
        {"crate::a::B", "sub"},
    ),
    (
        "java",
        """package a.b;
import a.b.C;
public class Shop extends Base implements Seller {
  private final int n = 1;
  public Shop() {}
  public int sell(String s) { return helper(s); }
  enum Kind { A }
}
""",
        {
            ("class", "Shop"),
            ("field", "Shop.n"),
            ("constructor", "Shop.Shop"),
            ("method", "Shop.sell"),
            ("enum", "Shop.Kind"),
        },
        {"helper", "Base", "Seller"},
        {"a.b.C"},
    ),
    (
        "c",
        """#include "x.h"
#define MAX(a, b) ((a) > (b))
struct point { int x; };
static int
add(int a, int b)
{
  return twice(a) + b;
}
""",
        {("macro", "MAX"), ("struct", "point"), ("function", "add")},
        {"twice"},
        {"x.h"},
    ),
    (
        "cpp",
        """#include <vector>
namespace n {
class Box : public Base { public: int size() { return f(); } };
int Box::area() { return g(); }
}
""",
        {("class", "n.Box"), ("method", "n.Box.size"), ("method", "Box.area")},
        {"f", "g", "Base"},
        {"vector"},
    ),
    (
        "ruby",
        """require 'json'
module M
  class A < B
    LIMIT = 1
    def run(x)
      x.call_it
    end
  end
end
""",
        {("module", "M"), ("class", "M.A"), ("method", "M.A.run"), ("constant", "M.A.LIMIT")},
        {"call_it", "B"},
        {"json"},
    ),
    (
        "php",
        """<?php
namespace App;
use App\\Models\\User;
class Shop extends Base { const N = 1; public function sell($x) { return helper($x); } }
function top() {}
""",
        {("class", "Shop"), ("constant", "Shop.N"), ("method", "Shop.sell"), ("function", "top")},
        {"helper", "Base"},
        {"App\\Models\\User"},
    ),
    (
        "c_sharp",
        """using System.Text;
namespace A.B {
  public class Shop : Base { public int N { get; set; } public Shop() {} public int Sell(string s) { return Help(s); } }
}
""",
        {
            ("class", "A.B.Shop"),
            ("property", "A.B.Shop.N"),
            ("constructor", "A.B.Shop.Shop"),
            ("method", "A.B.Shop.Sell"),
        },
        {"Help", "Base"},
        {"System.Text"},
    ),
    (
        "kotlin",
        """package a.b

import x.y.Z

class Shop(val n: Int) : Base(), Seller {
    val size: Int = 3

    fun sell(x: Int): Int {
        return helper(x).also { it.go() }
    }

    companion object {
        const val LIMIT = 1
    }
}

interface Seller {
    fun sell(): Int
}

enum class Kind { A, B }

object Registry {
    fun find() = Shop(1)
}

typealias Prices = Map<String, Int>

fun String.cents(): Int = length

val top = 3
""",
        {
            ("class", "Shop"),
            ("property", "Shop.size"),
            ("method", "Shop.sell"),
            ("interface", "Seller"),
            ("enum", "Kind"),
            ("object", "Registry"),
            ("method", "Registry.find"),
            ("type", "Prices"),
            ("function", "cents"),
            ("constant", "top"),
        },
        {"helper", "go", "Base", "Seller", "Shop"},
        {"x.y.Z"},
    ),
    (
        "shell",
        """#!/bin/bash
NAME=x
readonly LIMIT=3
source ./lib.sh
. "$HERE/other.sh"
greet() {
  helper "$1"
}
function helper { printf '%s' "$1"; }
greet bob
""",
        {("function", "greet"), ("function", "helper"), ("variable", "NAME"), ("constant", "LIMIT")},
        {"helper", "greet"},
        {"./lib.sh", "$HERE/other.sh"},
    ),
]


@pytest.mark.parametrize(
    ("language", "text", "symbols", "names", "imports"), SAMPLES, ids=[sample[0] for sample in SAMPLES]
)
def test_every_grammar_gives_definitions_uses_and_imports(
    language: str, text: str, symbols: set[tuple[str, str]], names: set[str], imports: set[str]
) -> None:
    syntax = read(text, language, "a.x")
    assert syntax.status == "parsed"
    assert symbols <= {(symbol.kind, symbol.qualified_name) for symbol in syntax.symbols}
    assert names <= {reference.name for reference in syntax.references}
    assert imports == {item.module for item in syntax.imports}


def test_the_comment_above_a_definition_is_its_docstring_and_its_body_no_part_of_the_signature() -> None:
    go = by_name(
        read("package p\n\n// Run does it.\n//\n// At length.\nfunc Run(a int) error {\n\treturn nil\n}\n", "go")
    )
    assert (go["Run"].docstring, go["Run"].signature) == ("Run does it.", "func Run(a int) error")
    js = by_name(read("/**\n * Adds a line.\n */\nexport const add = (a) => {\n  return a\n}\n", "javascript"))
    assert (js["add"].docstring, js["add"].signature) == ("Adds a line.", "export const add = (a) =>")
    assert (js["add"].start_line, js["add"].end_line) == (4, 6)


def test_a_c_function_reaches_to_the_end_of_its_body() -> None:
    found = by_name(read("static int\nadd(int a)\n{\n  return a;\n}\n", "c"))
    assert (found["add"].start_line, found["add"].end_line, found["add"].name_line) == (1, 5, 2)


def test_headings_and_keys_are_symbols() -> None:
    markdown = read("# Top\n\ntext\n\n## Inner\n\n```\n# no heading\n```\n", "markdown")
    assert [(s.kind, s.name, s.start_line, s.end_line) for s in markdown.symbols] == [
        ("section", "Top", 1, 9),
        ("section", "Inner", 5, 9),
    ]
    rst = read("Title\n=====\n\nPart\n----\n\ntext\n", "rst")
    assert [symbol.name for symbol in rst.symbols] == ["Title", "Part"]
    yaml = read("a: 1\nb:\n  c: 2\n", "yaml")
    assert [(s.kind, s.name, s.end_line) for s in yaml.symbols] == [("key", "a", 1), ("key", "b", 3)]
    toml = read("name = 1\n[tool.x]\nkey = 2\n", "toml")
    assert [symbol.name for symbol in toml.symbols] == ["name", "tool.x"]
    json = read('{\n  "a": {\n    "b": 1\n  },\n  "c": 2\n}\n', "json")
    assert [symbol.name for symbol in json.symbols] == ["a", "c"]


def test_languages_without_a_grammar_are_read_by_the_look_of_their_lines() -> None:
    swift = read("class Shop {\n    func sell(x: Int) -> Int {\n        return x\n    }\n}\n", "swift")
    assert [(s.kind, s.qualified_name) for s in swift.symbols] == [("class", "Shop"), ("method", "Shop.sell")]
    fish = read("function run\n  true\nend\n", "fish")
    assert [symbol.name for symbol in fish.symbols] == ["run"]
    assert parse(from_bytes(b"anything\n"), "LEGAL", None).status == "unsupported"


@pytest.mark.parametrize(
    ("text", "language", "end"),
    [
        ("function run\n  true\nend\n\ncomplete -c run\n", "fish", 3),
        ("function run\n  if true\n    go\n  end\nend\nrun\n", "fish", 5),
        ("func run(\n    a: Int\n) {\n    go()\n}\n\nlet x = 1\n", "swift", 5),
        ("sub run\n{\n    go();\n}\n\nrun();\n", "perl", 4),
        # What is not closed in its column ends where the next one begins, or with the file.
        ("function run\n  true\n", "fish", 2),
        ("function run\ntrue\nend\n", "fish", 3),
    ],
)
def test_without_a_grammar_a_function_ends_with_what_closes_it_in_its_column(
    text: str, language: str, end: int
) -> None:
    assert by_name(read(text, language))["run"].end_line == end


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("B.JAVA", "java"),
        ("x.d.ts", "typescript"),
        ("x.tsx", "tsx"),
        ("Dockerfile", "docker"),
        ("doc/age.1.ronn", "markdown"),
        ("doc/swaymsg.1.scd", "markdown"),
        ("doc/dunst.5.pod", "text"),
        # Documents with names to fill in are documents; code with gaps is no code.
        ("man/proxy.conf.txt.in", "text"),
        ("README.md.in", "markdown"),
        ("config.h.in", None),
        ("CMakeLists.txt.in", None),
        (".in", None),
        ("md.in", None),
        (".gitignore", None),
        ("noext", None),
    ],
)
def test_a_file_name_tells_the_language(path: str, language: str | None) -> None:
    assert language_of(path) == language


def test_the_first_line_of_a_script_and_the_content_of_a_header_tell_the_language() -> None:
    assert language_of_content("run", None, "#!/usr/bin/env python3\nx = 1\n") == "python"
    assert language_of_content("run", None, "#!/bin/bash -e\n") == "shell"
    assert language_of_content("run", None, "plain\n") is None
    assert language_of_content("a.h", "c", "namespace n {\n") == "cpp"
    assert language_of_content("a.h", "c", "int f(void);\n") == "c"


def test_header_that_declares_for_c_as_well_is_c() -> None:
    guarded = '#ifdef __cplusplus\nextern "C" {\nnamespace n {}\n#endif\nint f(void);\n'
    assert language_of_content("a.h", "c", guarded) == "c"
    assert language_of_content("a.h", "c", guarded + "#if defined(__cplusplus)\n}\n#endif\n") == "c"
    assert language_of_content("a.h", "c", guarded + "class Depot {\n") == "cpp"
    assert language_of_content("a.h", "c", guarded.replace("#endif", "#else\nclass Depot;\n#endif")) == "cpp"
    assert language_of_content("a.h", "c", "#ifdef __cplusplus\nclass Depot {};\n#endif\n") == "cpp"


def test_words_of_cpp_in_a_comment_make_no_header_cpp() -> None:
    assert language_of_content("a.h", "c", "/* called by\n   using a macro\n   class name */\nint f(void);\n") == "c"


def test_calls_of_one_name_on_one_line_are_told_by_the_first_of_them_each_time() -> None:
    text = "def f(rows):\n" + "    return " + " + ".join(f"row{n}.get({n})" for n in range(30)) + "\n"
    for _ in range(30):
        found = [ref.qualifier for ref in read(text, "python").references if ref.name == "get"]
        assert found == ["row0"]


def test_the_signature_of_an_assignment_ends_with_it() -> None:
    found = by_name(read(SEVERAL_LINES, "python"))
    assert found["Till.COINS"].signature == 'COINS = { "a": 1, }'
    assert found["Till.kept"].signature == "self.kept = [ 2, ]"


@given(st.integers(min_value=0, max_value=400))
def test_the_signature_of_a_long_assignment_is_its_beginning(count: int) -> None:
    text = "kept = (\n" + "    1,\n" * count + ")\nother = 2\n"
    whole = " ".join(text.partition(")")[0].split()) + " )"
    assert by_name(read(text, "python"))["kept"].signature == whole[:300].rstrip()
