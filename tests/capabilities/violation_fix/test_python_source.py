"""What is read from source: functions, what a file offers, excuses; and where an exception is planted."""

from __future__ import annotations

import pytest

from actors.capabilities.violation_fix.verification.python_source import (
    PLANTED,
    excuses,
    function_at,
    functions_of,
    public_signatures,
    with_planted_exception,
)

NESTED = b"""\
import functools

@functools.cache
@staticmethod
def outer(a):
    'Text.'
    class Inner:
        def method(self):
            return 1
    async def inner():
        return 2
    return Inner
"""


def test_functions_are_found_with_their_qualified_names_and_decorators() -> None:
    found = [(each.name, each.first_line, each.line, each.end_line) for each in functions_of(NESTED)]
    assert found == [("outer", 3, 5, 12), ("outer.Inner.method", 8, 8, 9), ("outer.inner", 10, 10, 11)]
    names = {line: place.name if (place := function_at(NESTED, line)) else "" for line in (1, 3, 6, 9, 11, 12)}
    assert names == {1: "", 3: "outer", 6: "outer", 9: "outer.Inner.method", 11: "outer.inner", 12: "outer"}


@pytest.mark.parametrize(
    "source",
    [
        b"def f():\n    return 1\n",
        b"def f():\r\n\treturn 1\r\n",
        b"def f(): return 1\n",
        b"def f(): a = 1; return a\n",
        b"def f():\n    '''Text\n    of lines.'''\n    return 1\n",
        b"def f():\n    @staticmethod\n    def g(): pass\n    return 1\n",
        b"def f():\n    # more\n    for a in range(3):\n        pass\n    return 1\n",
        b"def f(): 'text'",
        "def f(a='ü'): return a or 'é'\n".encode(),
        b"class C:\n  def m(self):\n    pass\n\ndef f():\n  x = (1,\n2)\n  return x\n",
    ],
)
def test_a_planted_exception_is_raised_at_the_first_call_and_not_before(source: bytes) -> None:
    place = next(each for each in functions_of(source) if each.name == "f")
    planted = with_planted_exception(source, place.first_line)
    assert planted is not None
    names: dict[str, object] = {}
    exec(compile(planted, "planted", "exec"), names)
    with pytest.raises(RuntimeError, match=PLANTED):
        names["f"]()  # type: ignore[operator]
    assert (b"\r\n" in planted) == (b"\r\n" in source)


def test_nothing_is_planted_where_no_function_begins() -> None:
    assert with_planted_exception(NESTED, 2) is None


def test_what_a_file_offers_is_named_with_its_signature() -> None:
    source = (
        b"from a import b\nimport c.d\nNAME = _hidden = 1\n"
        b"def f(x: int, /, y=2, *z, k, **w) -> str: ...\n"
        b"async def g(): ...\ndef _private(): ...\n"
        b"class C(Base, metaclass=M):\n  size: int = 1\n  def __init__(self): ...\n  def _inner(self): ...\n"
        b"  @property\n  def p(self): ...\n"
        b"class _D:\n  def m(self): ...\n"
        b"try:\n  def h(): ...\nexcept ImportError:\n  OTHER = 1\n"
    )
    assert public_signatures(source) == {
        "NAME": "name",
        "f": "def (x: int, /, y=2, *z, k, **w) -> str",
        "g": "async def ()",
        "C": "class (Base, metaclass=M)",
        "C.size": "name",
        "C.__init__": "def (self)",
        "C.p": "@property def (self)",
        "h": "def ()",
        "OTHER": "name",
    }
    assert {"b", "c"} <= set(public_signatures(source, exports_imports=True))


def test_comments_that_excuse_are_counted_and_strings_are_none() -> None:
    source = b'a = 1  # noqa\nb = "# noqa"  # type: ignore[x]\nc = 1  # plain\nd = 1  # noqa\n'
    assert excuses(source) == {"# noqa": 2, "# type: ignore[x]": 1}


@pytest.mark.parametrize("source", [b"def f(:\n", b"x = 1\0\n", b"# -*- coding: nonsense -*-\n"])
def test_what_python_cannot_parse_raises(source: bytes) -> None:
    for read in (functions_of, public_signatures):
        with pytest.raises((SyntaxError, ValueError)):
            read(source)


@pytest.mark.parametrize("nested", ["x = a" + ".b" * 950, "x = a" + ".b" * 5_000, "x = " + "-" * 20_000 + "1"])
def test_a_file_that_is_nested_too_deep_counts_as_one_that_does_not_parse(nested: str) -> None:
    source = f"def f():\n    {nested}\n".encode()
    for read in (functions_of, public_signatures, lambda text: with_planted_exception(text, 1)):
        try:
            read(source)
        except SyntaxError as error:
            assert "nested too deep" in str(error)
