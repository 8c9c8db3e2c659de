"""What is kept of an index lasts until the next refresh that changes it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.state_memo import StateMemo
from runtime.codebase.index.writer import refresh


def test_a_value_is_read_once_for_each_state_of_the_index(root: Path, opened: Callable[[Path], Codebase]) -> None:
    (root / "a.py").write_text("import b\n")
    (root / "b.py").write_text("x = 1\n")
    codebase = opened(root)
    reads: list[int] = []
    memo = StateMemo(codebase.index, lambda: reads.append(1) or len(codebase.index.files()))  # type: ignore[func-returns-value]
    assert [memo.value(), memo.value(), len(reads)] == [2, 2, 1]
    refresh(root, codebase.index.path)
    assert [memo.value(), len(reads)] == [2, 1]
    (root / "c.py").write_text("import b\n")
    refresh(root, codebase.index.path)
    assert [memo.value(), len(reads)] == [3, 2]


def test_links_between_files_follow_an_edit_and_a_removal(root: Path, opened: Callable[[Path], Codebase]) -> None:
    (root / "a.py").write_text("import b\n")
    (root / "b.py").write_text("x = 1\n")
    codebase = opened(root)
    assert codebase.file_links() == (("a.py", "b.py", 1),)
    (root / "a.py").write_text("import os\n\nimport b\n")
    refresh(root, codebase.index.path)
    assert codebase.file_links() == (("a.py", "b.py", 3),)
    (root / "b.py").unlink()
    refresh(root, codebase.index.path)
    assert codebase.file_links() == ()


def test_counts_of_terms_follow_an_edit_and_a_removal(root: Path, opened: Callable[[Path], Codebase]) -> None:
    (root / "a.py").write_text("bobbin = 1\n")
    (root / "b.py").write_text("bobbin = wool = 2\n")
    codebase = opened(root)
    terms = ["bobbin", "wool", "loom", "bobbin"]
    for _ in range(2):
        assert list(codebase.index.document_counts(terms).items()) == [("bobbin", 2), ("wool", 1)]
    (root / "a.py").write_text("loom = 1\n")
    refresh(root, codebase.index.path)
    assert codebase.index.document_counts(terms) == {"bobbin": 1, "wool": 1, "loom": 1}
    (root / "b.py").unlink()
    refresh(root, codebase.index.path)
    assert codebase.index.document_counts(terms) == {"loom": 1}
    assert codebase.index.document_counts([]) == {}


def test_what_is_kept_keeps_no_codebase_open_that_nobody_refers_to(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    (root / "a.py").write_text("def f():\n    return f()\n")
    index_path = opened(root).index.path
    codebase = Codebase.open(root, index_path)
    assert codebase.index.document_counts(["return"]) or codebase.files() or codebase.file_links()
    ended = weakref.ref(codebase), weakref.ref(codebase.index)
    gc.disable()
    try:
        del codebase
        assert [one() for one in ended] == [None, None]
    finally:
        gc.enable()
