from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.piece_text import piece_key
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors, shared_embedder
from runtime.codebase.semantics.similarity import NOTED_WITHIN_S, open_semantics, vector_state
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import TEXTS_AT_ONCE, VectorMaker
from runtime.codebase.semantics.vector_semantics import VectorSemantics


class WordEmbedder:
    """One dimension for each of a few words; counts what it is asked for."""

    words = ("bank", "money", "zebra")

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    def within(self, texts: Sequence[str], _patience_s: float) -> Vectors:
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.fails:
            raise RuntimeError("no model today")
        self.asked += texts
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[: len(self.words)] = [text.count(word) for word in self.words]
            row[-1] = 0.1
        scaled: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return scaled


def test_an_embedded_text_leaves_nothing_in_the_home_folder(tmp_path: Path) -> None:
    """From 1.29 on, ONNX Runtime reports its use to its maker unless told not to; it keeps the reports there."""
    silenced = ("CI", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in silenced}
    code = "from runtime.codebase.semantics.embedding import MiniLM; MiniLM().embed(['a bank'])"
    subprocess.run([sys.executable, "-c", code], env={**environment, "HOME": str(tmp_path)}, check=True, timeout=120)
    assert list(tmp_path.rglob("*")) == []


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors" / "vectors.sqlite"


@pytest.fixture
def semantics(embedder: WordEmbedder, path: Path) -> Iterator[VectorSemantics]:
    made = VectorSemantics(embedder.within, VectorCache(path))
    yield made
    made.close()


@pytest.fixture
def maker(embedder: WordEmbedder, path: Path) -> VectorMaker:
    """What makes vectors in the background, step by step."""
    return VectorMaker(embedder, VectorCache(path))


def finished(maker: VectorMaker) -> None:
    while maker.step():
        pass


def cosines(found: list[float | None] | None) -> list[float]:
    assert found is not None
    return [cosine for cosine in found if cosine is not None]


def test_what_means_the_same_is_nearer(semantics: VectorSemantics) -> None:
    found = cosines(semantics.similarities("money", ["money money", "zebra"], wait=True))
    assert found[0] > 0.9 > 0.1 > found[1]
    assert semantics.similarities("money", [], wait=True) == []


def test_a_text_is_embedded_once_and_never_again_in_another_process(
    semantics: VectorSemantics, embedder: WordEmbedder, path: Path
) -> None:
    first = semantics.similarities("money", ["a bank", "a zebra"], wait=True)
    assert sorted(embedder.asked) == ["a bank", "a zebra", "money"]
    assert semantics.similarities("money", ["a bank", "a zebra"], wait=False) == first
    other = WordEmbedder()
    again = VectorSemantics(other.within, VectorCache(path))
    assert again.similarities("money", ["a zebra", "a bank"], wait=False) == list(reversed(first or []))
    assert other.asked == []
    again.close()


def test_who_does_not_wait_gets_an_answer_at_once_and_vectors_the_next_time(
    semantics: VectorSemantics, embedder: WordEmbedder, maker: VectorMaker
) -> None:
    assert semantics.similarities("money", ["a bank", "a zebra"], wait=False) is None
    assert embedder.asked == []
    finished(maker)
    assert sorted(embedder.asked) == ["a bank", "a zebra"]
    assert semantics.similarities("money", ["a bank", "a zebra"], wait=False) is not None
    assert semantics.similarities("bank", ["a bank", "a zebra"], wait=False) is not None


def test_what_is_ready_counts_while_the_rest_is_made(
    semantics: VectorSemantics, embedder: WordEmbedder, maker: VectorMaker
) -> None:
    semantics.similarities("money", ["a bank"], wait=True)
    found = semantics.similarities("bank", ["a zebra", "a bank"], wait=False)
    assert found is not None
    assert found[0] is None
    assert found[1] == pytest.approx(1.0, abs=0.02)
    finished(maker)
    assert len(cosines(semantics.similarities("bank", ["a zebra", "a bank"], wait=False))) == 2


def test_a_model_that_fails_costs_nothing_but_the_vectors(
    semantics: VectorSemantics, embedder: WordEmbedder, maker: VectorMaker, caplog: pytest.LogCaptureFixture
) -> None:
    embedder.fails = True
    assert semantics.similarities("money", ["a bank", "b bank"], wait=False) is None
    with pytest.raises(RuntimeError, match="no model today"):
        maker.step()
    assert semantics.similarities("money", ["a bank", "b bank"], wait=True) is None
    assert "embeddings.failed" in caplog.text
    embedder.fails = False
    assert semantics.similarities("money", ["a bank", "b bank"], wait=True) is not None


@pytest.mark.parametrize(("limit", "kept"), [(2, 2), (3, 3), (4, 3)])
def test_of_too_many_vectors_the_oldest_go(path: Path, limit: int, kept: int) -> None:
    cache = VectorCache(path, max_vectors=limit)
    keys = [piece_key(str(number)) for number in range(3)]
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
    cache.put({piece_key(str(number)): vector for number in range(20)})
    if during:
        for side in ("-wal", "-shm"):
            path.with_name(path.name + side).unlink()
    else:
        cache.close()
    harm(path)
    key = piece_key("new")
    cache.put({key: vector})
    assert cache.get([key])[key].tolist() == pytest.approx(vector.tolist())
    cache.close()
    other = VectorCache(path)
    other.put({key: vector})
    assert list(other.get([key])) == [key]
    other.close()


def test_a_damaged_cache_file_is_done_without(path: Path, embedder: WordEmbedder) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1000)
    semantics = VectorSemantics(embedder.within, VectorCache(path))
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


def test_the_shipped_model_tells_related_from_unrelated(path: Path) -> None:
    semantics = open_semantics(path, here=True)
    assert semantics is not None
    texts = ["def refund(payment): return money to the customer", "class ZebraStripes: colour = 'black'"]
    found = cosines(semantics.similarities("how is a customer paid back", texts, wait=True))
    assert found[0] > 0.3 > found[1]
    semantics.close()


def test_vectors_have_length_one_whatever_the_text() -> None:
    rows = shared_embedder().embed(["", "x" * 10_000, "a b c", "\ud800"])
    assert rows.shape == (4, DIMENSIONS)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)


def test_whoever_looks_sees_how_far_the_vectors_are(
    maker: VectorMaker, root: Path, index_path: Path, path: Path
) -> None:
    assert vector_state(path) == (0, 0, 0)
    for number in range(TEXTS_AT_ONCE + 1):
        (root / f"{number}.py").write_text(f"bank = {number}\n")
    pieces = refresh(root, index_path).chunks
    VectorCache(path).want(WantedIndex(str(index_path), str(root)))
    assert maker.step()
    assert vector_state(path) == (TEXTS_AT_ONCE, TEXTS_AT_ONCE, pieces)
    finished(maker)
    assert vector_state(path) == (pieces, 0, 0)


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
