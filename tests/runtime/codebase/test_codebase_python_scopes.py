from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.python_scopes import python_file
from runtime.codebase.resolution.python_uses import MAX_KNOWN_NAMES, PythonFile, places_of_word
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from tests.repositories import repository_files
from tests.runtime.codebase.sample_repository import write_files

FILES = {
    "pkg/__init__.py": "from pkg.core import send\n",
    "pkg/core.py": "def send(x):\n    return x\n\n\ndef twice(x):\n    return send(send(x))\n\n\n"
    "class Box:\n    def __init__(self):\n        pass\n\n    def put(self, x):\n        return self.hold(x)\n\n"
    "    def hold(self, x):\n        return x\n",
    "by_name.py": "from pkg.core import send\n\n\ndef use():\n    send(1)\n",
    "by_alias.py": "from pkg.core import send as post\n\n\ndef use():\n    post(1)\n",
    "by_package.py": "from pkg import send\n\n\ndef use():\n    send(1)\n",
    "by_module.py": "import pkg.core as core\n\n\ndef use():\n    core.send(1)\n",
    "by_package_module.py": "import pkg\n\n\ndef use():\n    pkg.send(1)\n",
    "by_star.py": "from pkg.core import *\n\n\ndef use():\n    send(1)\n",
    "own.py": "def send(x):\n    pass\n\n\ndef use():\n    send(1)\n",
    "outside.py": "from socket import send\n\n\ndef use():\n    send(1)\n",
    "other_module.py": "import socket\n\n\ndef use():\n    socket.send(1)\n",
    "object.py": "def use(thing):\n    thing.send(1)\n    hold(1)\n    thing.hold(2)\n",
    "nested.py": "def outer():\n    def inner():\n        pass\n\n    inner()\n\n\ndef inner_free():\n    inner()\n",
    "making.py": "from pkg.core import Box as Case\n\n\ndef use():\n    return Case()\n",
}


@pytest.fixture
def scopes(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, FILES)
    return opened(root)


def callers(codebase: Codebase, name: str, file: str = "pkg/core.py") -> set[tuple[str, int]]:
    symbol = next(symbol for symbol in codebase.symbols_named(name) if symbol.file == file)
    return {(call.file, call.line) for call in codebase.callers(symbol)}


def test_a_call_means_what_its_file_imported_under_whatever_name(scopes: Codebase) -> None:
    assert callers(scopes, "send") == {
        ("pkg/core.py", 6),
        ("by_name.py", 5),
        ("by_alias.py", 5),
        ("by_package.py", 5),
        ("by_module.py", 5),
        ("by_package_module.py", 5),
        ("by_star.py", 5),
    }


def test_a_definition_of_the_same_name_elsewhere_has_its_own_callers(scopes: Codebase) -> None:
    assert callers(scopes, "send", "own.py") == {("own.py", 6)}


def test_a_bare_name_never_means_a_method(scopes: Codebase) -> None:
    assert callers(scopes, "Box.hold") == {("pkg/core.py", 14)}
    symbol = next(symbol for symbol in scopes.symbols_named("Box.hold"))
    # `thing.hold(2)` may mean it, `hold(1)` cannot be told either; both are counted, neither is a caller.
    assert scopes.calls_of(symbol).unproven == 2


def test_a_constructor_is_called_by_the_name_that_its_class_was_given(scopes: Codebase) -> None:
    assert callers(scopes, "Box.__init__") == {("making.py", 5)}
    assert callers(scopes, "Box") == {("making.py", 5)}


def test_what_is_defined_inside_a_function_is_called_from_inside_it(scopes: Codebase) -> None:
    assert callers(scopes, "outer.inner", "nested.py") == {("nested.py", 5)}


SCOPED = {"pkg/core.py": FILES["pkg/core.py"], **repository_files("scopes")}


@pytest.fixture
def inner(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, SCOPED)
    return opened(root)


def references(codebase: Codebase, name: str, file: str, where: str) -> list[int]:
    symbol = next(symbol for symbol in codebase.symbols_named(name) if symbol.file == file)
    found = codebase.references(symbol)
    return sorted(item.line for item in found if item.file == where and item.kind != "import")


def test_a_local_variable_a_keyword_and_a_word_in_prose_are_no_references(inner: Codebase) -> None:
    # The default, the lambda, what `global` names, and the method that does not see its class's names.
    assert references(inner, "send", "pkg/core.py", "scoped.py") == [16, 19, 31, 32, 39]


def test_callers_of_a_function_are_not_those_of_a_parameter_or_local_variable(inner: Codebase) -> None:
    assert {line for file, line in callers(inner, "send") if file == "scoped.py"} == {19, 32}


def test_the_class_of_an_object_tells_whose_method_is_called(inner: Codebase) -> None:
    lines = {line for file, line in callers(inner, "Box.hold") if file == "kinds.py"}
    # self and super() of an heir, attributes and parameters with a class, objects made on the spot.
    assert lines == {7, 8, 19, 21, 25, 30, 33}
    own = {line for file, line in callers(inner, "Other.hold", "kinds.py") if file == "kinds.py"}
    assert own == {18, 31}


def test_a_mention_of_a_method_is_judged_by_its_object_too(inner: Codebase) -> None:
    assert references(inner, "Other.hold", "kinds.py", "kinds.py") == [18, 31]


def test_a_plain_name_leaves_out_what_functions_keep_to_themselves(inner: Codebase) -> None:
    lines = {item.line for item in inner.references("send") if item.file == "scoped.py"}
    assert not lines & {7, 11, 13, 17, 24}
    assert {16, 19, 32, 39} <= lines


def test_importers_of_a_definition_are_found_through_what_hands_it_on(scopes: Codebase) -> None:
    data = explore_symbol_usage(scopes, "pkg.core.send").data
    assert {row["file"] for row in data["importers"]} == {
        "pkg/__init__.py",
        "by_name.py",
        "by_alias.py",
        "by_package.py",
    }


def test_who_imports_other_names_of_a_module_is_no_importer_of_a_name(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    files = {
        "pkg/core.py": "def send(x):\n    return x\n\n\ndef twice(x):\n    return x\n",
        "other.py": "from pkg.core import twice\n",
        "whole.py": "import pkg.core\n",
        "part.py": "from pkg import core\n",
        "star.py": "from pkg.core import *\n",
    }
    write_files(root, files)
    rows = explore_symbol_usage(opened(root), "send").data["importers"]
    assert {(row["file"], row["imports"]) for row in rows} == {
        (f"{at}.py", "module") for at in ("whole", "part", "star")
    }


HEIRS = {
    "a.py": "class Base:\n    def run(self):\n        self.step()\n\n    def step(self):\n        pass\n",
    "b.py": "from a import Base\n\n\nclass Middle(Base):\n    def go(self):\n        self.step()\n\n\n"
    "class Leaf(Middle):\n    def step(self):\n        super().step()\n\n    def again(self):\n        self.step()\n",
    "c.py": "class Mixin:\n    def use(self):\n        self.step()\n\n\nclass Lone:\n    def use(self):\n"
    "        self.step()\n",
    "e.py": "from b import Leaf\n\n\nclass Low(Leaf):\n    def step(self):\n        super().step()\n",
    "d.py": "from b import Middle\nfrom c import Mixin\n\n\nclass Both(Mixin, Middle):\n    pass\n",
}


def test_a_method_is_reached_through_heirs_unless_they_have_their_own(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    write_files(root, HEIRS)
    codebase = opened(root)
    assert callers(codebase, "Base.step", "a.py") == {("a.py", 3), ("b.py", 6), ("b.py", 11)}
    assert callers(codebase, "Leaf.step", "b.py") == {("b.py", 14), ("e.py", 6)}


@pytest.mark.parametrize(
    ("source", "word"),
    [
        (b"", b"x"),
        (b"x", b"x"),
        (b"xx x xx x", b"x"),
        (b"aa aaa aa", b"aa"),
        (b"x_ _x x1 1x x.x", b"x"),
        ("éx xé ñx".encode(), b"x"),
        (b"a.b a.b.c", b"a.b"),
        (b"\nx\nx", b"x"),
    ],
)
def test_whole_words_are_found_where_a_regular_expression_finds_them(source: bytes, word: bytes) -> None:
    pattern = rb"(?<![\w])" + re.escape(word) + rb"(?![\w])"
    assert list(places_of_word(source, word)) == [found.start() for found in re.finditer(pattern, source)]


def test_a_file_is_parsed_once_for_questions_about_all_its_names(scopes: Codebase) -> None:
    source = scopes.source("pkg/core.py")
    assert python_file(source) is python_file(scopes.source("pkg/core.py"))


def test_a_file_forgets_the_bindings_of_names_before_they_add_up() -> None:
    count = 3 * MAX_KNOWN_NAMES
    made = (f"def f{i}(a{i}):\n    global g{i}\n    g{i} = a{i}\n    return f{i}\n" for i in range(count))
    read = PythonFile("".join(made))
    for i in range(count):
        assert [use.where for use in read.uses(f"a{i}")] == ["local", "local"]
    assert len(read._bound) <= MAX_KNOWN_NAMES
    assert {use.where for use in read.uses("g0")} == {"module"}
