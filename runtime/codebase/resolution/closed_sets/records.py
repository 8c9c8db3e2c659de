"""Defines closed sets: a type, a constant or an option that declares all values which it may have."""

from __future__ import annotations

from typing import Literal, NamedTuple

# `enum`: an enumeration, or a sealed type with its subtypes; `union`: a type of literal texts; `typed`: what a field or
# parameter of such a type may be; `constants`: the constants that are declared with one type; `keys`: the keys of a
# mapping; `list`: the entries of a list, a tuple, a set or an array; `option`: what an option may be set to.
SetKind = Literal["enum", "union", "typed", "constants", "keys", "list", "option"]


class Member(NamedTuple):
    """Describes one value of a set. `value`: what it stands for, as written, if it says so; `docstring`: in one line.

    Lines are counted from 1; `line` is the one of its name.
    """

    name: str
    line: int
    end_line: int
    value: str = ""
    docstring: str = ""


class ClosedSet(NamedTuple):
    """Describes one closed set as one file declares it.

    `names`: of an option all its names, `--style` and `-s`. `total`: how many members it has, of which the first are
    `members`. `is_open`: whether its declaration takes more from elsewhere. `owner`: the type that it is declared in.
    `refers`: the names that an option takes its values from, which are declared elsewhere. `used_for`: what it is
    looked up by, `code` of `messages[code]`.
    """

    name: str
    kind: SetKind
    file: str
    line: int
    start_line: int
    end_line: int
    members: tuple[Member, ...]
    total: int
    is_open: bool = False
    owner: str = ""
    docstring: str = ""
    names: tuple[str, ...] = ()
    refers: tuple[str, ...] = ()
    used_for: str = ""
