"""How often a process looks for garbage, where nearly all that is young is alive."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from runtime.processes.garbage import YOUNG_OBJECTS, collect_less_often


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(("more", "collected"), [(-1_000, 0), (1_000, 1)])
def test_young_objects_are_looked_through_once_there_are_ten_thousand_more(more: int, collected: int) -> None:
    collect_less_often()
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    kept = [[] for _ in range(YOUNG_OBJECTS + more)]  # type: ignore[var-annotated]
    assert gc.get_stats()[0]["collections"] - before == collected
    assert len(kept) == YOUNG_OBJECTS + more


def test_older_objects_are_looked_through_as_often_as_before() -> None:
    _, *before = gc.get_threshold()
    collect_less_often()
    assert list(gc.get_threshold()[1:]) == before
