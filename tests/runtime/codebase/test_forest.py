"""What searches by meaning find, whichever store keeps the pieces: the cache itself, SQLite's, and Chroma's."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.semantics.forest_entries import KINDS, PieceKind, collection_of
from runtime.codebase.semantics.forest_keeper import ENTRIES_AT_ONCE, RETRY_AFTER_S, ForestKeeper
from runtime.codebase.semantics.stored_pieces import StoredPieces
from runtime.codebase.semantics.vector_semantics import VectorSemantics
from runtime.codebase.semantics.vector_store import VectorStore, has_chroma, open_vector_store
from runtime.codebase.tools.semantic_search import BY_WORDS_UNTIL_COMPLETE, semantic_search
from runtime.errors import StateStorageError
from tests.runtime.codebase.forest_site import Forest, say
from tests.runtime.codebase.test_background_vectors import WORDS
from tests.runtime.codebase.test_further_windows import Embedder, function

chroma = pytest.mark.skipif(not has_chroma(), reason="the extra chroma is not installed")
STORES = ["sqlite", pytest.param("chroma", marks=chroma)]


MakeForest = Callable[[str], Forest]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[MakeForest]:
    forests: list[Forest] = []

    def make(kind: str) -> Forest:
        folder = tmp_path / kind
        folder.mkdir(exist_ok=True)
        forests.append(Forest(folder, kind))
        return forests[-1]

    yield make
    for forest in forests:
        forest.close()


@pytest.fixture(params=["cache", *STORES])
def forest(request: pytest.FixtureRequest, made: MakeForest) -> Forest:
    return made(request.param)


@pytest.fixture(params=STORES)
def stored(request: pytest.FixtureRequest, made: MakeForest) -> Forest:
    """A forest whose pieces a store keeps."""
    return made(request.param)


def test_the_nearest_pieces_are_found_with_their_cosines(forest: Forest) -> None:
    forest.grow(a=say("bank", "bank", "money"), b=say("zebra"), c=say("bank"))
    assert forest.near("bank") == ["c.py", "a.py", "b.py"]
    assert forest.near("bank", 1) == ["c.py"]
    with forest.reader() as reader:
        found = forest.semantics.nearest(reader, "bank", 5)
        assert found is not None
        cosines = forest.semantics.cosines(reader, "bank", [number for number, _ in found])
        assert cosines == pytest.approx(dict(found), abs=1e-5)
        assert [cosine for _, cosine in found] == pytest.approx([1, 2 / 5**0.5, 0], abs=0.01)


@pytest.mark.parametrize("kind", STORES)
def test_a_store_finds_what_the_cache_finds(kind: str, made: MakeForest) -> None:
    own, other = made("cache"), made(kind)
    for number in range(40):
        words = [WORDS[(number * step) % 3] for step in range(1, 2 + number % 4)]
        for forest in (own, other):
            (forest.root / f"f{number}.py").write_text(say(*words) + f"# {number}\n")
            (forest.root / f"d{number}.md").write_text(f"# Part {number}\n\nA long story of the {words[0]} and more.\n")
    for forest in (own, other):
        forest.grow(True, long=function("long", "'zebra'"))
    for query in ("bank money", "zebra", "money zebra zebra"):
        for passages in (False, True):
            for windows in (False, True):
                answers = []
                for forest in (own, other):
                    view = forest.semantics.with_windows() if windows else forest.semantics
                    with forest.reader() as reader:
                        answers.append(view.nearest(reader, query, 15, passages=passages))
                assert answers[0] is not None
                assert [pair[1] for pair in answers[0]] == pytest.approx(
                    [pair[1] for pair in answers[1] or ()], abs=0.005
                )
    with own.reader() as one, other.reader() as two:
        assert own.semantics.counted(one) == other.semantics.counted(two)


def test_only_the_files_that_are_asked_for_are_looked_in(forest: Forest) -> None:
    forest.grow(a=say("bank"), b=say("bank", "money"), c=say("zebra"))
    with forest.reader() as reader:
        (number,) = (row[0] for row in reader.rows("SELECT id FROM files WHERE path = 'c.py'"))
    assert forest.near("bank", files=[number]) == ["c.py"]
    assert forest.near("bank", files=[]) == []


def test_the_best_window_of_a_chunk_counts(forest: Forest) -> None:
    forest.grow(True, a=function("first", "'zebra'", 6), b="bank = 1\n")
    windows = forest.semantics.with_windows()
    with forest.reader() as reader:
        (chunk,) = (number for number, path, *_ in reader.chunk_places(range(9)) if path == "a.py")
        before, after = (each.cosines(reader, "zebra", [chunk]) for each in (forest.semantics, windows))
        assert before is not None
        assert after is not None
        assert before[chunk] < 0.1
        assert after[chunk] > 0.9
        found = windows.nearest(reader, "zebra", 5)
        assert found is not None
        assert found[0][0] == chunk
        assert len({number for number, _ in found}) == len(found)


def test_a_run_counts_only_what_was_there_when_it_began(forest: Forest) -> None:
    forest.grow(a=say("bank"))
    with forest.reader() as reader:
        last = forest.semantics.fix(reader, "zebra")
        assert last > 0
    forest.grow(b=say("zebra"))
    assert forest.near("zebra") == ["b.py", "a.py"]
    assert forest.near("zebra", semantics=forest.semantics.as_of(last)) == ["a.py"]
    with forest.reader() as reader:
        view = forest.semantics.as_of(last)
        assert view.counted(reader) == (1, 2)
        chunks = [number for number, *_ in reader.chunk_places(range(9))]
        assert len(chunks) == 2
        assert len(view.cosines(reader, "zebra", chunks) or {}) == 1
        assert view.similarities("zebra", ["b.py say\ntext"], wait=False) is None or forest.kind == "cache"
        assert forest.semantics.as_of(0).nearest(reader, "zebra", 5) is None


def test_what_is_not_kept_yet_counts_as_missing_and_more_by_words_is_ordered(stored: Forest) -> None:
    many = BY_WORDS_UNTIL_COMPLETE + 20
    (stored.root / "pkg").mkdir()
    for number in range(many):
        (stored.root / "pkg" / f"f{number}.py").write_text(f"def bank_{number}():\n    return 'bank money'\n")
    stored.put(other=say("zebra"))
    stored.embed()
    with closing(Codebase.open(stored.root, stored.index_path, semantics=stored.semantics)) as codebase:
        told = semantic_search(codebase, "bank and money and more").data
        assert told["embedded"] == f"0 of {many + 1} pieces"
        stored.keep()
        assert "embedded" not in semantic_search(codebase, "bank and money and more").data


def test_the_store_holds_exactly_the_pieces_of_the_index_after_each_change(stored: Forest) -> None:
    assert stored.grow(a=say("bank"), b=say("money"), c=say("zebra")) == 3
    assert stored.entries() == stored.wanted()
    assert stored.keep() == 0
    # One changed: an entry goes and another comes. One removed, one added, one moved down within its file.
    assert stored.grow(a=say("zebra", "bank"), b=None, d=say("money", "money"), c="\n\n" + say("zebra")) == 4
    assert stored.entries() == stored.wanted()
    assert stored.near("bank", 9) == ["a.py", "c.py", "d.py"]
    assert stored.keep() == 0


def test_an_entry_says_where_its_piece_comes_from(stored: Forest) -> None:
    stored.grow(a=say("bank"))
    (match,) = stored.opened(stored.index_path, "chunk").query(stored.embedder.embed(["bank"])[0], 1)
    assert match.attributes == {"file": "a.py", "language": "python", "symbol": "say"}


def test_pieces_that_are_gone_never_stand_in_the_way_of_others(stored: Forest) -> None:
    stored.grow(**{f"old{number}": say("bank", f"n{number}") for number in range(30)}, kept=say("bank", "money"))
    stored.put(**dict.fromkeys((f"old{number}" for number in range(30)), None))
    assert len(stored.entries()) == 31
    assert stored.near("bank", 1) == ["kept.py"]
    with stored.reader() as reader:
        assert stored.semantics.counted(reader) == (1, 1)


def test_the_same_piece_twice_is_found_twice(forest: Forest) -> None:
    forest.grow(a="x = 'bank'\n" + "def say(): return 'zebra'\n" * 2)
    with forest.reader() as reader:
        pieces = reader.piece_count()
        assert forest.semantics.counted(reader) == (pieces, pieces)
        found = forest.semantics.nearest(reader, "zebra", 9)
        assert found is not None
        assert len(found) == reader.chunk_count()


def test_a_piece_that_the_model_fails_on_counts_as_done_and_is_in_no_store(forest: Forest) -> None:
    class Failing(Embedder):
        def embed(self, texts: Any) -> Any:
            if any("poison" in text for text in texts):
                raise ValueError("no")
            return super().embed(texts)

    forest.embedder = Failing()
    forest.grow(a=say("bank"), b="poison = 1\n")
    with forest.reader() as reader:
        assert forest.semantics.counted(reader) == (2, 2)
    assert forest.near("bank", 9) == ["a.py"]


def test_code_of_others_is_embedded_and_counted_only_where_there_is_no_own_code(forest: Forest) -> None:
    forest.root.mkdir(exist_ok=True)
    for folder in ("vendor", "generated"):
        (forest.root / folder).mkdir()
        (forest.root / folder / "bank.py").write_text(say("bank", folder))
    forest.grow(b=say("bank", "money"))
    assert forest.near("bank", 9) == ["b.py"]
    with forest.reader() as reader:
        assert forest.semantics.counted(reader) == (1, 1)
    forest.put(b=None)
    forest.grow()
    assert sorted(forest.near("bank", 9)) == ["generated/bank.py", "vendor/bank.py"]
    with forest.reader() as reader:
        assert forest.semantics.counted(reader) == (2, 2)


def test_two_indexes_share_a_store_and_know_nothing_of_each_other(stored: Forest, tmp_path: Path) -> None:
    stored.grow(a=say("bank"))
    first = stored.index_path
    stored.root, stored.index_path = tmp_path / "second", tmp_path / "second.sqlite"
    stored.root.mkdir()
    stored.grow(z=say("zebra"), y=say("bank"))
    assert stored.near("bank", 9) == ["y.py", "z.py"]
    stored.index_path = first
    assert stored.near("bank", 9) == ["a.py"]


def test_a_store_that_was_deleted_is_filled_again_without_the_model(stored: Forest) -> None:
    stored.grow(True, a=say("bank"), b=function("first", "'zebra'", 6))
    whole = {kind: stored.entries(kind) for kind in KINDS}
    asked = len(stored.embedder.asked)
    for kind in KINDS:
        store = stored.opened(stored.index_path, kind)
        store.delete(list(store.ids()))
    assert stored.near("bank") == []
    stored.keep()
    assert {kind: stored.entries(kind) for kind in KINDS} == whole
    assert len(stored.embedder.asked) == asked


def test_many_entries_are_written_a_few_at_a_time(stored: Forest) -> None:
    stored.grow(**{f"f{number}": say("bank", f"n{number}") for number in range(ENTRIES_AT_ONCE + 1)})
    stored.opened(stored.index_path, "chunk").delete(list(stored.entries()))
    stored.clock.now_s += 3600
    assert stored.keeper.step() == ENTRIES_AT_ONCE
    assert stored.keeper.has_work
    stored.clock.now_s += 3600
    assert stored.keeper.step() == 1
    assert not stored.keeper.has_work


def test_an_index_that_is_gone_is_forgotten(stored: Forest) -> None:
    stored.put(a=say("bank"))
    stored.embed()
    stored.index_path.unlink()
    assert stored.keep() == 0
    assert stored.cache.wanted_stored() == []


def broken(_index_path: Path, _kind: PieceKind) -> VectorStore:
    raise StateStorageError("the vector store is broken", path="x")


def test_a_store_that_cannot_be_used_leaves_words_and_is_said(made: MakeForest) -> None:
    forest = made("cache")
    forest.grow(a=say("bank"))
    semantics = VectorSemantics(forest.embedder.within, forest.cache, broken)
    with closing(Codebase.open(forest.root, forest.index_path, semantics=semantics)) as codebase:
        result = semantic_search(codebase, "say bank money")
        assert [row["file"] for row in result.data["hits"]] == ["a.py"]
        assert result.data["meaning"] is False
        assert "the vector store is broken" in result.data["note"]
        assert semantics.fix(codebase.index, "bank") == 0


def test_a_store_that_could_not_be_used_is_tried_again(made: MakeForest) -> None:
    forest = made("sqlite")
    faults = [True]

    def opened(index_path: Path, kind: PieceKind) -> VectorStore:
        return broken(index_path, kind) if faults else forest.opened(index_path, kind)

    forest.grow(a=say("bank"))
    forest.clock.now_s = 0.0
    pieces = StoredPieces(forest.cache, opened, clock=forest.clock)
    with forest.reader() as reader:
        assert pieces.counted(reader) == (0, 1)
        assert pieces.fault() is not None
        faults.clear()
        assert pieces.counted(reader) == (0, 1)
        forest.clock.now_s = 60.0
        assert pieces.counted(reader) == (1, 1)
        assert pieces.fault() is None
    keeper = ForestKeeper(forest.cache, broken, forest.clock)
    assert keeper.step() == 0
    keeper._opened = forest.opened
    forest.clock.now_s += RETRY_AFTER_S - 1
    assert keeper._not_before_s > forest.clock.now_s


def other_store(forest: Forest, **more: Any) -> VectorStore:
    kind: Any = forest.kind
    return open_vector_store(kind, forest.folder, collection_of(forest.index_path, "chunk"), **more)


@pytest.mark.parametrize("more", [{"model": "another"}, {"dimensions": 8}])
def test_vectors_of_another_model_or_size_are_never_compared(stored: Forest, more: dict[str, Any]) -> None:
    stored.grow(a=say("bank"))
    store = other_store(stored, **more)
    assert store.ids() == frozenset()
    assert store.count() == 0
    assert store.query(stored.embedder.embed(["bank"])[0][: more.get("dimensions", 384)], 5) == []
    store.close()
    stored.keep()
    assert stored.near("bank") == ["a.py"]


CODE = """
import os, sys, time
from pathlib import Path
import numpy as np
from runtime.codebase.semantics.vector_store import VectorEntry, open_vector_store
store = open_vector_store(sys.argv[2], Path(sys.argv[1]), sys.argv[3])
rng = np.random.default_rng(5)
rows = rng.normal(size=(20_000, 384)).astype(np.float32)
print("ready", flush=True)
for at in range(0, len(rows), 500):
    store.upsert([VectorEntry(f"e{at + each}", "h", rows[at + each], {}) for each in range(500)])
"""


@pytest.mark.long
@pytest.mark.parametrize("delay_s", [0.05, 0.4, 0.9])
def test_a_writer_that_is_killed_leaves_a_store_that_is_right_or_empty(stored: Forest, delay_s: float) -> None:
    stored.grow(a=say("bank"), b=say("zebra"))
    name = collection_of(stored.index_path, "chunk")
    command = [sys.executable, "-c", CODE, str(stored.folder), stored.kind, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        # A quick machine may have let it end by then.
        with contextlib.suppress(subprocess.TimeoutExpired):
            writer.wait(delay_s)
        writer.send_signal(signal.SIGKILL)
    stored.keep()
    assert stored.entries() == stored.wanted()
    assert stored.near("bank", 9) == ["a.py", "b.py"]
    assert stored.near("zebra", 9) == ["b.py", "a.py"]


@pytest.mark.long
def test_two_processes_keep_the_same_pieces_at_once(stored: Forest) -> None:
    files = {f"f{number}": say(*["bank"] * (1 + number % 13), *["money"] * (number % 11)) for number in range(150)}
    stored.put(**files, z=say("zebra"))
    stored.embed()
    code = f"""
from pathlib import Path
from tests.runtime.codebase.forest_site import Forest
forest = Forest(Path({str(stored.folder)!r}), {stored.kind!r})
print(forest.keep())
forest.close()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ) as other:
        stored.keep()
        other.communicate()
    assert other.returncode == 0
    stored.keep()
    assert stored.entries() == stored.wanted()
    assert stored.near("zebra", 1) == ["z.py"]
