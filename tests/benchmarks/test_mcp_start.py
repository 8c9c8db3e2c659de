from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.mcp_start import COLD, FIRST_CALLS, LISTED, figures_of, measured, table
from tests.doors.sample_repo import QUESTION


def test_what_misses_its_goal_is_marked() -> None:
    figures = figures_of({LISTED: [2.0, 9.0, 1.0], COLD: [4.0], "first locate": [6.0], "first ask": [6.05]})
    assert figures == {
        "tool_list_s": 2.0,
        "cold_ask_s": 4.0,
        "first_locate_s": 6.0,
        "first_ask_s": 6.05,
        "first_locate_x": 1.5,
        "first_ask_x": 1.51,
    }
    _, row, _ = table({"indexed": figures}).split("\n")
    assert row.split() == ["indexed", "2.00", "s", "4.00", "s", "6.00", "s", "1.50", "x", "6.05", "s", "1.51", "x*"]


@pytest.mark.long
def test_each_start_is_measured(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "pay.py").write_text('def pay():\n    """Pay the customer back."""\n    return 1\n')
    env = {"JEEVES_RAY__MODE": "in_process"}
    times = measured(root, tmp_path / "states", QUESTION, 1, has_index=False, **env)
    assert {name: len(values) for name, values in times.items()} == {
        LISTED: len(FIRST_CALLS),
        COLD: 1,
        "first locate": 1,
        "first ask": 1,
    }
    assert all(value > 0 for values in times.values() for value in values)
