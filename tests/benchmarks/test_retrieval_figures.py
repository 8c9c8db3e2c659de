from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from tests.benchmarks.retrieval import baseline, left_out, ours, paired_interval
from tests.runtime.codebase.sample_repository import FILES, write_files


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    differences = [0.0] * 20 + [1.0] * 10
    low, high = paired_interval(differences)
    assert 0.15 < low < 1 / 3 < high < 0.52
    assert paired_interval(differences) == (low, high)
    assert paired_interval([0.5] * 7) == (0.5, 0.5)


def test_each_repository_is_left_out_once() -> None:
    assert left_out([1.0, 1.0, 0.0, 0.0], ["a", "a", "b", "c"]) == pytest.approx((0.0, 2 / 3))


def test_both_methods_find_what_is_there(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    write_files(root, FILES)
    refresh(root, tmp_path / "index.sqlite")
    codebase = Codebase.open(root, tmp_path / "index.sqlite")
    question = "how is a payment refunded to the customer"
    for ranked in (baseline(codebase, None, question, source_only=True), ours(codebase, question)):
        assert ranked[0]["file"] == "src/shop/payment.py"
    codebase.close()
