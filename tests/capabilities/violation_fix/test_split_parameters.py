"""Parameters are gathered only where every caller can be seen; otherwise the refusal says to escalate."""

from __future__ import annotations

import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused
from actors.capabilities.violation_fix.refactoring.parameter_lists import split_parameters

SOURCE = textwrap.dedent('''
    """Draws."""

    import os


    # Draws one box.
    def _draw_box(canvas, left: int, top: int, right: int, bottom: int):
        canvas.line(left, top, right, top)
        return [left for _ in range(bottom)]


    def draw(canvas):
        _draw_box(canvas, 1, 2, len("x"), 4)
        return _draw_box(canvas, 5, 6, 7, 8)
''').lstrip()

SIDES = ["left", "top", "right", "bottom"]


def test_parameters_are_gathered_in_a_named_tuple() -> None:
    done = split_parameters(SOURCE, "_draw_box", SIDES, class_name="_Box")
    assert isinstance(done, Refactored), done
    assert (
        done.source
        == textwrap.dedent('''
        """Draws."""

        import os
        from typing import NamedTuple


        class _Box(NamedTuple):
            left: int
            top: int
            right: int
            bottom: int


        # Draws one box.
        def _draw_box(canvas, options: _Box):
            canvas.line(options.left, options.top, options.right, options.top)
            return [options.left for _ in range(options.bottom)]


        def draw(canvas):
            _draw_box(canvas, _Box(1, 2, len("x"), 4))
            return _draw_box(canvas, _Box(5, 6, 7, 8))
    ''').lstrip()
    )
    compile(done.source, "<source>", "exec")


def test_parameters_without_annotations_are_gathered_as_well() -> None:
    source = SOURCE.replace(": int", "")
    done = split_parameters(source, "_draw_box", SIDES, class_name="_Box")
    assert isinstance(done, Refactored), done
    assert '_Box = namedtuple("_Box", ["left", "top", "right", "bottom"])\n' in done.source
    assert "from collections import namedtuple\n" in done.source
    assert "def _draw_box(canvas, options):" in done.source


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("_draw_box", "draw_box", "escalate"),
        ("_draw_box(canvas, 5, 6, 7, 8)", "_draw_box(canvas, 5, 6, 7, bottom=8)", "escalate"),
        ("_draw_box(canvas, 5, 6, 7, 8)", "_draw_box(canvas, *canvas)", "escalate"),
        ("_draw_box(canvas, 5, 6, 7, 8)", "map(_draw_box, canvas)", "escalate"),
        ("_draw_box(canvas, 5, 6, 7, 8)", "getattr(canvas, '_draw_box')", "escalate"),
        ("bottom: int)", "bottom: int = 1)", "escalate"),
        ("bottom: int)", "bottom: int, *more)", "escalate"),
        ("# Draws one box.", "@cache", "escalate"),
        ("canvas.line(left", "left = canvas(left", "bad_parameters"),
        ("7, 8)", "7, (8))", "parenthesized"),
        ("import os", "_Box = 1", "name_taken"),
        ("import os", "import (", "syntax_error"),
    ],
)
def test_what_cannot_be_seen_is_refused(old: str, new: str, code: str) -> None:
    name = "draw_box" if new == "draw_box" else "_draw_box"
    done = split_parameters(SOURCE.replace(old, new), name, SIDES, class_name="_Box")
    assert isinstance(done, Refused), done.source
    assert done.code == code


@pytest.mark.parametrize("names", [["left"], ["left", "right"], ["left", "width"]])
def test_only_parameters_that_follow_one_another_are_gathered(names: list[str]) -> None:
    done = split_parameters(SOURCE, "_draw_box", names)
    assert isinstance(done, Refused)
    assert done.code == "bad_parameters"
