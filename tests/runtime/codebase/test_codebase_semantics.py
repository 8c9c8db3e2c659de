from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors, shared_embedder
from runtime.codebase.semantics.similarity import NOTED_WITHIN_S, open_semantics, vector_state
from runtime.codebase.semantics.vector_cache import VectorCache, key_of
from runtime.codebase.semantics.vector_semantics import VectorSemantics


class WordEmbedder:
    """One dimension for each of a few words; counts what it is asked for, and can be held up."""

    name = "words"
    words = ("bank", "money", "zebra")

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.begun = threading.Event()
        self.may_go = threading.Event()
        self.may_go.set()
        self.fails = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.begun.set()
        assert self.may_go.wait(10)
        if self.fails:
            raise RuntimeError("no model today")
        self.asked += texts
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[: len(self.words)] = [text.count(word) for word in self.words]
            row[-1] = 0.1
        scaled: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return scaled


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors" / "vectors.sqlite"


@pytest.fixture
def semantics(embedder: WordEmbedder, path: Path) -> Iterator[VectorSemantics]:
    made = VectorSemantics(embedder, VectorCache(path))
    yield made
    embedder.may_go.set()
    made.close()


def finished(semantics: VectorSemantics) -> None:
    worker = semantics._worker
    if worker is not None:
        worker.join(10)


def test_what_means_the_same_is_nearer(semantics: VectorSemantics) -> None:
    found = semantics.similarities("money", ["money money", "zebra"], wait=True)
    assert found is not None
    assert found[0] > 0.9 > 0.1 > found[1]
    assert semantics.similarities("money", [], wait=True) == []


def test_a_text_is_embedded_once_and_never_again_in_another_process(
    semantics: VectorSemantics, embedder: WordEmbedder, path: Path
) -> None:
    first = semantics.similarities("money", ["a bank", "a zebra"], wait=True)
    assert sorted(embedder.asked) == ["a bank", "a zebra", "money"]
    assert semantics.similarities("money", ["a bank", "a zebra"], wait=False) == first
    other = WordEmbedder()
    again = VectorSemantics(other, VectorCache(path))
    assert again.similarities("money", ["a zebra", "a bank"], wait=False) == list(reversed(first or []))
    assert other.asked == []
    again.close()


def test_who_does_not_wait_gets_an_answer_at_once_and_vectors_the_next_time(
    semantics: VectorSemantics, embedder: WordEmbedder
) -> None:
    embedder.may_go.clear()
    assert semantics.similarities("money", ["a bank", "a zebra"], wait=False) is None
    assert semantics.progress() == (0, 3)
    embedder.may_go.set()
    finished(semantics)
    assert semantics.progress() == (3, 3)
    assert semantics.similarities("money", ["a bank", "a zebra"], wait=False) is not None
    assert semantics.similarities("bank", ["a bank", "a zebra"], wait=False) is not None


def test_a_model_that_fails_costs_nothing_but_the_vectors(
    semantics: VectorSemantics, embedder: WordEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    embedder.fails = True
    assert semantics.similarities("money", ["a bank", "b bank"], wait=False) is None
    finished(semantics)
    assert "embeddings.failed" in caplog.text
    assert semantics.similarities("money", ["a bank", "b bank"], wait=True) is None
    embedder.fails = False
    assert semantics.similarities("money", ["a bank", "b bank"], wait=True) is not None


@pytest.mark.parametrize(("limit", "kept"), [(2, 2), (3, 3), (4, 3)])
def test_of_too_many_vectors_the_oldest_go(path: Path, limit: int, kept: int) -> None:
    cache = VectorCache(path, max_vectors=limit)
    keys = [key_of("m", str(number)) for number in range(3)]
    for key in keys:
        cache.put({key: np.ones(DIMENSIONS, np.float32)})
    assert sorted(cache.get(keys)) == sorted(keys[-kept:])
    cache.close()


def _cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def _broken_pages(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


def _other_tables(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE vectors (key BLOB)")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("during", [False, True], ids=["before", "during"])
@pytest.mark.parametrize("harm", [_cut_to_nothing, _broken_pages, _other_tables, _folder, _pipe])
def test_a_cache_file_that_is_harmed_is_made_anew(path: Path, harm: Callable[[Path], None], during: bool) -> None:
    cache = VectorCache(path)
    vector = np.ones(DIMENSIONS, np.float32)
    cache.put({key_of("m", str(number)): vector for number in range(20)})
    if during:
        for side in ("-wal", "-shm"):
            path.with_name(path.name + side).unlink()
    else:
        cache.close()
    harm(path)
    key = key_of("m", "new")
    cache.put({key: vector})
    assert cache.get([key])[key].tolist() == vector.tolist()
    cache.close()
    other = VectorCache(path)
    other.put({key: vector})
    assert list(other.get([key])) == [key]
    other.close()


def test_a_damaged_cache_file_is_done_without(path: Path, embedder: WordEmbedder) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1000)
    semantics = VectorSemantics(embedder, VectorCache(path))
    assert semantics.similarities("money", ["a bank"], wait=True) is not None
    semantics.close()


def test_a_search_by_words_is_put_in_order_by_meaning(root: Path, index_path: Path, semantics: VectorSemantics) -> None:
    (root / "a.py").write_text(
        "def first():\n    '''A parcel of bank money.'''\n\n\ndef second():\n    '''A parcel.'''\n"
    )
    (root / "b.py").write_text("def third():\n    '''A parcel of a zebra, a zebra.'''\n")
    refresh(root, index_path)
    plain = Codebase.open(root, index_path)
    meant = Codebase.open(root, index_path, semantics=semantics)
    query = "parcel zebra zebra zebra"
    assert {hit.symbol for hit in plain.search_chunks("parcel")} == {
        hit.symbol for hit in meant.search_chunks("parcel")
    }
    assert meant.search_chunks(query, wait=True)[0].symbol == "third"
    assert meant.search_chunks("parcel", wait=False) is not None
    plain.close()
    meant.close()


def test_a_process_may_end_while_vectors_are_made(path: Path) -> None:
    program = f"""
from pathlib import Path
from runtime.codebase.semantics.similarity import open_semantics
semantics = open_semantics(Path({str(path)!r}))
assert semantics.similarities("a", [f"{{n}} " * 900 for n in range(600)], wait=False) is None
while not semantics.progress()[0]:
    pass
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_shipped_model_tells_related_from_unrelated(path: Path) -> None:
    semantics = open_semantics(path)
    assert semantics is not None
    texts = ["def refund(payment): return money to the customer", "class ZebraStripes: colour = 'black'"]
    found = semantics.similarities("how is a customer paid back", texts, wait=True)
    assert found is not None
    assert found[0] > 0.3 > found[1]
    semantics.close()


def test_vectors_have_length_one_whatever_the_text() -> None:
    rows = shared_embedder().embed(["", "x" * 10_000, "a b c", "\ud800"])
    assert rows.shape == (4, DIMENSIONS)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)


def test_whoever_looks_sees_how_far_the_vectors_are(
    semantics: VectorSemantics, embedder: WordEmbedder, path: Path
) -> None:
    assert vector_state(path) == (0, 0, 0)
    embedder.may_go.clear()
    texts = [f"bank {number}" for number in range(9)]
    assert semantics.similarities("money", texts, wait=False) is None
    assert embedder.begun.wait(10)
    assert vector_state(path) == (0, 0, 10)
    embedder.may_go.set()
    finished(semantics)
    assert vector_state(path) == (10, 0, 0)


def test_who_stopped_without_a_word_is_no_longer_told_of(path: Path) -> None:
    cache = VectorCache(path)
    cache.note("gone", 4, 10)
    noted_s = time.time()
    assert vector_state(path)[1:] == (4, 10)
    assert vector_state(path, now_s=noted_s + NOTED_WITHIN_S - 1)[1:] == (4, 10)
    assert vector_state(path, now_s=noted_s + NOTED_WITHIN_S + 1)[1:] == (0, 0)
    cache.note("gone", 10, 10)
    assert vector_state(path)[1:] == (0, 0)
    cache.close()
