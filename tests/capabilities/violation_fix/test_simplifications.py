"""Loops, choices, handlers and nested functions are simplified without changing what they do, or are left alone."""

from __future__ import annotations

import ast
import textwrap
import warnings
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.capabilities.violation_fix.refactoring.flow.name_scopes import find_function, places_of
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused, RefusedRefactoring
from actors.capabilities.violation_fix.refactoring.simplifications.registry import (
    SIMPLIFICATIONS,
    simplifications_in,
    simplify_statement,
)
from actors.capabilities.violation_fix.refactoring.simplifications.spot import spots_in
from actors.capabilities.violation_fix.refactoring.source_text import SourceText
from actors.capabilities.violation_fix.refactoring.tail_returns import with_early_returns
from tests.capabilities.violation_fix.random_functions import Writer, observe


def function(body: str) -> str:
    return "def f(a, b, c):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


def all_of_kind(source: str, kind: str) -> str:
    """Apply one kind of simplification to the first statement that it fits; return the source as it is if to none."""
    text = SourceText(source)
    place = find_function(text.tree, "f")
    assert place is not None
    for spot in spots_in(text, place, 88):
        try:
            found = SIMPLIFICATIONS[kind](spot)
        except RefusedRefactoring:
            continue  # the next place may allow it
        if found is not None:
            return found
    return source


EXACT = {
    "return_any": (
        "for x in a:\n    if x.ready(b):\n        return True\nreturn False",
        "return any(x.ready(b) for x in a)",
    ),
    "return_any of not": (
        "for x in a:\n    if not x:\n        return False\nreturn True",
        "return all(x for x in a)",
    ),
    "flag_any": (
        "found = False\nfor x in a:\n    if x == b:\n        found = True\n        break\nreturn found",
        "found = any(x == b for x in a)\nreturn found",
    ),
    "test_any": (
        "for x in a:\n    if x in b:\n        return c\nreturn b",
        "if any(x in b for x in a):\n    return c\nreturn b",
    ),
    "collect": (
        "out = []\nfor x, y in a:\n    if x:\n        out.append(y)\nreturn out",
        "out = [y for x, y in a if x]\nreturn out",
    ),
    "collect in a set": (
        "out = set()\nfor x in a:\n    out.add(x)\nreturn out",
        "out = {x for x in a}\nreturn out",
    ),
    "collect in a dictionary": (
        "out: dict[str, int] = {}\nfor x in a:\n    out[x] = 1\nreturn out",
        "out: dict[str, int] = {x: 1 for x in a}\nreturn out",
    ),
    "extend_list": (
        "out = []\nb(out)\nfor x in a:\n    if x:\n        out.append(c(x))\nreturn out",
        "out = []\nb(out)\nout.extend(c(x) for x in a if x)\nreturn out",
    ),
    "join_nested": (
        "if a:\n    # Why b.\n    if b:\n        c()",
        "# Why b.\nif a and b:\n    c()",
    ),
    "merge_handlers": (
        "try:\n    a()\nexcept KeyError:\n    return 1\nexcept (OSError, c.E):\n    return 1",
        "try:\n    a()\nexcept (KeyError, OSError, c.E):\n    return 1",
    ),
    "leave_else": (
        "try:\n    x = a()\nexcept KeyError:\n    return 1\nelse:\n    # fine\n    return x",
        "try:\n    x = a()\nexcept KeyError:\n    return 1\n# fine\nreturn x",
    ),
    "return_choice": ("if a:\n    return b\nreturn c", "return b if a else c"),
    "assign_choice": ("if a:\n    x = b\nelse:\n    x = c\nreturn x", "x = b if a else c\nreturn x"),
    "assign_choice of truth": (
        "if a == b:\n    x = True\nelse:\n    x = False\nreturn x",
        "x = bool(a == b)\nreturn x",
    ),
    "assign_choice of neighbours": (
        "if a:\n    x = b\nelse:\n    x = c\n\nif b:\n    a.y = c\nelse:\n    a.y = a\nreturn x",
        "x = b if a else c\n\na.y = c if b else a\nreturn x",
    ),
    "loop_over messages": (
        "if a.x:\n    raise KeyError('no a', a)\nif b.x:\n    raise KeyError('no b', b)\n"
        "if c.x:\n    raise KeyError('no c', c)",
        "for message, value in (('no a', a), ('no b', b), ('no c', c)):\n    if value.x:\n"
        "        raise KeyError(message, value)",
    ),
    "assign_choice of an argument": (
        "if a:\n    x = b(1, c, k=2)\nelse:\n    x = b(1, a, k=2)\nreturn x",
        "x = b(1, c if a else a, k=2)\nreturn x",
    ),
    "assign_choice of an item": (
        "if a:\n    b['x'] = 1\nelse:\n    b['x'] = c(a)\nreturn b",
        "b['x'] = 1 if a else c(a)\nreturn b",
    ),
    "assign_choice of what is added": (
        "x = b\nif a:\n    x += 'n'\nelse:\n    x += b'n'\nreturn x",
        "x = b\nx += 'n' if a else b'n'\nreturn x",
    ),
    "call_choice of a call": ("if a:\n    b(1, c(2))\nelse:\n    b(1, c)", "b(1, c(2) if a else c)"),
    "yield_from": (
        "for x in b(a):\n    yield x\nyield c",
        "yield from b(a)\nyield c",
    ),
    "call_choice": ("if a:\n    b.add(1)\nelse:\n    b.add(c)", "b.add(1 if a else c)"),
    "loop_over": (
        "d = {}\nif a is not None:\n    d['a'] = a\nif b is not None:\n    d['b'] = b\n"
        "if c is not None:\n    d['c'] = c\nreturn d",
        "d = {}\nfor key, value in (('a', a), ('b', b), ('c', c)):\n    if value is not None:\n"
        "        d[key] = value\nreturn d",
    ),
    "loop_over keys": (
        "if 'x' in a:\n    b.append('x')\nif 'y' in a:\n    b.append('y')\nif 'z' in a:\n    b.append('z')",
        "for key in ('x', 'y', 'z'):\n    if key in a:\n        b.append(key)",
    ),
    "assign_default": ("x = 0\nif a:\n    x = b\nreturn x", "x = b if a else 0\nreturn x"),
    "assign_choice of a text": (
        "if a == '>':\n    x = True\nelse:\n    x = False\nreturn x",
        "x = a == '>'\nreturn x",
    ),
    "assign_choice of any values": (
        "if a == b:\n    x = True\nelse:\n    x = False\nreturn x",
        "x = bool(a == b)\nreturn x",
    ),
    "return_first": (
        "for x in a:\n    if x.ready(b):\n        return x.name\nreturn None",
        "return next((x.name for x in a if x.ready(b)), None)",
    ),
    "return_first or a name": (
        "for x in a:\n    if x:\n        return x\nreturn b",
        "return next((x for x in a if x), b)",
    ),
    "assign_first": (
        "found = None\nfor x in a:\n    if x == b:\n        found = x.name\n        break\nreturn found",
        "found = next((x.name for x in a if x == b), None)\nreturn found",
    ),
    "count_hits": (
        "count = 0\nfor x in a:\n    if x == b:\n        count += 1\nreturn count",
        "count = sum(1 for x in a if x == b)\nreturn count",
    ),
    "extend_list of a set": (
        "out = set()\nprint(out)\nfor x in a:\n    out.add(x.name)\nreturn out",
        "out = set()\nprint(out)\nout.update(x.name for x in a)\nreturn out",
    ),
    "set_default": (
        "d = {}\nfor x in a:\n    if x not in d:\n        d[x] = []\n    d[x].append(b)\nreturn d",
        "d = {}\nfor x in a:\n    d.setdefault(x, []).append(b)\nreturn d",
    ),
    "set_default alone": (
        "d = dict()\nif a not in d:\n    d[a] = 1\nreturn d",
        "d = dict()\nd.setdefault(a, 1)\nreturn d",
    ),
    "get_attribute": (
        "try:\n    x = a.name\nexcept AttributeError:\n    x = None\nreturn x",
        'x = getattr(a, "name", None)\nreturn x',
    ),
    "get_attribute as others are quoted": (
        "try:\n    return a.name\nexcept AttributeError:\n    return 'none'",
        "return getattr(a, 'name', 'none')",
    ),
    "get_item": (
        "d = {1: b}\nif a in d:\n    x = d[a]\nelse:\n    x = c\nreturn x",
        "d = {1: b}\nx = d.get(a, c)\nreturn x",
    ),
    "get_item or None": (
        "d = {1: b}\nx = None\nif a in d:\n    x = d[a]\nreturn x",
        "d = {1: b}\nx = d.get(a)\nreturn x",
    ),
    "get_item that is returned": (
        "d = {1: b}\nif a in d:\n    return d[a]\nreturn 0",
        "d = {1: b}\nreturn d.get(a, 0)",
    ),
    "get_item that is taken": (
        "d = {1: b}\nif a in d:\n    x = d.pop(a)\nelse:\n    x = None\nreturn x, d",
        "d = {1: b}\nx = d.pop(a, None)\nreturn x, d",
    ),
    "get_item that is deleted": (
        "d = {1: b}\nif a in d:\n    del d[a]\nreturn d",
        "d = {1: b}\nd.pop(a, None)\nreturn d",
    ),
    "loop_on_read": (
        "x: int\nwhile True:\n    x = a.read(b)\n    if not x:\n        break\n\n    # use it\n    c(x)\nreturn x",
        "x: int\nwhile x := a.read(b):\n    # use it\n    c(x)\nreturn x",
    ),
    "loop_on_read of nothing": (
        "x: int\nwhile True:\n    x = a()\n    if x is None:\n        break\n    c(x)\nreturn x",
        "x: int\nwhile (x := a()) is not None:\n    c(x)\nreturn x",
    ),
    "collect from a choice of tuples": (
        "out = []\nfor x in (a,) if a else (b, c):\n    out.append(x)\nreturn out",
        "out = [x for x in ((a,) if a else (b, c))]\nreturn out",
    ),
    "collect from a loose tuple": (
        "out = []\nfor x in (a, b), (b, c):\n    out.append(x)\nreturn out",
        "out = [x for x in ((a, b), (b, c))]\nreturn out",
    ),
    "collect behind a guard": (
        "out = []\nfor x in a:\n    if not x.ready:\n        continue\n    out.append(x)\nreturn out",
        "out = [x for x in a if x.ready]\nreturn out",
    ),
    "return_any behind a guard": (
        "for x in a:\n    if x in b:\n        continue\n    return False\nreturn True",
        "return all(x in b for x in a)",
    ),
    "collect of a loop in a loop": (
        "out = []\nfor x in a:\n    for y in x.parts:\n        if y:\n            out.append(y)\nreturn out",
        "out = [y for x in a for y in x.parts if y]\nreturn out",
    ),
    "collect what a name carries": (
        "out = []\nfor x in a:\n    y = b(x)\n    out.append(y)\nreturn out",
        "out = [b(x) for x in a]\nreturn out",
    ),
    "collect from further above": (
        "out = []\nrows = b(a)\nfor x in rows:\n    out.append(x.name)\nreturn out",
        "rows = b(a)\nout = [x.name for x in rows]\nreturn out",
    ),
    "extend_list of a loop in a loop": (
        "out = set([])\nb(out)\nfor x in a:\n    for y in x:\n        out.add(y)\nreturn out",
        "out = set([])\nb(out)\nout.update(y for x in a for y in x)\nreturn out",
    ),
    "gather_item": (
        "d = {}\nfor x in a:\n    if x in d:\n        d[x].append(b)\n    else:\n        d[x] = [b]\nreturn d",
        "d = {}\nfor x in a:\n    d.setdefault(x, []).append(b)\nreturn d",
    ),
    "gather_item in a set": (
        "d = {}\nif a not in d:\n    d[a] = {b}\nelse:\n    d[a].add(b)\nreturn d",
        "d = {}\nd.setdefault(a, set()).add(b)\nreturn d",
    ),
    "gather_item counted": (
        "d = {}\nfor x in a:\n    if x in d:\n        d[x] += 1\n    else:\n        d[x] = 1\nreturn d",
        "d = {}\nfor x in a:\n    d[x] = d.get(x, 0) + 1\nreturn d",
    ),
    "return_either": ("if a is None:\n    return True\nreturn b(a)", "return a is None or b(a)"),
    "return_either of False": ("if a.x:\n    return False\nreturn b(a)", "return not a.x and b(a)"),
    "join_same": (
        "if a is not None:\n    b(a)\n\nif a is not None:\n    c(a)\nreturn b",
        "if a is not None:\n    b(a)\n\n    c(a)\nreturn b",
    ),
    "join_same of opposites": (
        "if a is None:\n    b(a)\n\nif a is not None:\n    c(a)\nreturn b",
        "if a is None:\n    b(a)\nelse:\n    c(a)\nreturn b",
    ),
    "return_choice of what is there": ("if a:\n    return a\nreturn b.x", "return a or b.x"),
    "assign_choice of what is there": ("if not a:\n    x = b\nelse:\n    x = a\nreturn x", "x = a or b\nreturn x"),
    "assign_default a name": ("x = b\nif a:\n    x = c.x\nreturn x", "x = c.x if a else b\nreturn x"),
    "assign_default an empty list": ("x = []\nif a:\n    x = b\nreturn x", "x = b if a else []\nreturn x"),
    "loop_over a chain": (
        "if a in (1, 2):\n    return 'x'\nelif b in (1, 2):\n    return 'y'\nelif c in (1, 2):\n    return 'z'\n"
        "else:\n    print(a)\n    return None",
        "for name, value in (('x', a), ('y', b), ('z', c)):\n    if value in (1, 2):\n        return name\n"
        "print(a)\nreturn None",
    ),
    "assign_extreme": ("if a > b:\n    b = a\nreturn b", "b = max(b, a)\nreturn b"),
    "assign_extreme at least": ("if a < b:\n    b = a\nreturn b", "b = min(b, a)\nreturn b"),
    "assign_extreme of a number": ("if b < 0:\n    b = 0\nreturn b", "b = max(b, 0)\nreturn b"),
    "return_choice of two things": ("if a:\n    return b, c\nreturn b", "return (b, c) if a else b"),
    "assign_missing": ("if a is None:\n    a = b.x()\nreturn a", "a = b.x() if a is None else a\nreturn a"),
    "assign_missing of a type": (
        "if isinstance(a, str):\n    a = [a]\nreturn a",
        "a = [a] if isinstance(a, str) else a\nreturn a",
    ),
    "assign_missing of no type": (
        "if not isinstance(a, list):\n    a = [a]\nreturn a",
        "a = a if isinstance(a, list) else [a]\nreturn a",
    ),
    "assign_other": ("if not a:\n    a = b.x\nreturn a", "a = a or b.x\nreturn a"),
    "assign_other a text": ("if not a:\n    a = 'x'\nreturn a", "a = a or 'x'\nreturn a"),
    "assign_other a flag": (
        "x = a is b\nfor y in c:\n    if not x:\n        x = True\n    b(x)\n    x = False",
        "x = a is b\nfor y in c:\n    x = True\n    b(x)\n    x = False",
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_it_writes(name: str) -> None:
    before, after = EXACT[name]
    assert all_of_kind(function(before), name.partition(" ")[0]) == function(after)


MATCHES = """{head}
def f(a, b, c):
    if SHIFT.match(a):
        return 'shift'
    if CONDITION.match(a):
        return 'eq'
    if BARRIER.match(a):
        return 'isb'
    return b
{tail}"""
PATTERNS = "SHIFT = c('<')\nCONDITION = c('eq')\nBARRIER = c('isb')"


def test_patterns_that_are_matched_one_after_the_other_are_gone_through() -> None:
    done = all_of_kind(MATCHES.format(head=PATTERNS, tail=""), "loop_over")
    assert done == PATTERNS + (
        "\ndef f(a, b, c):\n"
        "    for name, pattern in (('shift', SHIFT), ('eq', CONDITION), ('isb', BARRIER)):\n"
        "        if pattern.match(a):\n"
        "            return name\n"
        "    return b\n"
    )


GROUPS = """class Kinds:
    low = high = top = (0,)


{decorator}class Escaper:
    low = (1,)
    high = (2,)
    top = (3,)
{tail}

def f(a, b, c):
    if a in Escaper.low:
        return 'L'
    elif a in Escaper.high:
        return 'H'
    elif a in Escaper.top:
        return 'T'
    return b
"""


@pytest.mark.parametrize(
    ("decorator", "tail", "is_written"),
    [
        ("", "", True),
        ("@b\n", "", False),
        ("", "Escaper = Kinds\n", False),
        ("", "Kinds.top = 4\n", False),
        ("", "del Escaper.low\n", False),
    ],
)
def test_attributes_that_a_class_gives_itself_are_gone_through(decorator: str, tail: str, is_written: bool) -> None:
    source = GROUPS.format(decorator=decorator, tail=tail)
    done = all_of_kind(source, "loop_over")
    assert ("for name, members in (('L', Escaper.low), ('H', Escaper.high), ('T', Escaper.top)):" in done) is is_written
    assert (done == source) is not is_written


@pytest.mark.parametrize(("annotation", "is_written"), [("", True), (": Any", True), (": int", False)])
def test_keyword_arguments_of_any_type_take_what_a_loop_goes_through(annotation: str, is_written: bool) -> None:
    rows = "".join(f"    if {name} is not None:\n        kw['{name}'] = {name}\n" for name in "abc")
    source = f"def f(a: str, b: int, c: str, **kw{annotation}):\n{rows}    return kw\n"
    assert (all_of_kind(source, "loop_over") != source) is is_written


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (PATTERNS.replace("BARRIER", "OTHER"), ""),
        (PATTERNS.replace("BARRIER", "OTHER"), "BARRIER = c('isb')"),
        (PATTERNS, "BARRIER = c('dsb')"),
        (PATTERNS, "def g():\n    global BARRIER\n    BARRIER = c('dsb')"),
        (PATTERNS, "def g(BARRIER):\n    return BARRIER"),
        (PATTERNS.replace("BARRIER =", "if c:\n    BARRIER ="), ""),
        (PATTERNS.replace("BARRIER = c('isb')", "from c import BARRIER"), ""),
    ],
)
def test_what_may_be_bound_anew_is_looked_up_where_it_stands(head: str, tail: str) -> None:
    source = MATCHES.format(head=head, tail=tail)
    assert all_of_kind(source, "loop_over") == source


def test_keyword_arguments_are_a_dictionary_unless_the_name_is_bound_anew() -> None:
    source = "def f(**kw):\n    if 'a' in kw:\n        x = kw.pop('a')\n    else:\n        x = 1\n    return x\n"
    assert all_of_kind(source, "get_item") == "def f(**kw):\n    x = kw.pop('a', 1)\n    return x\n"
    bound = source.replace("    if 'a'", "    kw = g(kw)\n    if 'a'")
    assert all_of_kind(bound, "get_item") == bound


@pytest.mark.parametrize(("length", "lines"), [(33, 1), (34, 3), (38, 3), (39, 4)])
def test_a_choice_too_long_for_one_line_stands_on_a_line_of_its_own(length: int, lines: int) -> None:
    value = f"b.some_thing.{'a' * length}"
    before = f"if a.ready(b):\n    a.name = {value}\nelse:\n    a.name = c.nothing\nreturn a"
    done = all_of_kind(function(before), "assign_choice")
    assert len(done.splitlines()) == lines + 2
    assert (f"        {value} if a.ready(b) else c.nothing\n" in done) is (lines == 3)


def test_a_call_too_long_for_two_lines_stands_on_more() -> None:
    long = "quite_a_long_name"
    asked = f"{long}.is_ready(b, c, 'some words', None)"
    setting = "        found = True\n        break\nreturn found"
    before = f"found = False\nfor {long} in a.parts:\n    if {asked}:\n{setting}"
    after = f"found = any(\n    {asked}\n    for {long} in a.parts\n)\nreturn found"
    assert all_of_kind(function(before), "flag_any") == function(after)


KEPT = {
    "return_any": [
        "for x in a:\n    if x:\n        return True\n    b()\nreturn False",
        "for x in a:\n    if next(b):\n        return True\nreturn False",
        "try:\n    for x in a:\n        if x:\n            return True\n    return False\nfinally:\n    print(x)",
        "any = c\nfor x in a:\n    if x:\n        return True\nreturn False",
        "for x in a:\n    if x:  # why\n        return True\nreturn False",
    ],
    "flag_any": [
        "found = False\nfor x in a:\n    if x:\n        found = True\n        break\nreturn found, x",
        "found = False\nfor x in a:\n    if x:\n        found = True\nreturn found",
        "try:\n    found = False\n    for x in a():\n        if x():\n            found = True\n            break\n"
        "except OSError:\n    pass\nreturn found",
    ],
    "test_any": ["for x in a:\n    if x in b:\n        return x\nreturn b"],
    "collect": [
        "out = []\nfor x in a:\n    out.append(x)\nreturn out, x",
        "out = []\nfor x in a:\n    out.append(len(out))\nreturn out",
        "out = []\nfor x in a:\n    out.append(lambda: x)\nreturn out",
        "out = b\nfor x in a:\n    out.append(x)\nreturn out",
        "out = {}\nfor x in a:\n    out[b(x)] = c(x)\nreturn out",
        "out = []\nfor x in out:\n    out.append(x)\nreturn out",
        "out = []\nfor x in a:\n    out.append(x)\nelse:\n    b()\nreturn out",
        "out = {}\nfor x in a:\n    if x in b:\n        out[x] = b.pop(x)\nreturn out",
        "out = []\nfor x in a:\n    if b.add(x):\n        out.append(x)\nreturn out",
    ],
    "collect again": [
        "out = []\nfor x in a:\n    y = b(x)\n    out.append(y)\nreturn out, y",
        "out = []\nfor x in a:\n    y = b(x)\n    out.append((y, y))\nreturn out",
        "out = []\nb(out)\nfor x in a:\n    out.append(x)\nreturn out",
        "out = []\n\nc(b)\nfor x in a:\n    out.append(x)\nreturn out",
        "out = []\nif b:\n    return c\nfor x in a:\n    out.append(x)\nreturn out",
        "out = []\nfor x in a:\n    for x in b:\n        out.append(x)\nreturn out, x",
        "out = []\nfor x in a:\n    for y in y:\n        out.append(y)\nreturn out",
        "out = []\nfor x in a:\n    if x == b:\n        continue\n    out.append(x)\nreturn out",
        "def g():\n    return out\nout = []\nb(g)\nfor x in a:\n    out.append(x)\nreturn out",
    ],
    "gather_item": [
        "d = b\nif a in d:\n    d[a].append(c)\nelse:\n    d[a] = [c]\nreturn d",
        "d = {}\nif a in d:\n    d[a].append(c)\nelse:\n    d[a] = [b]\nreturn d",
        "d = {}\nif a in d:\n    d[a].append(c())\nelse:\n    d[a] = [c()]\nreturn d",
        "d = {}\nd[b] = c\nif a in d:\n    d[a] += 1\nelse:\n    d[a] = 1\nreturn d",
        "d = {}\nif a in d:\n    d[a] += 2\nelse:\n    d[a] = 1\nreturn d",
    ],
    "return_either": [
        "if a:\n    return True\nreturn b",
        "if a == b:\n    return False\nreturn b",
        "if not a:\n    return False\nreturn b",
        "if c:\n    return b\nif a is b:\n    return True\nreturn b",
        "if a is b:\n    return True\nreturn b or c",
    ],
    "join_same": [
        "if a is None:\n    a = b\nif a is None:\n    c(a)",
        "if a is None:\n    b()\nif b is None:\n    c(a)",
        "if a is None:\n    return b\nif a is not None:\n    c(a)",
        "if a is None:\n    b()\n# why\nif a is None:\n    c(a)",
        "def g():\n    nonlocal a\n    a = 1\nif a is None:\n    g()\nif a is None:\n    c(a)",
        "if a.x is None:\n    b()\nif a.x is None:\n    c(a)",
    ],
    "assign_default a name": [
        "x = b\nif x:\n    x = c\nreturn x",
        "def g():\n    nonlocal b\n    b = 1\nx = b\nif g():\n    x = c\nreturn x",
        "x = d\nif a:\n    x = c\nreturn x",
    ],
    "loop_over a chain": [
        "if a in (1, 2):\n    return 'x'\nelif b in (1, 2):\n    return 'y'\nelse:\n    return None",
        "if a in (1, 2):\n    print('x')\nelif b in (1, 2):\n    print('y')\nelif c in (1, 2):\n    print('z')",
    ],
    "assign_choice of neighbours": [
        "if a:\n    x = b\nelse:\n    x = c\nif b:\n    y = c\nelse:\n    z = a\nreturn x",
        "if a:\n    x = b\nelse:\n    x = c\n# why\nif b:\n    y = c\nelse:\n    y = a\nreturn x",
        "\n".join(f"if a:\n    x.p{n} = b\nelse:\n    x.p{n} = c" for n in range(4)),
    ],
    "extend_list": [
        "out = b\nfor x in a:\n    out.append(x)\nreturn out",
        "out = []\nb(out)\nfor x in a:\n    out.append(len(out))\nreturn out",
    ],
    "return_first": [
        "for x in a:\n    if x:\n        return b\nreturn c",
        "for x in a:\n    if x:\n        return x\nreturn b()",
        "for x in a:\n    if x:\n        return x\nreturn x",
        "for x in a:\n    if next(x):\n        return x\nreturn b",
        "for x in a:\n    if x:\n        return x  # why\nreturn b",
        "if b:\n    d = 1\nfor x in a:\n    if x:\n        return x\nreturn d",
        "next = b\nfor x in a:\n    if x:\n        return x\nreturn None",
    ],
    "assign_first": [
        "found = b\nfor x in a:\n    if x:\n        found = x\n        break\nreturn found",
        "found = None\nfor x in a:\n    if x:\n        found = x\nreturn found",
        "found = None\nfor x in a:\n    if x:\n        found = x\n        break\nreturn found, x",
        "found = None\nfor x in a:\n    if x == found:\n        found = x\n        break\nreturn found",
        "try:\n    found = None\n    for x in a():\n        if x():\n            found = x\n            break\n"
        "except OSError:\n    pass\nreturn found",
    ],
    "count_hits": [
        "count = 1\nfor x in a:\n    if x:\n        count += 1\nreturn count",
        "count = 0\nfor x in a:\n    if x:\n        count += 2\nreturn count",
        "count = 0\nfor x in a:\n    if x > count:\n        count += 1\nreturn count",
        "count = False\nfor x in a:\n    if x:\n        count += 1\nreturn count",
    ],
    "set_default": [
        "if a not in b:\n    b[a] = []\nb[a].append(c)",
        "d = {}\nif a not in d:\n    d[a] = b()\nreturn d",
        "d = {}\nif a not in d:\n    d[b] = []\nreturn d",
        "d = {}\nif a not in d:\n    d[a] = 0\nd[a] += 1\nreturn d",
        "d = {}\nif a not in d:\n    d[a] = []\nd[a].append(d.pop(a))\nreturn d",
        "d = {}\nif a not in d:\n    d[a] = []\nelse:\n    c()\nreturn d",
        "d = {}\nif a() not in d:\n    d[a()] = []\nreturn d",
        "d = {}\nif a not in d:\n    d[a] = []  # why\nreturn d",
        "dict = c\nd = dict()\nif a not in d:\n    d[a] = []\nreturn d",
    ],
    "get_attribute": [
        "try:\n    x = a.b.name\nexcept AttributeError:\n    x = None\nreturn x",
        "try:\n    x = a.__name\nexcept AttributeError:\n    x = None\nreturn x",
        "try:\n    x = a.name\nexcept AttributeError:\n    x = b()\nreturn x",
        "try:\n    x = a.name\nexcept AttributeError:\n    y = None\nreturn x",
        "try:\n    x = a.name\nexcept (AttributeError, KeyError):\n    x = None\nreturn x",
        "try:\n    x = a.name\nexcept AttributeError:  # an old one\n    x = None\nreturn x",
        "try:\n    x = a.name\nexcept AttributeError:\n    x = None\nfinally:\n    b()\nreturn x",
        "getattr = b\ntry:\n    x = a.name\nexcept AttributeError:\n    x = None\nreturn x",
    ],
    "get_item": [
        "if a in b:\n    x = b[a]\nelse:\n    x = c\nreturn x",
        "d = {1: b}\nif a in d:\n    x = d[a]\nelse:\n    x = b()\nreturn x",
        "d = {1: b}\nif a in d:\n    x = d[b]\nelse:\n    x = c\nreturn x",
        "d = {1: b}\nif a() in d:\n    x = d[a()]\nelse:\n    x = c\nreturn x",
        "d = {1: b}\nx = 0\nif x in d:\n    x = d[x]\nreturn x",
        "d = {1: b}\nif a in d:\n    x = d[a]\nelse:\n    y = c\nreturn x",
        "d = {1: b}\nif a in d:\n    x = d.pop(a)\nelse:\n    x = d\nreturn x",
        "d = {1: b}\nif c:\n    y = 1\nif a in d:\n    x = d[a]\nelse:\n    x = y\nreturn x",
        "d = {1: b}\ntry:\n    x = 0\n    if a in d:\n        x = d[a]\nexcept TypeError:\n    pass\nreturn x",
    ],
    "loop_on_read": [
        "while True:\n    x = a.read(b)\n    if not x:\n        break\n    c(x)\nreturn x",
        "x: int\nwhile True:\n    x = a.read(b)\n    if not c:\n        break\n    c(x)\nreturn x",
        "x: int\nwhile True:\n    x = a.read(b)\n    if not x:\n        return b\n    c(x)\nreturn x",
        "x: int\nwhile True:\n    x = a.read(b)\n    # The end.\n    if not x:\n        break\n    c(x)\nreturn x",
        "x: int\nwhile True:\n    x = a.read(b)\n    if not x:\n        break\nreturn x",
        "x: int\nwhile b:\n    x = a.read(b)\n    if not x:\n        break\n    c(x)\nreturn x",
    ],
    "merge_handlers": [
        "try:\n    a()\nexcept KeyError:\n    return 1\nexcept OSError:\n    return 2",
        "try:\n    a()\nexcept KeyError:\n    return 1\nexcept b():\n    return 1",
        "try:\n    a()\nexcept KeyError:\n    return 1  # one\nexcept OSError:\n    return 1  # two",
    ],
    "leave_else": [
        "try:\n    x = a()\nexcept KeyError:\n    x = 1\nelse:\n    x = 2\nreturn x",
        "try:\n    x = a()\nexcept KeyError:\n    return 1\nelse:\n    return x\nfinally:\n    b()",
    ],
    "return_choice": [
        "if a:\n    return 1\nif b:\n    return 2\nreturn 3",
        "if a:\n    return b or c\nreturn c",
        "if c:\n    if a:\n        return 1\n    return 2\nelif b:\n    if a:\n        return 3\n    return 4",
    ],
    "assign_choice": [
        "if c:\n    if a:\n        x = 1\n    else:\n        x = 2\nelse:\n    if b:\n        x = 3\n    else:\n"
        "        x = 4\nreturn x",
        "if a:\n    x = b\nelse:\n    y = c\nreturn x",
        "if a:\n    x = b  # why\nelse:\n    x = c\nreturn x",
        "if b:\n    x = 1\nif a:\n    x += b\nelse:\n    x += c\nreturn x",
        "if a:\n    c[a] = b\nelse:\n    c[b] = b\nreturn c",
        "x = 1\ndef g():\n    nonlocal x\n    x = 2\nif b(g):\n    x += b\nelse:\n    x += c\nreturn x",
    ],
    "yield_from": [
        "for x in a:\n    yield x\nreturn x",
        "for x in a:\n    yield x, b",
        "for x in a:\n    b = yield x",
        "for x in a:\n    yield x\nelse:\n    b()",
        "try:\n    for x in a:\n        yield x\nexcept KeyError:\n    b()",
        "for x in a:\n    yield x\nb.send(c)",
    ],
    "assign_default": [
        "x = 0\nif x == a:\n    x = b\nreturn x",
        "x = a()\nif b:\n    x = c\nreturn x",
    ],
    "assign_extreme": [
        "if b < a:\n    b = a\nreturn b",
        "if a >= b:\n    b = a\nreturn b",
        "if a() > b:\n    b = a()\nreturn b",
        "if a > b:\n    b = c\nreturn b",
        "max = c\nif a > b:\n    b = a\nreturn b",
        "if a > b:\n    b = a  # why\nreturn b",
    ],
    "assign_missing": [
        "if isinstance(a, str):\n    a = b\nreturn a",
        "if isinstance(b, str):\n    a = [a]\nreturn a",
        "if a is None:\n    b = c\nreturn b",
        "if a.x is None:\n    a.x = c\nreturn a",
        "if a is not None:\n    a = c\nreturn a",
        "if a is None:\n    a = b or c\nreturn a",
        "if a is None:\n    a = b\nelse:\n    a = c\nreturn a",
        "if a is None:\n    a = 1\nif b is None:\n    b = 2\nreturn a",
        "if a is None:\n    a = 1\nc()\nif b is None:\n    b = 2\nc()\nif c is None:\n    c = 2\nreturn a",
        "if a is None:\n    a = b  # why\nreturn a",
        "global g\nif g is None:\n    g = b\nreturn g",
    ],
    "assign_other": [
        "if not a:\n    b = c\nreturn b",
        "if not a.x:\n    a.x = c\nreturn a",
        "if not a:\n    a = b or c\nreturn a",
        "if not a:\n    a = b\nelse:\n    a = c\nreturn a",
        "if not a:\n    a = True\nreturn a",
        "x = a\nif not x:\n    x = True\nreturn x",
        "x = a == b\nif not x:\n    x = True\nreturn x",
        "x = a is b\nif not x:\n    x = False\nreturn x",
        "for x in a:\n    if not x:\n        x = True\n    b(x)",
        "if a:\n    x = False\nif not x:\n    x = True\nreturn x",
        "x = False\nx += a\nif not x:\n    x = True\nreturn x",
        "x = False\nimport x.y\nif not x:\n    x = True\nreturn x",
        "x = False\nif (x := a):\n    b(x)\nif not x:\n    x = True\nreturn x",
    ],
    "call_choice": [
        "if a:\n    b.add(1)\nelse:\n    c.add(1)",
        "if a():\n    b.add(1)\nelse:\n    b.add(2)",
        "if a:\n    b(c(), 1)\nelse:\n    b(c(), 2)",
    ],
    "loop_over": [
        "if a:\n    c['a'] = a\nif b:\n    c['b'] = b",
        "if a:\n    b = a\nif b:\n    b = b\nif c:\n    b = c",
        "if a:\n    c(a.x)\nif b:\n    c(b.y)\nif c:\n    c(c.z)",
        "if a:\n    print(a, f'{a}')\nif b:\n    print(b, f'{b}')\nif c:\n    print(c, f'{c}')",
        "if a:\n    print(a, a)\nif b:\n    print(b, a)\nif c:\n    print(c, a)",
        "if a:\n    return a\nif b:\n    return b\nif c:\n    return c\nelse:\n    print()",
    ],
    "suppress_exception": [
        "try:\n    a()\nexcept Exception:\n    pass",
        "try:\n    a()\nexcept KeyError as e:\n    pass",
        "try:\n    a()\nexcept KeyError:\n    pass  # it is gone",
        "import contextlib\nfor x in b:\n    try:\n        a()\n    except KeyError:\n        continue\n    c()",
        "import contextlib\nfor x in b:\n    if x:\n        try:\n            a()\n        except KeyError:\n"
        "            continue\n    c()",
        "import contextlib\ntry:\n    a()\nexcept KeyError:\n    return\nreturn b",
        "import contextlib\ntry:\n    a()\nexcept KeyError:\n    return 1",
    ],
    "move_out": [
        "def read_part(x):\n    return x + b\nb = 2\nreturn read_part(a)",
        "def read_part(x):\n    return x + b\nreturn c(read_part)",
        "def wrapper(x):\n    return x + b\nreturn wrapper(a)",
        "@c\ndef read_part(x):\n    return x\nreturn read_part(a)",
        "def read_part(x=b):\n    return x\nreturn read_part(a)",
        "n = 0\ndef read_part(x):\n    nonlocal n\n    n += 1\nread_part(a)\nreturn n",
        "def read_part(x):\n    return x + b\nreturn [read_part(b) for b in a]",
        # Outside, doctest would run these examples, without the names that they need.
        "def read_part(x):\n    '''>>> read_part(2)\n    1\n    '''\n    return x / 2\nreturn read_part(a)",
        # What `c` has under the key `b` would be a second value of the parameter `b`.
        "def read_part(**options):\n    return options, b\nreturn read_part(**c)",
        "def read_part(x, **options):\n    return x, options, b\nreturn read_part(a, **c)",
    ],
}


@pytest.mark.parametrize(("kind", "body"), [(kind, body) for kind, bodies in KEPT.items() for body in bodies])
def test_it_leaves_alone_what_it_would_change(kind: str, body: str) -> None:
    assert all_of_kind(function(body), kind.partition(" ")[0]) == function(body)


def test_a_suppressed_exception_brings_its_import_in_order() -> None:
    source = "import argparse\nimport os\n\n\n" + function("try:\n    a()\nexcept (KeyError, OSError):\n    pass")
    expected = "import argparse\nimport contextlib\nimport os\n\n\n" + function(
        "with contextlib.suppress(KeyError, OSError):\n    a()"
    )
    assert all_of_kind(source, "suppress_exception") == expected
    unordered = source.replace("import argparse\nimport os", "import os\nimport argparse")
    assert all_of_kind(unordered, "suppress_exception") == unordered


@pytest.mark.parametrize(
    ("body", "after"),
    [
        (
            "for x in a:\n    try:\n        x()\n    except KeyError:\n        continue",
            "for x in a:\n    with contextlib.suppress(KeyError):\n        x()",
        ),
        ("try:\n    a()\nexcept KeyError:\n    return None", "with contextlib.suppress(KeyError):\n    a()"),
    ],
)
def test_a_handler_that_leaves_where_the_try_ends_does_nothing_either(body: str, after: str) -> None:
    head = "import contextlib\n\n\n"
    assert all_of_kind(head + function(body), "suppress_exception") == head + function(after)


def test_a_nested_function_moves_with_what_it_reads_and_its_comment() -> None:
    source = function(
        """
        # Halves are rounded up.
        def round_part(x, *, up=True):
            return round_part(x - 1) if x > b else -x

        return round_part(a) + max(map(len, [round_part(1, up=False)]))
        """
    )
    assert all_of_kind(source, "move_out") == (
        "# Halves are rounded up.\n"
        "def _round_part(b, x, *, up=True):\n"
        "    return _round_part(b, x - 1) if x > b else -x\n\n\n"
        "def f(a, b, c):\n"
        "    return _round_part(b, a) + max(map(len, [_round_part(b, 1, up=False)]))\n"
    )


def test_no_blank_line_is_left_where_a_nested_function_was_the_first_statement() -> None:
    source = function("if a:\n\n    def read_part(x):\n        return x + 1\n\n    c(read_part(a))\nreturn b")
    assert "    if a:\n        c(_read_part(a))\n" in all_of_kind(source, "move_out")


@pytest.mark.parametrize("word", ["def", "async def"])
def test_a_nested_generator_or_coroutine_moves_as_what_it_is(word: str) -> None:
    nested = f"{word} read_part(x):\n    yield x + b"
    expected = f"{word} _read_part(b, x):\n    yield x + b\n\n\n" + function("return _read_part(b, a)")
    assert all_of_kind(function(f"{nested}\n\nreturn read_part(a)"), "move_out") == expected


@pytest.mark.parametrize(
    ("other", "outer", "nested", "name"),
    [
        ("read_rows", "f", "readPart", "_read_part"),
        ("readRows", "f", "read_part", "_readPart"),
        ("readRows", "f", "readPart", "_readPart"),
        ("readRows", "f_x", "readPart", "_read_part"),
        ("readRows", "F_X", "read_part", "_readPart"),
    ],
)
def test_a_nested_function_is_named_outside_as_the_functions_of_the_file_are(
    other: str, outer: str, nested: str, name: str
) -> None:
    rest = f"\n\ndef {other}(x):\n    pass\n\n\ndef {other}2(x):\n    pass\n\n\ndef {other}3(x):\n    pass\n"
    source = function(f"def {nested}(x):\n    return x + 1\n\nreturn {nested}(a)").replace("def f(", f"def {outer}(")
    done = simplify_statement(source + rest, 2, "move_out")
    assert isinstance(done, Refactored), done
    assert f"\n    return {name}(a)\n" in done.source


@pytest.mark.parametrize("name", ["b", "self"])
def test_a_key_of_any_name_reaches_the_keywords_of_a_nested_function_as_before(name: str) -> None:
    source = f"def f(self, b, options):\n    def pair_parts(**rest):\n        return {name}, rest\n"
    source = textwrap.indent(f"{source}\n    return pair_parts(**options)\n", "    ")
    moved = simplify_statement(f"class A:\n{source}", 3, "move_out")
    assert isinstance(moved, Refused), moved
    assert moved.code == "keywords"


def test_keywords_alone_do_not_keep_a_nested_function_inside() -> None:
    source = function("def pair_parts(**rest):\n    return rest\n\nreturn pair_parts(**c)")
    assert all_of_kind(source, "move_out") == (
        "def _pair_parts(**rest):\n    return rest\n\n\n" + function("return _pair_parts(**c)")
    )


@pytest.mark.parametrize("parameters", ["*parts", "x, *parts", "x=0, *parts"])
def test_positions_reach_the_parameters_of_a_nested_function_as_before(parameters: str) -> None:
    value = "(x, parts, b)" if "x" in parameters else "(parts, b)"
    source = function(f"def join_parts({parameters}):\n    return {value}\n\nreturn join_parts(*a)")
    moved = all_of_kind(source, "move_out")
    assert moved != source
    results = []
    for text in (source, moved):
        module: dict[str, Any] = {}
        exec(text, module)
        results.append([module["f"](given, "b", None) for given in ([1], [1, 2], ["b", 2, 3])])
    assert results[0] == results[1]


def test_a_nested_function_that_needs_its_object_becomes_a_method() -> None:
    source = textwrap.dedent(
        '''
        class A:
            def f(self, a):
                """Doc."""

                def add_part(x):
                    self.parts.append(x)

                for x in a:
                    add_part(x)
        '''
    )
    text = SourceText(source)
    place = next(iter(places_of(text.tree)))
    found = [SIMPLIFICATIONS["move_out"](spot) for spot in spots_in(text, place, 88)]
    expected = textwrap.dedent(
        '''
        class A:
            def f(self, a):
                """Doc."""

                for x in a:
                    self._add_part(x)

            def _add_part(self, x):
                self.parts.append(x)
        '''
    )
    assert [each for each in found if each is not None] == [expected]


EARLY = {
    "if x:\n    r = 1\nelif y:\n    # why\n    r = 2\nelse:\n    r = 3\nreturn r": (
        "if x:\n    return 1\nif y:\n    # why\n    return 2\nreturn 3"
    ),
    "r = False\nfor x in y:\n    if x:\n        r = True\n        break\nreturn r": (
        "for x in y:\n    if x:\n        return True\nreturn False"
    ),
    "r = None\nif x:\n    r = 1\nelif y:\n    r = 2\nelse:\n    raise KeyError\nreturn r": (
        "if x:\n    return 1\nif y:\n    return 2\nraise KeyError"
    ),
    "r = None  # why\nif x:\n    r = 1\nelse:\n    r = 2\nreturn r": ("r = None  # why\nif x:\n    return 1\nreturn 2"),
    "r = None\nif x:\n    r = y\nreturn r": "if x:\n    return y\nreturn None",
    "try:\n    r = x()\nexcept OSError:\n    r = None\nreturn r": (
        "try:\n    return x()\nexcept OSError:\n    return None"
    ),
    # The variable is looked at, or a way sets it that does not leave the loop.
    "r = None\nif r or x:\n    r = y\nreturn r": None,
    "r = None\nfor x in y:\n    if x:\n        r = x\n    if r:\n        break\nreturn r": None,
    "try:\n    r = x()\nexcept OSError:\n    r = None\nelse:\n    y()\nreturn r": None,
    "if x:\n    r = 1\n    y(r)\nelse:\n    r = 2\nreturn r": None,
    # A declared type would be left of a name that nothing uses.
    "r: int\nif x:\n    r = 1\nelse:\n    r = 2\nreturn r": None,
    "s: int\nif x:\n    r = 1\nelse:\n    r = 2\nreturn r": "s: int\nif x:\n    return 1\nreturn 2",
}


@pytest.mark.parametrize("body", EARLY)
def test_a_result_is_returned_where_it_is_known(body: str) -> None:
    source = "def g(x, y):\n" + textwrap.indent(body, "    ") + "\n"
    after = EARLY[body]
    assert with_early_returns(source, "g") == (
        source if after is None else "def g(x, y):\n" + textwrap.indent(after, "    ") + "\n"
    )


class PatternWriter(Writer):
    """Writes functions that are full of what can be simplified, or nearly can."""

    def simple(self, depth: int, in_loop: bool) -> None:
        if self.random.random() < 0.5:
            super().simple(depth, in_loop)
            return
        name, item, other = self.name(), self.name(), self.name()
        loop, each = f"for {item} in range(3):", self.expression()
        # A list that holds itself cannot be compared.
        each = "3" if name in each else each
        left = self.random.choice(["raise KeyError", "return 7", f"{name} = 7", "pass"])
        patterns = [
            [f"{name} = []", loop, f"    {name}.append({each})"],
            [f"{name} = []", loop, f"    if {self.test()}:", f"        {name}.append({each})"],
            [f"{name} = {{}}", loop, f"    {name}[{item}] = {each}"],
            [f"{name} = False", loop, f"    if {self.test()}:", f"        {name} = True", "        break"],
            [loop, f"    if {self.test()}:", "        return True", "return False"],
            [loop, f"    if {self.test()}:", f"        return {other}"],
            [loop, f"    if {self.test()}:", f"        return {item}", f"return {other}"],
            [f"{name} = None", loop, f"    if {self.test()}:", f"        {name} = {each}", "        break"],
            [f"{name} = 0", loop, f"    if {self.test()}:", f"        {name} += 1"],
            [f"{name} = set()", f"log.append({item})", loop, f"    {name}.add({each})"],
            [
                "held = {}",
                loop,
                f"    if {item} not in held:",
                f"        held[{item}] = []",
                f"    held[{item}].append({each})",
                "log.append(held)",
            ],
            [f"if {self.test()}:", f"    {name} = {each}", "else:", f"    {name} = {other}"],
            [f"{name} = 0", f"if {self.test()}:", f"    {name} = {each}"],
            [f"{name} = 4", f"if {self.test()}:", f"    {name} += {each}", "else:", f"    {name} += {other}"],
            [f"{name} = []", loop, f"    if not {other}:", "        continue", f"    {name}.append({item})"],
            [f"{name} = []", f"{other} = (1, 2)", loop, f"    {name}.append({each})"],
            [f"{name} = []", loop, f"    for {self.name()} in range(2):", f"        {name}.append({item})"],
            [f"{name} = []", loop, f"    {other} = {each}", f"    {name}.append({other})"],
            ["held = {}", f"if {item} in held:", f"    held[{item}] += 1", "else:", f"    held[{item}] = 1"],
            ["held = {}", f"if {item} in held:", f"    held[{item}].append(1)", "else:", f"    held[{item}] = [1]"],
            [f"if {item} is None:", "    return True", f"return {each}"],
            [f"if not {item}:", "    return False", f"return {each}"],
            [f"if {item} is None:", f"    {name} = {each}", f"if {item} is None:", f"    log.append({name})"],
            [f"if {item} is None:", f"    {name} = {each}", f"if {item} is not None:", f"    log.append({name})"],
            [f"{name} = {other}", f"if {self.test()}:", f"    {name} = {each}"],
            [f"if {name}:", f"    {other} = {name}", "else:", f"    {other} = {each}"],
            [
                *(f"if {item} == 1:", "    return 'x'", f"elif {other} == 1:", "    return 'y'", f"elif {name} == 1:"),
                *("    return 'z'", "else:", f"    log.append({item})"),
            ],
            ["held = {}", f"if {self.test()}:", f"    held[{item}] = {each}", "else:", f"    held[{item}] = {other}"],
            [loop, "    try:", f"        log.append({each})", "    except TypeError:", "        continue"],
            [f"if {self.test()}:", f"    log.append(max({each}, 2))", "else:", f"    log.append({other})"],
            [f"if {self.test()}:", f"    return {each}", f"return {other}"],
            [
                "try:",
                f"    {name} = {each}",
                "except TypeError:",
                f"    {left}",
                "except KeyError:",
                f"    {left}",
            ],
            ["try:", f"    {name} = {each}", "except TypeError:", "    pass"],
            [line for each in (item, other, "a") for line in (f"if {each}:", f"    log.append(('{each}', {each}))")],
            [f"if {self.test()}:", f"    log.append({item})", "else:", f"    log.append({other})"],
            [f"def round_part(x):\n{'    ' * depth}    return (x, {name})", f"{other} = round_part({item})"],
            ["def round_part(x):", f"    return {each}", f"{other} = list(map(round_part, (1, 2)))"],
            [f"if {name} is None:", f"    {name} = {each}"],
            [f"if not isinstance({name}, int):", f"    {name} = len(str({name}))"],
            [f"if {self.test()}:", f"    return {item}, {other}", f"return {other}"],
            ["try:", f"    {name} = {other}.real", "except AttributeError:", f"    {name} = {item}"],
            ["held = {0: 7}", f"if {item} in held:", f"    {name} = held[{item}]", "else:", f"    {name} = {other}"],
            ["held = {0: 7}", f"{name} = 3", f"if {item} in held:", f"    {name} = held[{item}]"],
            ["held = {0: 7}", f"if {item} in held:", f"    {name} = held.pop({item})", "else:", f"    {name} = None"],
            [
                "items: list = [3, 2, 0, 1]",
                "while True:",
                f"    {name} = items.pop()",
                f"    if {self.random.choice([f'not {name}', f'{name} is None'])}:",
                "        break",
                f"    if {self.test()}:",
                f"        {self.random.choice(['continue', 'break', f'log.append({item})'])}",
                f"    log.append({name})",
            ],
        ]
        for line in self.random.choice(patterns):
            self.emit(depth, line)


def check(random: Random) -> int:
    """Apply every simplification to one random function; return how many were made."""
    source = PatternWriter(random).function()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            text = SourceText(source)
            compile(source, "<function>", "exec")
        except SyntaxError:
            return 0
        made = [found for place in places_of(text.tree) for found in _made(text, place)]
        expected = observe(source) if made else None
        for kind, result in made:
            assert observe(result) == expected, f"{kind}: {source}\n--- became\n{result}"
        return len(made)


def _made(text: SourceText, place) -> list[tuple[str, str]]:  # type: ignore[no-untyped-def]
    made = []
    for spot, kind in simplifications_in(text, place, 88):
        try:
            found = SIMPLIFICATIONS[kind](spot)
        except RefusedRefactoring:
            continue  # the next place may allow it
        if found is not None:
            ast.parse(found)
            made.append((kind, found))
    return made


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9))
def test_random_functions_do_the_same(seed: int) -> None:
    check(Random(seed))


def test_a_line_without_a_statement_is_refused() -> None:
    refused = simplify_statement("x = 1\n", 1)
    assert isinstance(refused, Refused)
    done = simplify_statement(function("if a:\n    return b\nreturn c"), 2, "return_choice")
    assert isinstance(done, Refactored)
    assert done.description == "Simplify the statement on line 2 (return choice)"


@pytest.mark.parametrize(
    ("outer", "nested", "name"),
    [
        ("get_transform", "get_param", "_get_transform_param"),
        ("load_user_settings", "convert", "_convert_user_settings"),
        ("load_user_settings", "convert_value", "_convert_user_settings_value"),
        ("load_settings", "convert_color", "_convert_color"),
        ("f", "convert", None),
        ("load_settings", "load", None),
        ("load_settings", "process", None),
    ],
)
def test_a_generic_name_of_a_nested_function_takes_the_words_of_the_outer_one(
    outer: str, nested: str, name: str | None
) -> None:
    source = function(f"def {nested}(x):\n    return x + 1\n\nreturn {nested}(a)").replace("def f(", f"def {outer}(")
    done = simplify_statement(source, 2, "move_out")
    assert isinstance(done, Refactored) == (name is not None), done
    if isinstance(done, Refactored):
        assert f"\n    return {name}(a)\n" in done.source


def test_a_generic_name_of_a_nested_function_takes_the_words_of_the_class_where_the_method_has_none() -> None:
    source = textwrap.indent(function("def convert(x):\n    return x + 1\n\nreturn convert(a)"), "    ")
    done = simplify_statement(f"class ColorTable:\n{source}", 3, "move_out")
    assert isinstance(done, Refactored), done
    assert "return _convert_color_table(a)" in done.source
