"""Cython is judged by Python's grammar: bodies that do nothing are empty, and those that do something are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.language_parts.cython_lines import as_python
from runtime.codebase.parsing.bodies.empty_bodies import is_empty

HEADS = [
    "cdef int load(int x) nogil:",
    "cdef inline int load(int x, double[:] y=None) except? -1:",
    "cpdef double load(double x) except -1:",
    "cpdef load(self, str url, *args, **more):",
    "cdef public api unsigned long load(char* x) noexcept nogil:",
    "def load(int x, object y=(1, 2)):",
    "cdef int load(\n    int x,\n    int y,\n) nogil:",
    "cdef vector[int] load(Thing& x) except +:",
]
NOTHING = [
    "pass",
    "...",
    "return 0",
    "return None",
    "raise NotImplementedError",
    '"""Does it."""',
    "# later",
    "with nogil:\n        pass",
    "cdef int kept\n    return 0",
]
SOMETHING = [
    "return fetch(x)",
    "cdef int kept = fetch(x)\n    return kept",
    "with nogil:\n        fetch(x)",
    "x += <int>fetch(x)",
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("body", NOTHING)
def test_a_body_of_cython_that_does_nothing_is_empty(head: str, body: str) -> None:
    text = f"import net\n\n\n{head}\n    {body}\n"
    last = text.count("\n")
    assert is_empty(text, "a.pyx", 4, last)
    assert is_empty(text, "a.pyx", 4, 4 + head.count("\n"))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("body", SOMETHING)
def test_a_body_of_cython_that_does_something_is_not_empty(head: str, body: str) -> None:
    text = f"import net\n\n\n{head}\n    {body}\n"
    assert not is_empty(text, "a.pyx", 4, text.count("\n"))
    assert not is_empty(text, "a.pyx", 4, 4 + head.count("\n"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cdef class A(B):\n    pass\n", "class A(B):\n    pass\n"),
        ("cdef int x = f(y)\n", "x = f(y)\n"),
        ("cdef int x, y\n", "pass\n"),
        ("from libc.math cimport sin\n", "from libc.math import sin\n"),
        ("cimport numpy as np\n", "import numpy as np\n"),
        ("x = <double*>y + 1\n", "x = y + 1\n"),
        ("if a < b and c > d:\n    f()\n", "if a < b and c > d:\n    f()\n"),
        ("x = {a: f(b)}\n", "x = {a: f(b)}\n"),
    ],
)
def test_cython_is_written_as_the_python_that_says_the_same(text: str, told: str) -> None:
    assert as_python(text) == told


def test_declarations_of_cython_are_no_empty_bodies() -> None:
    assert not is_empty("cdef int load(int x) nogil\n", "a.pxd", 1, 1)


@given(
    st.lists(
        st.sampled_from([*HEADS, *NOTHING, *SOMETHING, "  cdef class A:", "cdef:", "((", "cdef int x = ("]), max_size=8
    )
)
def test_as_many_lines_come_out_as_went_in(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert as_python(text).count("\n") == text.count("\n")
