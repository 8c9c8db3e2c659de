"""Relations between symbols and files as evidence showed them: the edges of what is remembered of a repository."""

from __future__ import annotations

from typing import Literal

import msgspec

RelationKind = Literal["calls", "uses", "imports", "tests", "changes_with", "defined_in"]


class Relation(msgspec.Struct, frozen=True):
    """`source` stands in that relation to `target`: «`deliver` calls `Depot.accept`».

    Both ends are names of symbols, or paths of files, together with the file that they stand in. `start_line` and
    `end_line` are the lines of `source_file` that show it, 1-based and inclusive; the relation counts only while that
    file has the content of `content_sha256`.
    """

    source: str
    source_file: str
    kind: RelationKind
    target: str
    target_file: str
    start_line: int
    end_line: int
    content_sha256: str


def last_part(name: str) -> str:
    """A name without what it stands in: `accept` of `Depot.accept`; a path with a folder as it is."""
    return name if "/" in name else name.rpartition(".")[2] or name
