"""What lies behind the first 128 tokens of a chunk: when it is embedded, and that the best window counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.gathering import MAX_ALIKE, gather
from runtime.codebase.semantics.embedding import MAX_FURTHER_WINDOWS, Vectors, Window, shared_embedder
from runtime.codebase.semantics.further_windows import CHUNKS_AT_ONCE, WindowMaker, are_windows_next, window_rows
from runtime.codebase.semantics.piece_vectors import Near
from runtime.codebase.semantics.similarity import is_installed
from runtime.codebase.semantics.stored_windows import best_of
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import VectorMaker
from runtime.codebase.semantics.vector_semantics import VectorSemantics
from runtime.codebase.tools.semantic_search import BY_WORDS_UNTIL_COMPLETE, semantic_search
from tests.runtime.codebase.test_background_vectors import Embedder as WordEmbedder

WINDOW_CHARS = 60


class Embedder(WordEmbedder):
    """One dimension for each of a few words; a window has 60 characters."""

    def __init__(self) -> None:
        super().__init__()
        self.windowed: list[str] = []
        self.windows: list[Window] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed([text[:WINDOW_CHARS] for text in texts])

    def further_windows(self, text: str) -> list[Window]:
        self.windowed.append(text)
        starts = range(WINDOW_CHARS, len(text), WINDOW_CHARS)
        return [tuple(map(ord, text[at : at + WINDOW_CHARS])) for at in starts]

    def embed_windows(self, windows: Sequence[Window]) -> Vectors:
        self.windows += windows
        return self.embed(["".join(map(chr, window)) for window in windows])


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


def put(root: Path, index_path: Path, **files: str) -> WantedIndex:
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    refresh(root, index_path)
    return WantedIndex(str(index_path), str(root))


def all_made(maker: VectorMaker | WindowMaker) -> None:
    while maker.step():
        pass


def function(name: str, end: str, lines: int = 12) -> str:
    return f"def {name}():\n" + "".join(f"    step_{number}()\n" for number in range(lines)) + f"    return {end}\n"


def test_a_chunk_is_found_by_what_stands_behind_its_first_window(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    wanted = put(root, index_path, a=function("first", "'zebra'", 6), b="bank = 1\n")
    cache.want(wanted)
    all_made(VectorMaker(embedder, cache))
    semantics = VectorSemantics(embedder.within, cache)
    windows = semantics.with_windows()
    with closing(IndexReader(index_path)) as reader:
        (chunk,) = [
            row[0]
            for row in reader.rows("SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE path = 'a.py'")
        ]
        before = windows.cosines(reader, "zebra", [chunk])
        cache.want_windows(wanted)
        all_made(WindowMaker(embedder, cache))
        after = windows.cosines(reader, "zebra", [chunk])
        assert before is not None
        assert after is not None
        assert before[chunk] < 0.1
        assert after[chunk] > 0.9
        found = windows.nearest(reader, "zebra", 5)
        assert found is not None
        assert found[0].id == chunk
        assert len({near.id for near in found}) == len(found)
        assert semantics.cosines(reader, "zebra", [chunk]) == before


def test_each_chunk_is_looked_at_once_and_again_when_it_has_changed(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    files = {f"f{number}": function(f"f{number}", "1") for number in range(CHUNKS_AT_ONCE + 1)}
    cache.want_windows(put(root, index_path, short="x = 1\n", **files))
    maker = WindowMaker(embedder, cache)
    assert maker.step() == CHUNKS_AT_ONCE
    all_made(maker)
    assert len(embedder.windowed) == len(files) + 1
    assert cache.wanted_windows() == []
    cache.want_windows(put(root, index_path, f0=function("f0", "2")))
    all_made(WindowMaker(embedder, cache))
    assert len(embedder.windowed) == len(files) + 2
    assert "return 2" in embedder.windowed[-1]


def test_an_index_whose_chunks_all_have_their_windows_is_not_listed_again_until_it_changes(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache, tmp_path: Path
) -> None:
    wanted = put(root, index_path, a=function("a", "1"))
    for _ in range(2):
        cache.want_windows(wanted)
        all_made(WindowMaker(embedder, cache))
    embedder.windowed.clear()
    with closing(sqlite3.connect(tmp_path / "vectors.sqlite")) as behind, behind:
        behind.execute("DELETE FROM vectors")
    cache.want_windows(wanted)
    all_made(WindowMaker(embedder, cache))
    assert (embedder.windowed, cache.wanted_windows()) == ([], [])
    cache.want_windows(put(root, index_path, b=function("b", "2")))
    all_made(WindowMaker(embedder, cache))
    assert len(embedder.windowed) == 2


def test_a_chunk_that_was_changed_keeps_the_windows_before_the_change(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    cache.want_windows(put(root, index_path, a=function("long", "'bank'", 40)))
    all_made(WindowMaker(embedder, cache))
    first = len(embedder.windows)
    assert first > 5
    cache.want_windows(put(root, index_path, a=function("long", "'zebra'", 40)))
    all_made(WindowMaker(embedder, cache))
    assert 1 <= len(embedder.windows) - first <= 2


def test_tests_have_no_windows_since_they_are_not_compared_by_meaning(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    (root / "tests").mkdir()
    (root / "tests" / "test_a.py").write_text(function("test_a", "'zebra'"))
    cache.want_windows(put(root, index_path, a=function("long", "'bank'")))
    all_made(WindowMaker(embedder, cache))
    assert [text.split()[0] for text in embedder.windowed] == ["a.py"]


class Failing(Embedder):
    """Fails on texts with a word in them; on every text if that is empty."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    def embed(self, texts: Sequence[str]) -> Vectors:
        if any(self.word in text for text in texts):
            raise RuntimeError("the model failed")
        return super().embed(texts)


def test_a_chunk_that_the_model_fails_on_is_passed_over_and_not_tried_again(
    root: Path, index_path: Path, cache: VectorCache
) -> None:
    cache.want_windows(put(root, index_path, a=function("bad", "'poison'"), b=function("good", "'zebra'")))
    embedder = Failing("poison")
    all_made(WindowMaker(embedder, cache))
    assert [text.split()[0] for text in embedder.windowed] == ["a.py", "b.py"]
    with closing(IndexReader(index_path)) as reader:
        assert {number for number, _, _ in window_rows(reader, cache)} == {
            row[0]
            for row in reader.rows("SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE path = 'b.py'")
        }
    cache.want_windows(WantedIndex(str(index_path), str(root)))
    again = Embedder()
    all_made(WindowMaker(again, cache))
    assert again.windowed == []


def test_a_model_that_fails_on_everything_is_no_fault_of_the_chunks(
    root: Path, index_path: Path, cache: VectorCache
) -> None:
    cache.want_windows(put(root, index_path, a=function("good", "'zebra'")))
    with pytest.raises(RuntimeError, match="model failed"):
        WindowMaker(Failing(""), cache).step()
    all_made(WindowMaker(Embedder(), cache))
    assert cache.newest_id() > 0


def test_an_index_that_is_gone_wants_nothing(tmp_path: Path, embedder: Embedder, cache: VectorCache) -> None:
    cache.want_windows(WantedIndex(str(tmp_path / "gone.sqlite"), str(tmp_path)))
    assert WindowMaker(embedder, cache).step() == 1
    assert cache.wanted_windows() == []


def test_of_several_windows_the_best_counts() -> None:
    found = best_of([Near(1, 0.2), Near(2, 0.5), Near(1, 0.7), Near(3, 0.5)])
    assert found == [Near(1, 0.7), Near(2, 0.5), Near(3, 0.5)]


def test_until_all_is_embedded_a_search_says_how_much_is_and_orders_more_by_words(
    root: Path, index_path: Path, embedder: Embedder, cache: VectorCache
) -> None:
    files = {f"f{number:03}": f"def pay_{number}():\n    return money\n" for number in range(130)}
    cache.want(put(root, index_path, **files))
    with closing(Codebase.open(root, index_path, semantics=VectorSemantics(embedder.within, cache))) as codebase:
        found = semantic_search(codebase, "pay the money out", max_results=100)
        assert found.data["embedded"] == "0 of 130 pieces"
        assert str(BY_WORDS_UNTIL_COMPLETE) in found.data["note"]
        for most in (99, 100, 129, 130, BY_WORDS_UNTIL_COMPLETE):
            gathered = gather(codebase.index, "pay the money out", by_words=most)
            assert gathered is not None
            by_words = {hit.file for hit in gathered.further}
            assert len(by_words) <= max(0, 130 - most)
            assert min(most, 130) <= len(gathered.candidates) <= min(most + MAX_ALIKE, 130)
        scores = [hit["score"] for hit in found.data["hits"]]
        maker = VectorMaker(embedder, cache)
        maker.step()
        assert semantic_search(codebase, "pay the money out").data["embedded"] == "8 of 130 pieces"
        all_made(maker)
        complete = semantic_search(codebase, "pay the money out", max_results=100)
        assert "embedded" not in complete.data
        assert "note" not in complete.data
        assert len(scores) == len(complete.data["hits"]) == 100


@pytest.mark.skipif(not is_installed(), reason="the model of meaning is not installed")
def test_the_model_cuts_windows_of_64_tokens_behind_path_and_name() -> None:
    embedder = shared_embedder()
    head = "a/path.py name"
    first, second = embedder.further_windows(f"{head}\n" + "it " * 100 + "was " * 20)
    assert first[:-65] == second[: len(first) - 65]
    assert embedder.further_windows(head) == embedder.further_windows("") == []
    for words, windows in ((64, 0), (65, 1), (112, 1), (113, 2), (2_000, MAX_FURTHER_WINDOWS)):
        assert len(embedder.further_windows(f"{head}\n" + "it " * words)) == windows, words


@pytest.mark.skipif(not is_installed(), reason="the model of meaning is not installed")
def test_the_model_finds_in_a_window_what_the_first_128_tokens_lack() -> None:
    embedder = shared_embedder()
    text = "notes.md\n" + "alpha beta " * 63 + "the zebra crosses the river at night " * 3
    windows = embedder.embed_windows(embedder.further_windows(text))
    assert np.allclose(np.linalg.norm(windows, axis=1), 1, atol=1e-4)
    asked, first = embedder.embed(["a zebra crossing a river", text])
    assert max(float(asked @ row) for row in windows) > float(asked @ first) + 0.2


def test_windows_of_the_index_asked_about_last_go_before_the_vectors_of_earlier_ones(tmp_path: Path) -> None:
    earlier, last = (WantedIndex(str(tmp_path / name), str(tmp_path)) for name in ("earlier", "last"))
    with closing(VectorCache(tmp_path / "vectors.sqlite")) as cache:
        assert not are_windows_next(cache)
        for index in (earlier, last):
            cache.want(index)
            cache.want_windows(index)
        assert not are_windows_next(cache)
        cache.done_with(last)
        assert are_windows_next(cache)
        cache.want_first({b"k" * 16: "what a question turns on"})
        assert not are_windows_next(cache)
        cache.forget_first([b"k" * 16])
        cache.done_with_windows(last)
        assert not are_windows_next(cache)
        cache.done_with(earlier)
        assert are_windows_next(cache)
