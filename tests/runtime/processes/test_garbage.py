"""How often a process looks for garbage, where nearly all that is young is alive."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from runtime.processes.garbage import OBJECTS_BETWEEN_COLLECTIONS, collect_rarely


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.parametrize(("more", "collected"), [(-1_000, 0), (1_000, 1)])
def test_young_objects_are_looked_through_once_there_are_fifty_thousand_more(more: int, collected: int) -> None:
    collect_rarely()
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    kept = [[] for _ in range(OBJECTS_BETWEEN_COLLECTIONS + more)]  # type: ignore[var-annotated]
    assert gc.get_stats()[0]["collections"] - before == collected
    assert len(kept) == OBJECTS_BETWEEN_COLLECTIONS + more


def test_what_is_there_before_is_left_out_of_all_collections() -> None:
    collect_rarely()
    assert gc.get_freeze_count() > 10_000
