"""What becomes of a Chroma database that is damaged, not ours, deleted, or in use."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.semantics.chroma_database import ChromaDatabase, between_writes
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.vector_store import VectorEntry, has_chroma, open_vector_store
from runtime.errors import StateStorageError
from tests.runtime.codebase.forest_site import Forest, say

pytestmark = pytest.mark.skipif(not has_chroma(), reason="the extra chroma is not installed")


@pytest.fixture
def forest(tmp_path: Path) -> Iterator[Forest]:
    made = Forest(tmp_path, "chroma")
    yield made
    made.close()


def test_a_database_that_is_not_ours_is_neither_used_nor_changed(forest: Forest) -> None:
    forest.put(a=say("bank"))
    forest.embed()
    theirs = forest.folder / "chroma" / "chroma.sqlite3"
    theirs.parent.mkdir()
    theirs.write_bytes(b"of another program")
    assert forest.keep() == 0
    assert forest.near("bank") == []
    with forest.reader() as reader:
        assert "did not make" in (forest.semantics.fault(reader) or "")
    assert [path.name for path in theirs.parent.iterdir()] == [theirs.name]
    assert theirs.read_bytes() == b"of another program"


@pytest.mark.parametrize("what", ["link", "file"])
def test_a_link_or_a_file_in_place_of_the_database_is_refused(forest: Forest, what: str) -> None:
    forest.put(a=say("bank"))
    forest.embed()
    (forest.folder / "elsewhere").mkdir()
    place = forest.folder / "chroma"
    place.symlink_to(forest.folder / "elsewhere") if what == "link" else place.write_text("x")
    assert forest.keep() == 0
    with forest.reader() as reader:
        assert forest.semantics.counted(reader) == (0, 1)
        assert str(place) in (forest.semantics.fault(reader) or "")
    assert list((forest.folder / "elsewhere").iterdir()) == []


def test_a_deleted_database_is_made_anew(forest: Forest) -> None:
    forest.grow(a=say("bank"), b=say("zebra"))
    forest.opened(forest.index_path, "chunk").close()
    shutil.rmtree(forest.folder / "chroma")
    assert forest.near("bank") == []
    forest.keep()
    assert forest.near("bank") == ["a.py", "b.py"]


SEGMENT_FILES = ["data_level0.bin", "header.bin", "index_metadata.pickle", "length.bin", "link_lists.bin"]
MANY = 1_200


@pytest.fixture(scope="module")
def whole_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of so many entries that Chroma has written the files of its index."""
    folder = tmp_path_factory.mktemp("whole")
    with closing(open_vector_store("chroma", folder, "pieces")) as store:
        store.upsert([VectorEntry(f"e{number}", "h", row) for number, row in enumerate(rows_of(MANY))])
    assert {path.name for path in (folder / "chroma").glob("*/*")} == set(SEGMENT_FILES)
    return folder


def rows_of(count: int) -> Vectors:
    return np.random.default_rng(7).normal(size=(count, DIMENSIONS)).astype(np.float32)


@pytest.mark.parametrize("name", ["chroma.sqlite3", "jeeves.lock", "jeeves.seal", *SEGMENT_FILES])
@pytest.mark.parametrize("damage", ["garbage", "cut", "gone"])
def test_a_damaged_database_is_refused_or_made_anew_and_never_answered_from(
    whole_database: Path, tmp_path: Path, name: str, damage: str
) -> None:
    shutil.copytree(whole_database, tmp_path, dirs_exist_ok=True)
    (path,) = (tmp_path / "chroma").rglob(name)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"\xff" * 3000 if damage == "garbage" else path.read_bytes()[: path.stat().st_size // 2])
    rows = rows_of(MANY)
    with closing(open_vector_store("chroma", tmp_path, "pieces")) as store:
        if name == "jeeves.lock" and damage == "gone":
            with pytest.raises(StateStorageError, match="did not make"):
                store.ids()
            return
        try:
            kept = store.ids()
        except StateStorageError as error:
            assert "made anew" in error.message
            kept = store.ids()
        assert len(kept) in {0, MANY}
        found = [store.query(rows[number], 1) for number in range(0, MANY, 40)]
        assert [match.id for matches in found for match in matches] == [f"e{at}" for at in range(0, MANY, 40) if kept]
        assert store.upsert([VectorEntry("new", "h", rows[0] + rows[1])]) == 1
        assert len(store.ids()) == len(kept) + 1


def test_a_database_without_a_seal_of_an_earlier_version_is_made_anew(whole_database: Path, tmp_path: Path) -> None:
    shutil.copytree(whole_database, tmp_path, dirs_exist_ok=True)
    (tmp_path / "chroma" / "jeeves.seal").unlink()
    (tmp_path / "chroma" / "jeeves.lock").write_bytes((7).to_bytes(8))
    with closing(open_vector_store("chroma", tmp_path, "pieces")) as store:
        assert store.ids() == frozenset()
        assert store.newest() > 7


def test_a_writer_that_does_not_let_go_is_waited_for_and_named(whole_database: Path, tmp_path: Path) -> None:
    shutil.copytree(whole_database, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "chroma" / "jeeves.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        database = ChromaDatabase(tmp_path / "chroma", lock_timeout_s=0.05)
        with pytest.raises(StateStorageError, match="in use by another process"), database.opened():
            pass
        fcntl.flock(lock, fcntl.LOCK_UN)
        with database.opened() as writes:
            assert writes.number
        database.close()


def test_an_owner_that_ends_waits_for_the_end_of_a_write(whole_database: Path, tmp_path: Path) -> None:
    shutil.copytree(whole_database, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "chroma"
    with between_writes(path, 1.0), (path / "jeeves.lock").open("rb") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    with (path / "jeeves.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with between_writes(path, 0.05):
            pass  # a writer that does not come to its end is not waited for for ever
    with between_writes(tmp_path / "nothing", 1.0):
        pass
    assert not (tmp_path / "nothing").exists()
