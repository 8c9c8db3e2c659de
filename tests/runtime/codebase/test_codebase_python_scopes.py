from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
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
        ("object.py", 2),
    }


def test_a_definition_of_the_same_name_elsewhere_has_its_own_callers(scopes: Codebase) -> None:
    assert callers(scopes, "send", "own.py") == {("own.py", 6), ("object.py", 2)}


def test_a_bare_name_never_means_a_method(scopes: Codebase) -> None:
    assert callers(scopes, "Box.hold") == {("pkg/core.py", 14), ("object.py", 4)}


def test_a_constructor_is_called_by_the_name_that_its_class_was_given(scopes: Codebase) -> None:
    assert callers(scopes, "Box.__init__") == {("making.py", 5)}
    assert callers(scopes, "Box") == {("making.py", 5)}


def test_what_is_defined_inside_a_function_is_called_from_inside_it(scopes: Codebase) -> None:
    assert callers(scopes, "outer.inner", "nested.py") == {("nested.py", 5)}
