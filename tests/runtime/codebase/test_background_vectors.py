"""The vectors of all pieces: in which order they are made, what is ready, and what is nearest."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.packing import PACKED_BYTES, as_kept, pack
from runtime.codebase.semantics.piece_order import TOUCHED_AFTER_NS, pieces_in_order, touched_files
from runtime.codebase.semantics.piece_vectors import _ROWS_AT_ONCE, cosines_of
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import TEXTS_AT_ONCE, VectorMaker, missing_pieces
from runtime.codebase.semantics.vector_semantics import LOADED_PATIENCE_S, STARTING_PATIENCE_S, VectorSemantics

WORDS = ("bank", "money", "zebra")


class Embedder:
    """One dimension for each of a few words; keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def within(self, texts: Sequence[str], _patience_s: float) -> Vectors:
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        rows = np.full((len(texts), DIMENSIONS), 0.001, np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[: len(WORDS)] = [text.count(word) for word in WORDS]
        scaled: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return scaled


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


def indexed(root: Path, index_path: Path, **files: str) -> WantedIndex:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    refresh(root, index_path)
    return WantedIndex(str(index_path), str(root))


def made(maker: VectorMaker) -> None:
    while maker.step():
        pass


def files_of(embedder: Embedder) -> list[str]:
    return [text.split(" ", 1)[0] for text in embedder.asked]


def test_a_packed_vector_takes_a_byte_for_each_number_and_keeps_its_cosines() -> None:
    rng = np.random.default_rng(7)
    one, other = (row / np.linalg.norm(row) for row in rng.normal(size=(2, DIMENSIONS)).astype(np.float32))
    assert len(pack(one)) == PACKED_BYTES == DIMENSIONS + 4
    assert float(as_kept(one) @ as_kept(other)) == pytest.approx(float(one @ other), abs=0.005)
    assert as_kept(as_kept(one)).tolist() == pytest.approx(as_kept(one).tolist(), abs=1e-6)


def test_a_vector_of_nothing_can_be_packed() -> None:
    assert as_kept(np.zeros(DIMENSIONS, np.float32)).tolist() == [0.0] * DIMENSIONS


def test_all_pieces_get_vectors_source_before_tests_and_each_text_once(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    wanted = indexed(root, index_path, tests__test_a_py="def test_bank(): pass\n", pkg__b_py="def bank(): pass\n")
    cache.want(wanted)
    made(VectorMaker(embedder, cache))
    order = files_of(embedder)
    assert order.index("pkg/b.py") < order.index("tests/test_a.py")
    reader = IndexReader(index_path)
    assert reader.rows("SELECT count(*) FROM (SELECT key FROM chunks UNION SELECT key FROM passages)") == [
        (len(order),)
    ]
    reader.close()
    assert missing_pieces(wanted, cache) == []
    assert cache.wanted() == []


def test_a_changed_file_is_embedded_again_without_the_pieces_that_stay(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    both = "def bank():\n    return 1\n\n\ndef zebra():\n    return 2\n"
    cache.want(indexed(root, index_path, a_py=both))
    made(VectorMaker(embedder, cache))
    embedder.asked.clear()
    cache.want(indexed(root, index_path, a_py=both.replace("return 2", "return 3")))
    made(VectorMaker(embedder, cache))
    assert [text.partition("\n")[0] for text in embedder.asked] == ["a.py zebra"]


def test_an_index_that_lacked_nothing_is_not_listed_again_until_it_changes(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache, tmp_path: Path
) -> None:
    wanted = indexed(root, index_path, a_py="def bank(): pass\n", b_py="def money(): pass\n")
    for _ in range(2):
        cache.want(wanted)
        made(VectorMaker(embedder, cache))
    embedder.asked.clear()
    with closing(IndexReader(index_path)) as reader:
        (first,) = [piece.key for piece in pieces_in_order(reader) if piece.file == "a.py"]
    with closing(sqlite3.connect(tmp_path / "vectors.sqlite")) as behind, behind:
        behind.execute("DELETE FROM vectors WHERE key = ?", (first,))
    cache.want(wanted)
    made(VectorMaker(embedder, cache))
    assert (embedder.asked, cache.wanted()) == ([], [])
    cache.want(indexed(root, index_path, b_py="def zebra(): pass\n"))
    made(VectorMaker(embedder, cache))
    assert sorted(files_of(embedder)) == ["a.py", "b.py"]


@pytest.mark.parametrize(("others", "again"), [(1, []), (2, ["a.py"])])
def test_vectors_that_were_driven_out_are_made_again(
    root: Path, index_path: Path, embedder: Embedder, tmp_path: Path, others: int, again: list[str]
) -> None:
    cache = VectorCache(tmp_path / "small.sqlite", max_vectors=2)
    wanted = indexed(root, index_path, a_py="def bank(): pass\n")
    for _ in range(2):
        cache.want(wanted)
        made(VectorMaker(embedder, cache))
    embedder.asked.clear()
    cache.put({bytes([number]) * 16: as_kept(np.eye(1, DIMENSIONS, dtype=np.float32)[0]) for number in range(others)})
    cache.want(wanted)
    made(VectorMaker(embedder, cache))
    assert files_of(embedder) == again


def test_a_file_of_vectors_that_is_made_anew_remembers_nothing(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache, tmp_path: Path
) -> None:
    wanted = indexed(root, index_path, a_py="def bank(): pass\n")
    for _ in range(2):
        cache.want(wanted)
        made(VectorMaker(embedder, cache))
    embedder.asked.clear()
    cache.close()
    with closing(sqlite3.connect(tmp_path / "vectors.sqlite")) as behind:
        behind.execute("PRAGMA user_version = 1")
    cache.want(wanted)
    made(VectorMaker(embedder, cache))
    assert files_of(embedder) == ["a.py"]


def test_a_file_that_changed_since_it_was_indexed_gets_no_wrong_vectors(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    wanted = indexed(root, index_path, a_py="def bank(): pass\n")
    (root / "a.py").write_text("def zebra(): pass\n")
    cache.want(wanted)
    made(VectorMaker(embedder, cache))
    assert embedder.asked == []
    assert cache.wanted() == []


def test_an_index_that_is_gone_is_wanted_no_more(tmp_path: Path, embedder: Embedder, cache: VectorCache) -> None:
    cache.want(WantedIndex(str(tmp_path / "none.sqlite"), str(tmp_path)))
    made(VectorMaker(embedder, cache))
    assert cache.wanted() == []


def test_the_texts_of_a_question_come_before_all_pieces_and_the_latest_index_before_earlier_ones(
    tmp_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        cache.want(indexed(tmp_path / name, tmp_path / f"{name}.sqlite", **{f"{name}_py": "bank = 1\n"}))
    VectorSemantics(embedder.within, cache).similarities("money", ["asked for"], wait=False)
    made(VectorMaker(embedder, cache))
    assert files_of(embedder) == ["asked", "new.py", "old.py"]


class Picky(Embedder):
    """Fails on texts with a word, as a model does on a text that it cannot take."""

    def __init__(self, poison: str) -> None:
        super().__init__()
        self._poison = poison

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = super().embed(texts)
        if any(self._poison in text for text in texts):
            raise RuntimeError("the model failed")
        return rows


def test_a_text_that_the_model_fails_on_is_noted_and_all_others_get_vectors(
    root: Path, index_path: Path, cache: VectorCache, caplog: pytest.LogCaptureFixture
) -> None:
    files = {f"f{number}_py": f"bank = {number}\n" for number in range(TEXTS_AT_ONCE)}
    wanted = indexed(root, index_path, **files, trap_py="poison = 1\n")
    cache.want(wanted)
    picky = Picky("poison")
    made(VectorMaker(picky, cache))
    assert [record.message for record in caplog.records] == ["vectors.text_skipped"]
    assert vars(caplog.records[0])["text"] == "trap.py "
    assert cache.wanted() == []
    picky.asked.clear()
    cache.want(wanted)
    made(VectorMaker(picky, cache))
    assert picky.asked == []
    semantics = VectorSemantics(picky.within, cache)
    with closing(Codebase.open(root, index_path, semantics=semantics)) as codebase:
        near = semantics.nearest(codebase.index, "bank", 99)
        assert near is not None
        assert len(near) == TEXTS_AT_ONCE
        assert semantics.ready(codebase.index) == 1.0
    assert semantics.similarities("bank", ["trap.py \npoison = 1"], wait=False) == [None]


def test_a_model_that_fails_on_every_text_is_reported_and_no_text_is_given_up(
    root: Path, index_path: Path, cache: VectorCache
) -> None:
    wanted = indexed(root, index_path, a_py="bank = 1\n")
    cache.want(wanted)
    with pytest.raises(RuntimeError, match="the model failed"):
        VectorMaker(Picky(""), cache).step()
    assert len(missing_pieces(wanted, cache)) == 1


def test_an_index_that_is_asked_for_meanwhile_is_next(tmp_path: Path, embedder: Embedder, cache: VectorCache) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    many = {f"f{number}_py": f"bank = {number}\n" for number in range(2 * TEXTS_AT_ONCE)}
    cache.want(indexed(tmp_path / "old", tmp_path / "old.sqlite", **many))
    maker = VectorMaker(embedder, cache)
    maker.step()
    cache.want(indexed(tmp_path / "new", tmp_path / "new.sqlite", new_py="bank = 1\n"))
    made(maker)
    assert files_of(embedder).index("new.py") == TEXTS_AT_ONCE
    assert len(embedder.asked) == 2 * TEXTS_AT_ONCE + 1


def test_an_index_with_more_pieces_than_the_cache_holds_gets_what_fits_and_is_done(
    root: Path, index_path: Path, embedder: Embedder, tmp_path: Path
) -> None:
    cache = VectorCache(tmp_path / "small.sqlite", max_vectors=4)
    cache.want(indexed(root, index_path, **{f"f{number}_py": f"bank = {number}\n" for number in range(9)}))
    made(VectorMaker(embedder, cache))
    assert len(embedder.asked) == 2
    assert cache.wanted() == []


@pytest.mark.parametrize(
    ("later_ns", "is_touched"), [(0, False), (TOUCHED_AFTER_NS, False), (TOUCHED_AFTER_NS + 1, True)]
)
def test_a_file_counts_as_touched_a_minute_after_most_others(later_ns: int, is_touched: bool) -> None:
    changed = {"a.py": 10, "b.py": 10, "c.py": 10 + later_ns}
    assert touched_files(changed) == ({"c.py": 0} if is_touched else {})
    assert touched_files({}) == {}


def test_touched_files_come_first_the_latest_before_the_others(root: Path, index_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py", "tests/e.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("bank = 1\n")
        os.utime(root / name, ns=(0, {"c.py": 10**12, "tests/e.py": 2 * 10**12}.get(name, 0)))
    refresh(root, index_path)
    reader = IndexReader(index_path)
    assert [piece.file for piece in pieces_in_order(reader)] == ["tests/e.py", "c.py", "a.py", "b.py", "d.py"]
    reader.close()


def test_the_folders_of_touched_files_come_before_other_folders(root: Path, index_path: Path) -> None:
    for name in ("a/one.py", "b/two.py", "b/tests/three.py", "b/three.md", "c/four.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("bank = 1\n")
        os.utime(root / name, ns=(0, 10**12 if name == "b/two.py" else 0))
    refresh(root, index_path)
    with closing(IndexReader(index_path)) as reader:
        files = list(dict.fromkeys(piece.file for piece in pieces_in_order(reader)))
    assert files == ["b/two.py", "b/three.md", "a/one.py", "c/four.py", "b/tests/three.py"]


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("app/pay.py", ["app/pay.py"]),
        ("docs/pay.md", ["docs/pay.md", "third_party/a.py", "lib/generated/b.py"]),
        ("tests/test_pay.py", ["tests/test_pay.py", "third_party/a.py", "lib/generated/b.py"]),
    ],
)
def test_code_of_others_gets_no_vectors_beside_own_code(
    root: Path, index_path: Path, own: str, files: list[str]
) -> None:
    texts = {"third_party/a.py": "bank = 1\n", "lib/generated/b.py": "bank = 2\n", own: "bank = 3\n"}
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    refresh(root, index_path)
    with closing(IndexReader(index_path)) as reader:
        assert {piece.file for piece in pieces_in_order(reader)} == set(files)


def test_the_share_that_is_ready_grows_with_the_vectors(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    files = {f"f{number}_py": f"bank = {number}\n" for number in range(2 * TEXTS_AT_ONCE)}
    cache.want(indexed(root, index_path, **files))
    semantics = VectorSemantics(embedder.within, cache)
    codebase = Codebase.open(root, index_path, semantics=semantics)
    maker = VectorMaker(embedder, cache)
    assert codebase.meaning == 0.0
    maker.step()
    assert codebase.meaning == 0.5
    made(maker)
    assert codebase.meaning == 1.0
    indexed(root, index_path, more_py="zebra = 1\n")
    assert codebase.meaning == round(16 / 17, 4)
    assert Codebase.open(root, index_path).meaning is None
    codebase.close()


@pytest.mark.parametrize(
    ("more", "patience_s"), [(-1, LOADED_PATIENCE_S), (0, LOADED_PATIENCE_S), (1, STARTING_PATIENCE_S)]
)
def test_a_run_waits_longer_for_its_question_where_half_of_the_pieces_have_vectors(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache, more: int, patience_s: float
) -> None:
    waited: list[float] = []

    def embed(texts: Sequence[str], most_s: float) -> Vectors:
        waited.append(most_s)
        return embedder.within(texts, most_s)

    files = {f"f{number}_py": f"bank = {number}\n" for number in range(2 * TEXTS_AT_ONCE + more)}
    cache.want(indexed(root, index_path, **files))
    VectorMaker(embedder, cache).step()
    with closing(IndexReader(index_path)) as reader:
        assert VectorSemantics(embed, cache).fix(reader, "zebra") > 0
    assert waited == [patience_s]


def test_the_nearest_pieces_are_those_of_the_same_meaning(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    wanted = indexed(root, index_path, a_py="bank = 1\n", b_py="zebra = 1\n", sub__c_py="zebra = 'bank'\n")
    semantics = VectorSemantics(embedder.within, cache)
    reader = IndexReader(index_path)
    assert semantics.nearest(reader, "zebra", 2) is None
    assert embedder.asked == []
    cache.want(wanted)
    made(VectorMaker(embedder, cache))
    paths = dict(reader.rows("SELECT c.id, f.path FROM chunks c JOIN files f ON f.id = c.file_id"))

    def near(limit: int, files: list[int] | None = None) -> list[str]:
        found = semantics.nearest(reader, "zebra", limit, files=files)
        assert found is not None
        return [paths[chunk_id] for chunk_id, _ in found]

    assert near(2) == ["b.py", "sub/c.py"]
    assert near(9) == ["b.py", "sub/c.py", "a.py"]
    [(inside,)] = reader.rows("SELECT id FROM files WHERE path = 'sub/c.py'")
    assert near(9, [inside]) == ["sub/c.py"]
    reader.close()


def test_of_pieces_equally_near_the_first_ones_come_first(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    cache.want(indexed(root, index_path, **{f"f{number}_py": "bank = 1\n" for number in range(5)}, z_py="zebra = 1\n"))
    made(VectorMaker(embedder, cache))
    semantics = VectorSemantics(embedder.within, cache)
    with closing(IndexReader(index_path)) as reader:
        near = semantics.nearest(reader, "bank", 6)
        assert near is not None
        ids = [piece.id for piece in near]
        assert ids[:5] == sorted(ids[:5])
        for limit in (1, 4, 5, 6, 7):
            found = semantics.nearest(reader, "bank", limit)
            assert found is not None
            assert [piece.id for piece in found] == ids[:limit]


@pytest.mark.parametrize("count", [_ROWS_AT_ONCE - 1, _ROWS_AT_ONCE, _ROWS_AT_ONCE + 1])
def test_every_part_of_a_large_matrix_is_compared(count: int) -> None:
    rng = np.random.default_rng(3)
    numbers = rng.integers(-127, 128, (count, DIMENSIONS), dtype=np.int8)
    scales = rng.random(count, np.float32)
    query = rng.normal(size=DIMENSIONS).astype(np.float32)
    assert cosines_of(numbers, scales, query) == pytest.approx(
        (numbers.astype(np.float32) @ query) * scales, rel=1e-4, abs=1e-3
    )
