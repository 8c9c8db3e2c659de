"""The pieces that a question turns on: which they are, and how far they are embedded before it is answered."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.likely_pieces import MAX_ALL, MAX_CHUNKS, MAX_PASSAGES, first_pieces, likely_pieces
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.vector_semantics import EMBEDDED_AT_ONCE, QUESTIONS_AT_ONCE, VectorSemantics
from runtime.errors import MachineError

QUESTION = "How is the money of an order paid back?"


class Embedder:
    """Embeds as many requests as it may, and keeps what it was asked for and how long it would have had."""

    def __init__(self, requests: int = 1_000) -> None:
        self.left = requests
        self.asked: list[list[str]] = []
        self.patience_s: list[float] = []

    def within(self, texts: Sequence[str], patience_s: float) -> Vectors:
        self.patience_s.append(patience_s)
        if not self.left:
            raise MachineError("nobody has answered in time")
        self.left -= 1
        self.asked.append(list(texts))
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        rows[:, 0] = 1.0
        return rows


def shop(root: Path, index_path: Path, functions: int) -> IndexReader:
    """Index a file with that many functions that pay back, each with a comment, and one that does something else."""
    root.mkdir(exist_ok=True)
    parts = [
        f"def pay_back_{number}(order):\n    # The money of order {number} goes back to whoever paid for it.\n"
        f"    return order.paid({number})\n"
        for number in range(functions)
    ]
    (root / "till.py").write_text("\n\n".join([*parts, "def zebra():\n    return 1\n"]))
    refresh(root, index_path)
    return IndexReader(index_path)


def opened(root: Path, index_path: Path, embedder: Embedder, cache: VectorCache) -> Codebase:
    return Codebase.open(root, index_path, semantics=VectorSemantics(embedder.within, cache))


@pytest.mark.parametrize("functions", [MAX_CHUNKS - 1, MAX_CHUNKS, MAX_CHUNKS + 1, MAX_PASSAGES + 1])
def test_so_many_chunks_and_passages_are_likely_and_no_more(root: Path, index_path: Path, functions: int) -> None:
    with closing(shop(root, index_path, functions)) as index:
        found = likely_pieces(index, QUESTION)
    assert sum(not piece.is_passage for piece in found) == min(functions, MAX_CHUNKS)
    assert sum(piece.is_passage for piece in found) == min(functions, MAX_PASSAGES)
    assert "zebra" not in {piece.symbol for piece in found}


def test_chunks_come_before_passages_without_which_these_count_nothing(root: Path, index_path: Path) -> None:
    with closing(shop(root, index_path, 6)) as index:
        found = likely_pieces(index, QUESTION)
    assert [piece.is_passage for piece in found] == [False] * 6 + [True] * 6


def test_a_question_of_which_nothing_is_there_turns_on_nothing(root: Path, index_path: Path) -> None:
    with closing(shop(root, index_path, 2)) as index:
        assert likely_pieces(index, "") == []
        assert likely_pieces(index, "Hippopotamus?") == []


@pytest.mark.parametrize(("functions", "is_whole"), [(1, True), (31, True), (32, False)])
def test_all_pieces_of_a_small_repository_come_first_behind_the_likely_ones(
    root: Path, index_path: Path, functions: int, is_whole: bool
) -> None:
    with closing(shop(root, index_path, functions)) as index:
        found, likely = first_pieces(index, QUESTION), likely_pieces(index, QUESTION)
        assert (index.piece_count() <= MAX_ALL) is is_whole
        assert found[: len(likely)] == likely
        assert len(found) == len(set(found)) == (index.piece_count() if is_whole else len(likely))


def test_likely_pieces_are_embedded_first_and_then_none_is_left(
    root: Path, index_path: Path, cache: VectorCache
) -> None:
    shop(root, index_path, 40).close()
    embedder = Embedder()
    codebase = opened(root, index_path, embedder, cache)
    codebase.embed_likely(QUESTION, 2.0)
    question, *batches = embedder.asked
    assert question == [QUESTION]
    assert sum(map(len, batches)) == MAX_CHUNKS + MAX_PASSAGES
    assert max(map(len, batches)) == EMBEDDED_AT_ONCE
    assert all(0 < patience_s <= 2.0 for patience_s in embedder.patience_s)
    assert cache.wanted_first(1) == {}
    codebase.embed_likely(QUESTION, 2.0)
    assert len(embedder.asked) == 1 + len(batches)
    codebase.close()


def test_what_patience_does_not_reach_is_embedded_behind_the_question(
    root: Path, index_path: Path, cache: VectorCache
) -> None:
    shop(root, index_path, 40).close()
    embedder = Embedder(requests=2)
    codebase = opened(root, index_path, embedder, cache)
    codebase.embed_likely(QUESTION, 2.0)
    left = cache.wanted_first(100)
    assert len(left) == MAX_CHUNKS + MAX_PASSAGES - EMBEDDED_AT_ONCE
    assert not set(left.values()) & set(embedder.asked[1])
    assert codebase.semantics is not None
    assert codebase.semantics.counted(codebase.index)[0] == EMBEDDED_AT_ONCE
    codebase.close()


@pytest.mark.parametrize("patience_s", [0.0, -1.0])
def test_without_patience_nothing_is_embedded(
    root: Path, index_path: Path, cache: VectorCache, patience_s: float
) -> None:
    shop(root, index_path, 3).close()
    embedder = Embedder()
    codebase = opened(root, index_path, embedder, cache)
    codebase.embed_likely(QUESTION, patience_s)
    assert embedder.patience_s == []
    codebase.close()


def test_a_process_that_does_not_answer_costs_one_request(root: Path, index_path: Path, cache: VectorCache) -> None:
    shop(root, index_path, 40).close()
    embedder = Embedder(requests=0)
    codebase = opened(root, index_path, embedder, cache)
    codebase.embed_likely(QUESTION, 2.0)
    assert len(embedder.patience_s) == 1
    assert len(cache.wanted_first(100)) == MAX_CHUNKS + MAX_PASSAGES
    codebase.close()


def test_a_file_that_changed_since_it_was_indexed_gets_no_vectors_of_its_new_text(
    root: Path, index_path: Path, cache: VectorCache
) -> None:
    shop(root, index_path, 3).close()
    (root / "till.py").write_text("def gnu(): pass\n" * 40)
    embedder = Embedder()
    codebase = opened(root, index_path, embedder, cache)
    codebase.embed_likely(QUESTION, 2.0)
    assert embedder.asked == []
    codebase.close()


class Waits(Embedder):
    """Embeds nothing until a test lets it, and tells when it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Event()

    def within(self, texts: Sequence[str], patience_s: float) -> Vectors:
        self.begun.release()
        assert self.may_end.wait(60)
        return super().within(texts, patience_s)


def test_a_third_question_at_once_goes_on_without_and_leaves_its_pieces_behind(
    root: Path, index_path: Path, cache: VectorCache
) -> None:
    shop(root, index_path, 3).close()
    embedder = Waits()
    codebase = opened(root, index_path, embedder, cache)
    asking = [
        threading.Thread(target=codebase.embed_likely, args=(f"{QUESTION} {number}", 60.0))
        for number in range(QUESTIONS_AT_ONCE)
    ]
    for thread in asking:
        thread.start()
        assert embedder.begun.acquire(timeout=60)
    codebase.embed_likely(QUESTION, 0.01)
    assert len(cache.wanted_first(100)) == codebase.index.piece_count()
    assert embedder.asked == []
    embedder.may_end.set()
    for thread in asking:
        thread.join(60)
    assert QUESTION not in {text for batch in embedder.asked for text in batch}
    codebase.embed_likely(QUESTION, 60.0)
    codebase.close()
