"""Tests the call edges that the index asserts against edges that people labelled, in six languages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.resolution.proven_calls import Target, proven_target
from tests.runtime.codebase.edges.packages import (
    PackageUnavailable,
    default_cache,
    labelled_edges,
    pinned_packages,
    unpack,
)

LEAST_ASSERTED = 100
LEAST_RIGHT = 0.97
LEAST_EXACT = 0.95
LEAST_FOUND = 0.60


def definitions(label: dict[str, Any]) -> set[tuple[str, int]]:
    """Return the file and line of each definition that a label allows."""
    named = [*label.get("targets", []), *(label[key] for key in ("target", "constructor") if key in label)]
    return {(definition["file"], definition["line"]) for definition in named}


def is_exact(label: dict[str, Any], asserted: tuple[Target, ...]) -> bool:
    """Return whether every asserted definition is one that the label allows."""
    return {(target.file, target.line) for target in asserted} <= definitions(label)


def is_right(label: dict[str, Any], asserted: tuple[Target, ...]) -> bool:
    """Return whether the assertion is exact, or names one method of whose overloads the label allows one."""
    places = {(target.file, target.line) for target in asserted}
    files, names = {target.file for target in asserted}, {target.qualified_name for target in asserted}
    is_one = len(files) == 1 and len(names) <= 2 and len({name.rpartition(".")[2] for name in names}) == 1
    return is_exact(label, asserted) or (is_one and bool(places & definitions(label)))


@pytest.mark.long
def test_asserted_edges_are_right_and_most_resolvable_ones_are_found(
    tmp_path: Path,
) -> None:
    counts: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    for package in pinned_packages():
        try:
            root = unpack(package, default_cache())
        except PackageUnavailable as reason:
            pytest.skip(str(reason))
        index_path = tmp_path / f"{package.name.replace('/', '_')}.sqlite"
        refresh(root, index_path)
        codebase = Codebase.open(root, index_path)
        for label in (label for label in labelled_edges() if label["package"] == package.name):
            count = counts.setdefault(label["language"], Counter())
            asserted = proven_target(codebase, label["file"], label["line"], label["column"] - 1)
            is_inside = label["label"] in ("target", "targets") and label["resolvable"]
            count["resolvable"] += is_inside
            if asserted is None:
                continue
            count["asserted"] += 1
            count["exact"] += is_exact(label, asserted)
            if is_right(label, asserted):
                count["right"] += 1
                count["found"] += is_inside
            else:
                wrong.append(f"{label['id']}: {[target[:3] for target in asserted]}")
        codebase.close()
    total = sum(counts.values(), Counter())
    assert total["asserted"] >= LEAST_ASSERTED, counts
    assert total["right"] / total["asserted"] >= LEAST_RIGHT, (counts, wrong)
    assert total["exact"] / total["asserted"] >= LEAST_EXACT, wrong
    assert total["found"] / total["resolvable"] >= LEAST_FOUND, counts
