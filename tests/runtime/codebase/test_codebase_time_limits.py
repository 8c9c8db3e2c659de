"""A thread cannot be killed: what runs long has to end by itself."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.search.text_search import compile_pattern
from runtime.codebase.tools.grep_search import grep_search
from runtime.errors import StateStorageError

SLOW = r"(?s)(.*e.*){3}zq"


def test_a_search_that_would_take_for_ever_ends_in_time_and_says_so(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    shutil.copy(argparse.__file__, root / "argparse.py")
    codebase = opened(root)
    started_s = time.monotonic()
    found = codebase.search_text(SLOW, regex=True, timeout_s=0.2)
    assert time.monotonic() - started_s < 5
    assert (found.hits, found.more, found.timed_out) == ([], True, True)
    assert not codebase.search_text(r"(\w+\s?)*!!", regex=True, timeout_s=30).timed_out


@pytest.mark.long
def test_the_tool_tells_of_a_search_that_was_ended_and_does_not_begin_anew(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    shutil.copy(argparse.__file__, root / "argparse.py")
    result = grep_search(opened(root), SLOW, regex=True)
    assert result.status == "timeout"
    assert result.error is not None
    assert "took longer than 5 s" in result.error
    assert "simplify the pattern or name a scope" in result.error
    assert [attempt.strategy for attempt in result.attempts] == ["as_asked"]


@pytest.mark.long
def test_hits_before_the_time_is_up_are_given(root: Path, opened: Callable[[Path], Codebase]) -> None:
    (root / "a.py").write_text("zq = 'e'\n")
    shutil.copy(argparse.__file__, root / "b.py")
    found = opened(root).search_text(r"(?s)zq|(.*e.*){3}zq", regex=True, timeout_s=1.0)
    assert ([hit.file for hit in found.hits], found.timed_out) == (["a.py"], True)


@pytest.mark.long
def test_other_threads_go_on_while_an_expression_is_searched_for() -> None:
    pattern = compile_pattern(SLOW, regex=True, case_sensitive=True)
    text = Path(argparse.__file__).read_text()
    begun = threading.Event()

    def search() -> None:
        begun.set()
        with contextlib.suppress(TimeoutError):  # that it takes too long is what the others must not notice
            pattern.search(text, timeout=1.0)

    searching = threading.Thread(target=search)
    searching.start()
    assert begun.wait(10)
    started_s = time.monotonic()
    turns = 0
    while searching.is_alive():
        turns += 0.1 < time.monotonic() - started_s < 0.9
    assert turns > 0


def test_a_question_to_the_index_that_takes_too_long_is_ended(codebase: Codebase, index_path: Path) -> None:
    reader = IndexReader(index_path, timeout_s=0.05)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(StateStorageError, match=r"took longer than 0\.05 s"):
        reader.rows(endless)
    assert reader.rows("SELECT 1") == [(1,)]
    reader.close()
