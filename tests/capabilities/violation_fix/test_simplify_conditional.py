"""Conditions are simplified without changing what is evaluated, or the refusal says why not."""

from __future__ import annotations

import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused
from actors.capabilities.violation_fix.refactoring.simplifications.registry import simplify_statement


def function(body: str) -> str:
    return "def f(a, b, c):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


EXACT = {
    "join_nested": (
        """
        if a or c:
            if b:
                print('''x
            y''')
        """,
        """
        if (a or c) and b:
            print('''x
            y''')
        """,
    ),
    "merge_branches": (
        """
        if a:
            print(1)
        elif b and c:
            print(1)
        else:
            print(2)
        """,
        """
        if a or (b and c):
            print(1)
        else:
            print(2)
        """,
    ),
    "merge_guards": (
        """
        if a:
            return 1

        if b:
            return 1
        return c
        """,
        """
        if a or b:
            return 1
        return c
        """,
    ),
    "return_condition": ("if a in b:\n    return False\nreturn True", "return a not in b"),
    "drop_else": (
        """
        if a:
            return 1
        else:
            # two
            print(b)
        return 2
        """,
        """
        if a:
            return 1
        # two
        print(b)
        return 2
        """,
    ),
    "invert_to_guard": (
        """
        for x in a:
            if x is None:
                print(1)
                print(2)
        """,
        """
        for x in a:
            if x is not None:
                continue
            print(1)
            print(2)
        """,
    ),
}


@pytest.mark.parametrize("kind", sorted(EXACT))
def test_a_simplification_keeps_everything_else(kind: str) -> None:
    before, after = (function(body) for body in EXACT[kind])
    line = 3 if kind == "invert_to_guard" else 2
    assert simplify_statement(before, line) == simplify_statement(before, line, kind)
    done = simplify_statement(before, line, kind)
    assert isinstance(done, Refactored), done
    assert done.source == after


def test_a_condition_that_may_be_no_boolean_is_made_one() -> None:
    done = simplify_statement(function("if a:\n    return True\nreturn False"), 2)
    assert isinstance(done, Refactored)
    assert done.source == function("return bool(a)")


@pytest.mark.parametrize(("asked", "returned"), [("a", "bool(a)"), ("(a is b)", "a is b"), ("a.x(b)", "bool(a.x(b))")])
def test_the_opposite_of_a_negated_condition_is_no_value_itself(asked: str, returned: str) -> None:
    done = simplify_statement(function(f"if not {asked}:\n    return False\nreturn True"), 2)
    assert isinstance(done, Refactored)
    assert done.source == function(f"return {returned}")


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        ("if a:  # why\n    if b:\n        print(1)", "join_nested", "comment_lost"),
        ("if a:\n    if b:\n        print(1)\n    # else a alone", "join_nested", "comment_lost"),
        ("if a:\n    if b:\n        print(1)\n        # 1\n\n    # a alone", "join_nested", "comment_lost"),
        ("if a:\n    if b:\n        print(1)\n    else:\n        print(2)", "join_nested", "nothing_to_simplify"),
        ("if a:\n    print(1)\nif b:\n    print(1)", "merge_guards", "nothing_to_simplify"),
        ("if a:\n    return 1\nreturn 0", "return_condition", "nothing_to_simplify"),
        ("if (a and\n        b):\n    if c:\n        print(1)", "join_nested", "long_condition"),
        ("if a:\n    print(1)\n    print(2)\nprint(3)", "invert_to_guard", "nothing_to_simplify"),
        ("if a:\n    return 1\nelse: print(2)", "drop_else", "shared_line"),
        ("if a: print(1)", "no_such_kind", "unknown_kind"),
    ],
)
def test_what_does_not_fit_is_refused(body: str, kind: str, code: str) -> None:
    done = simplify_statement(function(body), 2, kind)
    assert isinstance(done, Refused), done.source
    assert done.code == code


@pytest.mark.parametrize(("line_length", "lines"), [(15, 2), (14, 5)])
def test_a_condition_that_grows_too_long_is_wrapped(line_length: int, lines: int) -> None:
    done = simplify_statement(function("if a:\n    if b:\n        print()"), 2, line_length=line_length)
    assert isinstance(done, Refactored), done
    assert len(done.source.splitlines()) == lines + 1


def test_a_line_without_a_condition_is_refused() -> None:
    done = simplify_statement("if x:\n    pass\n", 1)
    assert isinstance(done, Refused)
    assert done.code == "no_conditional"


@pytest.mark.parametrize("kind", ["merge_guards", "merge_branches"])
def test_conditions_that_share_a_line_with_their_body_are_left(kind: str) -> None:
    bodies = {
        "merge_guards": "if a: return 1\nif b: return 1\nreturn 2",
        "merge_branches": "if a: c = 1\nelif b: c = 1\nelse: c = 2\nreturn c",
    }
    done = simplify_statement(function(bodies[kind]), 2, kind)
    assert isinstance(done, Refused)
    assert done.code == "shared_line"


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("a is None", "not a", "not a"),
        ("not a", "a is None", "not a"),
        ("a is not None", "a", "a is not None"),
        ("b or a is None", "not a or c", "b or not a or c"),
        ("b and a is None", "not a", "(b and a is None) or not a"),
        # The truth of what is not None would no longer be asked, and may raise.
        ("a", "a is not None", "a or a is not None"),
        ("a is None", "not b", "a is None or not b"),
        ("a.b is None", "not a.b", "a.b is None or not a.b"),
        ("a is None or b", "not a", "a is None or b or not a"),
        ("a is None", "a", "a is None or a"),
    ],
)
def test_of_two_guards_one_that_the_other_implies_is_left_out(first: str, second: str, joined: str) -> None:
    done = simplify_statement(function(f"if {first}:\n    return 1\nif {second}:\n    return 1\nreturn c"), 2)
    assert isinstance(done, Refactored), done
    assert done.source == function(f"if {joined}:\n    return 1\nreturn c")


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("a is not None", "a", "a"),
        ("a", "a is not None", "a"),
        ("a is None", "not a", "a is None"),
        ("not a", "a is None", "not a and a is None"),
        ("a is not None", "a and b", "a and b"),
        ("a == b", "a", "a == b and a"),
    ],
)
def test_of_two_nested_conditions_one_that_the_other_implies_is_left_out(first: str, second: str, joined: str) -> None:
    done = simplify_statement(function(f"if {first}:\n    if {second}:\n        print(1)\nreturn c"), 2)
    assert isinstance(done, Refactored), done
    assert done.source == function(f"if {joined}:\n    print(1)\nreturn c")


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("if not a:\n    return 1\nreturn 2", "return 2 if a else 1"),
        ("if not (a or b):\n    return 1\nreturn 2", "return 2 if a or b else 1"),
        ("if a not in b:\n    return 1\nreturn 2", "return 1 if a not in b else 2"),
        ("if not a:\n    c = 1\nelse:\n    c = b\nreturn c", "c = b if a else 1\nreturn c"),
        ("if not a:\n    print(1)\nelse:\n    print(b)", "print(b if a else 1)"),
    ],
)
def test_a_choice_asks_for_what_is_so_not_for_what_is_not(body: str, after: str) -> None:
    done = simplify_statement(function(body), 2)
    assert isinstance(done, Refactored), done
    assert done.source == function(after)
