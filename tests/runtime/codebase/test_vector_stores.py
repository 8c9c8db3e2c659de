"""What every vector store does: the default one, and Chroma's where its package is installed."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.vector_store import (
    MAX_ATTRIBUTE_CHARS,
    MAX_ATTRIBUTES,
    MAX_ID_CHARS,
    VectorEntry,
    VectorStore,
    has_chroma,
    open_vector_store,
)
from runtime.errors import InputError, MachineError

SIZE = 8
KINDS = [
    "sqlite",
    pytest.param("chroma", marks=pytest.mark.skipif(not has_chroma(), reason="the extra chroma is not installed")),
]


def vector(*numbers: float) -> Vectors:
    return np.array([*numbers, *(0.0 for _ in range(SIZE - len(numbers)))], np.float32)


def entry(name: str, *numbers: float, made_of: str = "h", **attributes: str) -> VectorEntry:
    return VectorEntry(name, made_of, vector(*numbers), attributes)


def opened(kind: VectorStoreKind, folder: Path, collection: str = "pieces") -> VectorStore:
    return open_vector_store(kind, folder, collection, dimensions=SIZE)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> VectorStoreKind:
    found: VectorStoreKind = request.param
    return found


@pytest.fixture
def store(kind: VectorStoreKind, tmp_path: Path) -> Iterator[VectorStore]:
    made = opened(kind, tmp_path)
    yield made
    made.close()


def names(store: VectorStore, *numbers: float, limit: int = 10, **where: str) -> list[str]:
    return [match.id for match in store.query(vector(*numbers), limit, where)]


def test_an_empty_store_has_nothing_and_finds_nothing(store: VectorStore) -> None:
    assert store.count() == 0
    assert store.hashes() == {}
    assert store.query(vector(1), 5) == []
    assert store.delete(["nobody"]) == 0
    assert store.upsert([]) == 0


def test_the_nearest_come_first_with_their_cosines_whatever_their_length(store: VectorStore) -> None:
    store.upsert([entry("same", 3), entry("near", 1, 1), entry("across", 0, 5), entry("opposite", -2)])
    found = store.query(vector(2), 10)
    assert [match.id for match in found] == ["same", "near", "across", "opposite"]
    assert [match.cosine for match in found] == pytest.approx([1, 2**-0.5, 0, -1], abs=1e-5)


def test_what_is_there_with_the_same_content_is_not_written_again(store: VectorStore) -> None:
    assert store.upsert([entry("a", 1, made_of="one", file="x.py"), entry("b", 0, 1, made_of="two")]) == 2
    assert store.upsert([entry("a", 0, 0, 1, made_of="one", file="x.py"), entry("b", 0, 1, made_of="two")]) == 0
    assert names(store, 1, limit=1) == ["a"]
    assert store.upsert([entry("a", 0, 0, 1, made_of="three", file="x.py")]) == 1
    assert store.hashes() == {"a": "three", "b": "two"}
    assert names(store, 0, 0, 1, limit=1) == ["a"]


def test_changed_attributes_replace_all_earlier_ones(store: VectorStore) -> None:
    store.upsert([entry("a", 1, file="x.py", language="python")])
    assert store.upsert([entry("a", 1, file="y.py")]) == 1
    (found,) = store.query(vector(1), 5)
    assert found.attributes == {"file": "y.py"}
    assert store.count({"language": "python"}) == 0


def test_of_entries_with_the_same_id_the_last_counts(store: VectorStore) -> None:
    assert store.upsert([entry("a", 1, made_of="one"), entry("a", 0, 1, made_of="two")]) == 1
    assert store.hashes() == {"a": "two"}


def test_deleted_entries_are_gone_and_others_stay(store: VectorStore) -> None:
    store.upsert([entry("a", 1), entry("b", 0, 1), entry("c", 0, 0, 1)])
    assert store.delete(["a", "c", "a", "nobody"]) == 2
    assert store.count() == 1
    assert names(store, 1) == ["b"]


def test_a_filter_restricts_queries_counts_and_hashes(store: VectorStore) -> None:
    store.upsert(
        [
            entry("a", 1, file="x.py", language="python"),
            entry("b", 1, 0.1, file="y.py", language="python"),
            entry("c", 1, 0.2, file="x.py", language="go"),
            entry("d", 1, 0.3),
        ]
    )
    assert names(store, 1, language="python") == ["a", "b"]
    assert names(store, 1, language="python", file="y.py") == ["b"]
    assert names(store, 1, language="rust") == []
    assert store.count({"file": "x.py"}) == 2
    assert sorted(store.hashes({"file": "x.py"})) == ["a", "c"]


def test_a_filter_comes_before_the_limit(store: VectorStore) -> None:
    store.upsert([entry(f"near{number}", 1, number / 100, side="a") for number in range(50)])
    store.upsert([entry("far", 0, 1, side="b")])
    assert names(store, 1, limit=3, side="b") == ["far"]


@pytest.mark.parametrize("limit", [3, 4, 10**9])
def test_more_than_there_are_can_be_asked_for(store: VectorStore, limit: int) -> None:
    store.upsert([entry("a", 1), entry("b", 0, 1), entry("c", 0, 0, 1)])
    assert len(store.query(vector(1), limit)) == 3


@pytest.mark.parametrize("limit", [0, -1])
def test_less_than_one_is_refused(store: VectorStore, limit: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        store.query(vector(1), limit)


@pytest.mark.parametrize("size", [0, SIZE - 1, SIZE + 1])
def test_vectors_of_other_dimensions_are_refused(store: VectorStore, size: int) -> None:
    wrong = np.ones(size, np.float32)
    with pytest.raises(InputError, match="shape"):
        store.upsert([entry("good", 1), VectorEntry("a", "h", wrong)])
    with pytest.raises(InputError, match="shape"):
        store.query(wrong, 1)
    assert store.count() == 0


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused(store: VectorStore, number: float) -> None:
    with pytest.raises(InputError, match="not finite"):
        store.upsert([entry("a", 1, number)])
    with pytest.raises(InputError, match="not finite"):
        store.query(vector(number), 1)


def test_a_vector_without_a_direction_is_refused(store: VectorStore) -> None:
    with pytest.raises(InputError, match="zeros"):
        store.upsert([entry("a")])


HOSTILE = [
    "../../etc/passwd",
    "'; DROP TABLE entries; --",
    '{"$ne": null}',
    "$and",
    "a\nb",
    "%",
    "имя🙂",
    " ",
    "x" * MAX_ID_CHARS,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_odd_ids_and_values_are_kept_as_they_are(store: VectorStore, name: str) -> None:
    store.upsert([entry(name, 1, made_of=name, file=name), entry("other", 0, 1, file="x.py")])
    assert store.hashes({"file": name}) == {name: name}
    (found, _) = store.query(vector(1), 5)
    assert (found.id, dict(found.attributes)) == (name, {"file": name})
    assert store.delete([name]) == 1
    assert list(store.hashes()) == ["other"]


@pytest.mark.parametrize("name", ["", "x" * (MAX_ID_CHARS + 1), "a\0b", "half \ud800"])
def test_ids_that_no_store_can_keep_are_refused(store: VectorStore, name: str) -> None:
    with pytest.raises(InputError, match="entry"):
        store.upsert([entry(name, 1)])
    assert store.delete([name]) == 0


@pytest.mark.parametrize(
    "attributes",
    [
        {"$and": "x"},
        {"_hash": "x"},
        {"a'b": "x"},
        {"": "x"},
        {"a": "\0"},
        {"a": 5},
        {"a": "x" * (MAX_ATTRIBUTE_CHARS + 1)},
        {f"a{number}": "x" for number in range(MAX_ATTRIBUTES + 1)},
    ],
)
def test_hostile_attributes_and_filters_are_refused(store: VectorStore, attributes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        store.upsert([VectorEntry("a", "h", vector(1), attributes)])
    with pytest.raises(InputError):
        store.query(vector(1), 1, attributes)


def test_as_many_attributes_and_characters_as_allowed_are_kept(store: VectorStore) -> None:
    most = {f"a{number}": "x" * MAX_ATTRIBUTE_CHARS for number in range(MAX_ATTRIBUTES)}
    assert store.upsert([VectorEntry("a", "h", vector(1), most)]) == 1
    assert store.count({"a0": most["a0"]}) == 1


def test_what_was_stored_is_there_after_it_was_closed(kind: VectorStoreKind, tmp_path: Path) -> None:
    first = opened(kind, tmp_path)
    first.upsert([entry("a", 1, file="x.py")])
    first.close()
    first.close()
    second = opened(kind, tmp_path)
    assert second.hashes() == {"a": "h"}
    assert second.query(vector(2), 1)[0].attributes == {"file": "x.py"}
    second.close()


def test_collections_of_one_folder_know_nothing_of_each_other(kind: VectorStoreKind, tmp_path: Path) -> None:
    one, other = opened(kind, tmp_path, "one"), opened(kind, tmp_path, "other")
    one.upsert([entry("a", 1)])
    assert other.count() == 0
    other.upsert([entry("a", 0, 1, made_of="else")])
    assert one.hashes() == {"a": "h"}
    one.close()
    assert other.delete(["a"]) == 1
    other.close()


@pytest.mark.parametrize("name", ["", "ab", "A", "a/b", "../up", "x" * 61, "a b"])
def test_collections_have_plain_names(kind: VectorStoreKind, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="collection"):
        opened(kind, tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def add_many(kind: VectorStoreKind, folder: Path, first: int, count: int) -> None:
    """Add entries a few at a time, as a process beside others."""
    store = opened(kind, folder)
    for number in range(first, first + count, 10):
        store.upsert([entry(f"e{each}", 1, each) for each in range(number, number + 10)])
    store.close()


@pytest.mark.long
def test_processes_that_write_side_by_side_lose_nothing_and_are_seen(kind: VectorStoreKind, tmp_path: Path) -> None:
    reader = opened(kind, tmp_path)
    reader.upsert([entry("first", 1)])
    assert names(reader, 1) == ["first"]
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=add_many, args=(kind, tmp_path, first, 60)) for first in (0, 60)]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        found = len(reader.query(vector(1), 500))
        assert found >= seen
        seen = found
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert reader.count() == 121
    assert len(reader.query(vector(1), 500)) == 121
    assert names(reader, 0, 1, limit=1) == ["e119"]
    reader.close()


def test_threads_share_a_store(store: VectorStore) -> None:
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 10):
                store.upsert([entry(f"e{number}", 1, number)])
                assert f"e{number}" in {match.id for match in store.query(vector(1, number), 100)}
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads: Sequence[threading.Thread] = [threading.Thread(target=work, args=(at,)) for at in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.count() == 30


def test_a_damaged_file_is_set_aside_and_made_anew(tmp_path: Path) -> None:
    (tmp_path / "vector_store.sqlite").write_bytes(b"no database at all " * 200)
    store = opened("sqlite", tmp_path)
    assert store.upsert([entry("a", 1)]) == 1
    assert names(store, 1) == ["a"]
    assert (tmp_path / "vector_store.sqlite.damaged").exists()
    store.close()


def test_without_its_package_chroma_says_how_to_install_it(tmp_path: Path) -> None:
    if has_chroma():
        pytest.skip("the extra chroma is installed")
    with pytest.raises(MachineError, match=r"jeeves\[chroma\]"):
        opened("chroma", tmp_path)
