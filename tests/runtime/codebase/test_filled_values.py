"""Values that code fills in where nobody has given one: behind bounds, through variables, in getters, in classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.default_values.counted_names import counted_names
from runtime.codebase.resolution.default_values.value_expressions import absent_name, given_name
from tests.runtime.codebase.sample_repository import write_files

Opened = Callable[[Path], Codebase]

JAVA = """class Stable {
  private static final int STALLS = 10;
  private int horses;
  private int ponies = -1;
  private int carts = 0;
  private int boots = -1;

  Stable() {
    horses = -1;
  }

  void check() {
    if (horses < 1) {
      horses = STALLS;
    }
    if (ponies < 0 || ponies > horses) {
      ponies = 4;
    }
    if (carts < 0) {
      carts = 0;
    }
  }
}
"""
GO = """package kiln

const DefaultBricks = 64

type Kiln struct {
	Bricks int
	Shelves int
	Doors int
	Fans int
	Vents int
}

type Yard struct {
	kiln *Kiln
}

func (k *Kiln) bricks() int {
	n := k.Bricks
	if n <= 0 {
		n = DefaultBricks
	}
	return n
}

func (k *Kiln) shelves() int {
	if k.Shelves > 0 {
		return k.Shelves
	}
	return 7
}

func (k *Kiln) doors() int {
	n := k.Doors
	if n <= 0 {
		n = 1
	}
	if n == 0 {
		n = 2
	}
	return n
}

func (y *Yard) fans(kiln *Kiln) int {
	if kiln.Fans != 0 {
		return kiln.Fans
	}
	return 3
}

func (k *Kiln) vents() int {
	if k.Bricks > 0 {
		return k.Vents
	}
	return 5
}
"""
PYTHON = """class Lantern(Setting):
    name = "lantern_hours"
    section = "Watchmen"
    default = 12
    desc = "Watchmen carry a lantern for so long."


class Rope(Setting):
    names = ["rope"]
    default = 5


class Plain:
    default = 9
"""


def proven(codebase: Codebase, name: str) -> list[tuple[str, str | None, tuple[int, ...]]]:
    found = codebase.value_chains(name)
    return [(chain.owner, chain.value, tuple(step.line for step in chain.steps)) for chain in found]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("horses", [("Stable", "10", (14, 2))]),
        ("ponies", [("Stable", "4", (17,))]),
        ("carts", [("Stable", "0", (5,))]),
        ("boots", [("Stable", "-1", (6,))]),
    ],
)
def test_a_number_that_stands_for_nothing_is_not_the_default_where_another_is_filled_in(
    root: Path, opened: Opened, name: str, expected: list[tuple[str, str, tuple[int, ...]]]
) -> None:
    write_files(root, {"Stable.java": JAVA})
    assert proven(opened(root), name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Bricks", [("Kiln", "64", (20, 3))]),
        ("Shelves", [("Kiln", "7", (29,))]),
        ("Fans", [("", "3", (47,))]),
    ],
)
def test_what_a_getter_gives_without_a_value_is_the_default(
    root: Path, opened: Opened, name: str, expected: list[tuple[str, str, tuple[int, ...]]]
) -> None:
    write_files(root, {"kiln/kiln.go": GO})
    assert proven(opened(root), name) == expected


@pytest.mark.parametrize("name", ["Doors", "Vents"])
def test_what_is_filled_in_twice_or_for_another_name_is_no_default(root: Path, opened: Opened, name: str) -> None:
    write_files(root, {"kiln/kiln.go": GO})
    assert [chain for chain in proven(opened(root), name) if chain[1] is not None] == []


def test_a_class_may_declare_an_option_by_its_name_and_default(root: Path, opened: Opened) -> None:
    write_files(root, {"watch/settings.py": PYTHON})
    codebase = opened(root)
    assert proven(codebase, "lantern_hours") == [("Lantern", "12", (4,))]
    assert proven(codebase, "rope") == []
    assert ("Plain", "9", (14,)) in proven(codebase, "default")


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("x < 1", "x"),
        ("(x < 1)", "x"),
        ("x == -1", "x"),
        ("x < 0 || x > most", "x"),
        ("(x < 0) || (x > most)", "x"),
        ("x is None or x > most", "x"),
        ("x < 2", None),
        ("x > 0", None),
        ("ready || x < 0", None),
    ],
)
def test_a_condition_may_say_that_a_name_has_no_value(condition: str, name: str | None) -> None:
    assert absent_name(condition) == name


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("w.size > 0", "w.size"),
        ("(w.size != 0)", "w.size"),
        ("w.dial != nil", "w.dial"),
        ("len(w.names) > 0", "w.names"),
        ("w.on", "w.on"),
        ("w.size > 1", None),
        ("w.size > 0 && w.on", None),
        ("w.size == 0", None),
    ],
)
def test_a_condition_may_say_that_a_name_has_one(condition: str, name: str | None) -> None:
    assert given_name(condition) == name


@pytest.mark.parametrize(
    ("text", "is_state"),
    [
        ("self.tries += 1", True),
        ("tries++;", True),
        ("++this.tries;", True),
        ("(--tries)", True),
        ("tries -= n", True),
        ("parser.add_argument('--tries', default=3)", False),
        ("retries += 1", False),
        ("tries = tries_of(x)", False),
        ("x = tries + 1", False),
    ],
)
def test_what_is_counted_up_is_a_state(text: str, is_state: bool) -> None:
    assert ("tries" in counted_names(text)) == is_state
