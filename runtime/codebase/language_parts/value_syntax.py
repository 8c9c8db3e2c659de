"""Defines where the values of a language stand, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

# `binding`: a name gets a value; `parameter`: the default of a parameter; `entry`: a key of a literal; `keyword`: a
# named argument; `member`: a member of an enumeration; `call`: a call with a literal text among its arguments, which
# may declare an option or look a value up; `fallback`: an expression with a fallback; `mark`: an attribute of a field;
# `guard`: what is returned where a name has no value, behind a branch that returns the name.
SiteForm = Literal["binding", "parameter", "entry", "keyword", "member", "call", "fallback", "mark", "guard"]

# What a name that its own file does not bind may mean: nothing else, a file of the same folder or package, an included
# file, or the one constant of that name.
Sharing = Literal["", "folder", "package", "include", "all"]


class Reading(msgspec.Struct, frozen=True):
    """Describes how a language writes values: its comments, and the operators whose right side is a fallback."""

    hash_comments: bool = False
    fallbacks: frozenset[str] = frozenset()


class ValueSyntax(msgspec.Struct, frozen=True):
    """Describes where the values of a language stand.

    `members_are_bare`: code of a class names its members without their owner. `constructors`: names of functions that
    make objects, besides those named after their class.
    """

    reading: Reading = Reading()
    queries: Mapping[SiteForm, str] = {}
    sharing: Sharing = ""
    members_are_bare: bool = False
    constructors: str = ""
