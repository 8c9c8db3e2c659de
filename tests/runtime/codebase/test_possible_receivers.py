"""Uses of a common name: what may be of the asked class is listed behind what is proven, the rest is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from tests.runtime.codebase.sample_repository import write_files

Opened = Callable[[Path], Codebase]

FILES = {
    "depot.py": (
        "class Depot:\n    def stop(self):\n        pass\n\n    def only(self):\n        pass\n\n"
        "    def get(self):\n        pass\n\n    halt = stop\n\n\n"
        "class Yard(Depot):\n    def end(self):\n        self.stop()\n"
    ),
    "engine.py": "class Engine:\n    def stop(self):\n        self.stop()\n",
    "near.py": "from depot import Yard\n\n\ndef go(x, y):\n    x.stop()\n    stop()\n    y.get()\n",
    "named.py": "def go(depot, thing):\n    depot.stop()\n    thing.depot.get()\n",
    "far.py": "def go(x):\n    x.stop()\n    x.get()\n    x.only()\n",
    "proven.py": "from depot import Depot\n\n\ndef go(d: Depot):\n    d.stop()\n    d.get()\n",
}
PARTS = ("callers", "mentions", "references", "tests")


@pytest.fixture
def codebase(root: Path, opened: Opened) -> Codebase:
    write_files(root, FILES)
    return opened(root)


def rows(data: dict[str, Any], *, proven: bool) -> set[str]:
    found = (row for part in PARTS for row in data[part] if bool(row["proof"]) == proven)
    return {f"{row['file']}:{row['line']}" for row in found}


@pytest.mark.parametrize(
    ("symbol", "likely", "left_out"),
    [
        # `x.stop()` where no class of the family is mentioned, and a bare `stop()`, are left out.
        ("Depot.stop", {"near.py:5", "named.py:2", "depot.py:11"}, 2),
        # A mapping has a `get` too: only an object named like the class may be one.
        ("Depot.get", {"named.py:3"}, 2),
        # No other class has it.
        ("Depot.only", {"far.py:4"}, 0),
    ],
)
def test_what_nothing_points_to_is_counted(codebase: Codebase, symbol: str, likely: set[str], left_out: int) -> None:
    told = explore_symbol_usage(codebase, symbol, include_unproven=False).data
    every = explore_symbol_usage(codebase, symbol).data
    assert (rows(told, proven=False), told["left_out"]) == (likely, left_out)
    assert len(rows(every, proven=False)) == len(likely) + left_out
    assert "left_out" not in every


@pytest.mark.parametrize("symbol", ["Depot.stop", "Depot.get", "Depot.only", "Engine.stop", "Yard.end", "Depot"])
def test_no_proven_row_is_left_out_and_they_come_first(codebase: Codebase, symbol: str) -> None:
    told = explore_symbol_usage(codebase, symbol, include_unproven=False).data
    every = explore_symbol_usage(codebase, symbol).data
    assert rows(told, proven=True) == rows(every, proven=True)
    assert list(told)[-1] == "mentions"
