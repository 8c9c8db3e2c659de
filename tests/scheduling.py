"""Which tests stay together when several processes run them, and what they begin with.

Groups of pytest-xdist 3.8 do nothing with pytest 9.2.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.conftest import REAL_PROCESSES

WEIGHTS = {"ray": 20, "long": 50}
"""How many tests without a mark take about as long as one with it."""


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each process whole files, and single tests of files with long tests that share nothing."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """The name of what a test stays together with: its file, or itself."""
    file = nodeid.partition("::")[0]
    return file if stays_together(file) else nodeid


@functools.cache
def stays_together(file: str) -> bool:
    """Whether tests of a file share a cluster or a system, or are too short to be moved."""
    path = Path(__file__).parents[1] / file
    return path.parent.name not in REAL_PROCESSES or 'scope="module"' in path.read_text(encoding="utf-8")


def begins_with_long(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Tests in the order in which processes are to take them.

    Those that take long come first, so that none is left over at the end with only one process to run it. Those that
    wait for processes are spread among those that compute, so that no core idles, and few clusters run at a time.
    """
    scopes: dict[str, list[pytest.Item]] = {}
    for item in items:
        scopes.setdefault(scope_of(item.nodeid), []).append(item)
    heaviest_first = sorted(scopes.values(), key=_weight, reverse=True)
    waiting = [scope for scope in heaviest_first if _waits(scope)]
    computing = [scope for scope in heaviest_first if not _waits(scope)]
    placed = sorted([*_spread(waiting), *_spread(computing)], key=lambda each: each[0])
    return [item for _, scope in placed for item in scope]


def _spread(scopes: Sequence[list[pytest.Item]]) -> Iterator[tuple[float, list[pytest.Item]]]:
    """Scopes with the part of the work that lies before each."""
    weights = [_weight(scope) for scope in scopes]
    done = accumulate(weights, initial=0)
    return ((before / sum(weights), scope) for before, scope in zip(done, scopes, strict=False))


def _weight(scope: Iterable[pytest.Item]) -> int:
    return sum(max((WEIGHTS.get(mark.name, 1) for mark in item.iter_markers()), default=1) for item in scope)


def _waits(scope: Sequence[pytest.Item]) -> bool:
    return scope[0].path.parent.name in REAL_PROCESSES or scope[0].get_closest_marker("ray") is not None
