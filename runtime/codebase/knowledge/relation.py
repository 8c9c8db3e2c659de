"""Defines relations between symbols and files that evidence showed: the edges of the entity graph."""

from __future__ import annotations

from typing import Literal

import msgspec

RelationKind = Literal["calls", "uses", "imports", "tests", "changes_with", "defined_in"]


class Relation(msgspec.Struct, frozen=True):
    """Links `source` to `target` by `kind`: «`deliver` calls `Depot.accept`».

    Both ends are names of symbols, or paths of files, each with its file. `start_line` and `end_line` are the lines of
    `source_file` that show the relation, 1-based and inclusive; it is valid only while that file has the content of
    `content_sha256`.
    """

    source: str
    source_file: str
    kind: RelationKind
    target: str
    target_file: str
    start_line: int
    end_line: int
    content_sha256: str


def bare_name(name: str) -> str:
    """Return the last part of a dotted name: `accept` of `Depot.accept`; a path with a folder stays as it is."""
    return name if "/" in name else name.rpartition(".")[2] or name
