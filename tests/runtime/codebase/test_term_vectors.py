"""Vectors of terms: what a question and a piece have in common that share no word."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index import tables
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.gathering import LEAST_ALIKE, gather
from runtime.codebase.term_meaning.table_file import mark_of, term_vectors_mark
from runtime.codebase.term_meaning.term_vectors import (
    KEPT_LENGTH,
    PIECES_AT_ONCE,
    TermVectors,
    cosines,
    read_from,
    term_vectors,
    write_to,
)
from tests.runtime.codebase.sample_repository import write_files

TERMS = ("alpha", "beta", "gamma")
ROWS = np.array([[0, 0], [2, 0], [0, 1], [1, 1]], np.float32)
FILES = {
    "src/pool.py": "def take_worker(pool):\n    return pool.workers.pop()\n",
    "src/paint.py": "def paint(canvas, colour):\n    canvas.fill(colour)\n",
    "src/words.py": "def count(job):\n    return 1\n",
}


@pytest.fixture
def small() -> TermVectors:
    return TermVectors(TERMS, ROWS, (1.0, 2.0, 1.0, 0.0), 1.0)


@pytest.fixture
def opened(root: Path, index_path: Path) -> Iterator[Codebase]:
    write_files(root, FILES)
    refresh(root, index_path)
    codebase = Codebase.open(root, index_path)
    yield codebase
    codebase.close()


def test_the_terms_of_a_piece_add_up_each_by_its_part_and_its_occurrences(small: TermVectors) -> None:
    kept = small.of_pieces([("alpha beta beta", "beta", "", "alpha alpha alpha")])
    expected = np.array([2, 2 + 2], float)
    assert kept.tolist() == [np.rint(expected / np.linalg.norm(expected) * KEPT_LENGTH).tolist()]


def test_an_exponent_below_one_lets_repeated_terms_count_less() -> None:
    once = TermVectors(TERMS, ROWS, (1.0, 1.0, 1.0, 1.0), 0.0)
    assert (
        once.of_pieces([("beta beta beta beta alpha", "", "", "")]).tolist()
        == once.of_pieces([("beta alpha", "", "", "")]).tolist()
    )


def test_a_piece_without_known_terms_is_like_nothing(small: TermVectors) -> None:
    kept = small.of_pieces([("unknown", "", "", ""), ("", "", "", ""), ("alpha", "", "", "")])
    question = small.of_question({"alpha": 1})
    assert question is not None
    assert cosines(kept, question).tolist() == pytest.approx([0.0, 0.0, 1.0])


def test_unknown_terms_of_a_question_lessen_its_likeness_to_everything(small: TermVectors) -> None:
    known, partly = small.of_question({"alpha": 1}), small.of_question({"alpha": 1, "quagga": 1})
    assert known is not None
    assert partly is not None
    assert np.linalg.norm(known) == pytest.approx(1.0)
    assert 0.6 < np.linalg.norm(partly) < 0.8
    kept = small.of_pieces([("alpha", "", "", "")])
    assert cosines(kept, partly)[0] < cosines(kept, known)[0]


def test_a_question_without_known_terms_has_no_vector(small: TermVectors) -> None:
    assert small.of_question({"unknown": 3}) is None
    assert small.of_question({}) is None
    assert small.of_pieces([]).shape == (0, 2)


@pytest.mark.parametrize("count", [PIECES_AT_ONCE - 1, PIECES_AT_ONCE, PIECES_AT_ONCE + 1])
def test_pieces_in_several_batches_have_the_vectors_that_they_have_alone(small: TermVectors, count: int) -> None:
    pieces = [(" ".join(TERMS[: number % 4]), TERMS[number % 3], "", "") for number in range(count)]
    together = small.of_pieces(pieces)
    assert [row.tolist() for row in together] == [small.of_pieces([piece])[0].tolist() for piece in pieces]


_part = st.lists(st.sampled_from((*TERMS, "other")), max_size=6).map(" ".join)


@given(
    st.lists(st.tuples(_part, _part, _part, _part), max_size=5),
    st.dictionaries(st.sampled_from(TERMS), st.integers(1, 9)),
)
def test_cosines_lie_between_minus_one_and_one(pieces: list[tuple[str, ...]], counts: dict[str, int]) -> None:
    vectors = TermVectors(TERMS, ROWS, (1.0, 2.0, 1.0, 0.5), 0.5)
    question = vectors.of_question(counts)
    if question is not None:
        assert np.linalg.norm(question) == pytest.approx(1.0)
        assert np.abs(cosines(vectors.of_pieces(pieces), question)).max(initial=0.0) <= 1.01


def test_thousands_of_pieces_are_compared_without_further_threads() -> None:
    vectors = term_vectors()
    asked = vectors.of_question({"task": 1, "retry": 1})
    assert asked is not None
    kept = np.ones((20_000, vectors.size), np.int8)
    further_s = []
    for _ in range(20):
        process_s, thread_s = time.process_time(), time.thread_time()
        cosines(kept, asked)
        vectors.most_alike("task", 5)
        further_s.append((time.process_time() - process_s) - (time.thread_time() - thread_s))
    assert min(further_s) < 0.001


def test_vectors_are_read_as_they_were_written_and_others_have_another_mark(tmp_path: Path) -> None:
    rows = np.array([[1.5, -0.25], [0.01, 0.0]], np.float32)
    marks = set()
    for number, factor in enumerate((1.0, 1.0, 3.0)):
        path = tmp_path / f"{number}.npz"
        write_to(path, ("alpha", "beta"), rows * factor, (1.0, 1.0, 1.0, 1.0), 0.5)
        with np.load(path) as kept:
            assert mark_of(path) == str(kept["mark"])
        marks.add(mark_of(path))
        question = read_from(path).of_question({"alpha": 1})
        assert question is not None
        assert question == pytest.approx(rows[0] / np.linalg.norm(rows[0]), abs=0.01)
    assert len(marks) == 2


def test_the_vectors_of_the_package_know_that_words_of_one_matter_are_alike() -> None:
    vectors = term_vectors()

    def likeness(question: str, code: str) -> float:
        asked = vectors.of_question(query_terms(question).counts)
        assert asked is not None
        return float(cosines(vectors.of_pieces([(index_terms(code), "", "", "")]), asked)[0])

    assert likeness("which jobs run", "task") > likeness("which jobs run", "colour")
    assert likeness("remember results", "cache") > likeness("remember results", "socket")
    assert likeness("wait before trying again", "retry backoff") > likeness("wait before trying again", "parse header")


def test_the_index_brings_pieces_that_share_no_word_with_the_question(opened: Codebase) -> None:
    gathered = gather(opened.index, "Which thread does the next job?")
    assert gathered is not None
    by_words = [one.words.hit.file for one in gathered.candidates if one.words.score]
    alike = {one.words.hit.file: one.alike or 0.0 for one in gathered.candidates}
    assert "src/pool.py" not in by_words
    assert alike["src/pool.py"] > alike.get("src/paint.py", LEAST_ALIKE)


@pytest.mark.parametrize(
    ("question", "is_compared"),
    [("Where is the job option configured?", False), ("Where is the next job option configured?", True)],
)
def test_a_question_for_one_thing_goes_by_its_name_and_not_by_likeness(
    opened: Codebase, question: str, is_compared: bool
) -> None:
    gathered = gather(opened.index, question)
    assert gathered is not None
    assert all((one.alike is not None) is is_compared for one in gathered.candidates)


def test_likeness_alone_finds_nothing(opened: Codebase) -> None:
    assert gather(opened.index, "Which threads exist?") is None


def test_a_changed_file_has_new_vectors(opened: Codebase, root: Path, index_path: Path) -> None:
    before = opened.index.chunk_vectors()
    write_files(root, {"src/paint.py": "def take_worker(pool):\n    return pool.workers.pop()\n"})
    refresh(root, index_path)
    after = opened.index.chunk_vectors()
    assert after.ids.tolist() == [number for (number,) in opened.index.rows("SELECT id FROM chunks ORDER BY id")]
    assert sorted(after.ids.tolist()) != sorted(before.ids.tolist())
    likeness = after.likeness(query_terms("a worker of the pool").counts)
    assert likeness is not None
    files = [path for _, path, *_ in opened.index.chunk_places([number for number, _ in likeness.nearest(2)])]
    assert sorted(files) == ["src/paint.py", "src/pool.py"]


def test_an_index_made_with_other_vectors_is_made_anew(opened: Codebase, root: Path, index_path: Path) -> None:
    connection = tables.connect_writer(index_path)
    tables.write_meta(connection, "term_vectors", "other")
    connection.close()
    found = gather(opened.index, "Which worker does the next job?")
    assert found is not None
    assert {one.alike for one in found.candidates} == {None}
    assert refresh(root, index_path).parsed_now == len(FILES)
    with_mark = tables.connect_reader(index_path)
    assert tables.read_meta(with_mark, "term_vectors") == term_vectors_mark()
    with_mark.close()


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
def test_the_nearest_are_as_many_as_asked_for_or_as_there_are(opened: Codebase, limit: int) -> None:
    likeness = opened.index.chunk_vectors().likeness(query_terms("a worker of the pool").counts)
    assert likeness is not None
    nearest = likeness.nearest(limit)
    assert len(nearest) == min(limit, 3)
    assert [cosine for _, cosine in nearest] == sorted((cosine for _, cosine in nearest), reverse=True)
    assert likeness.of([number for number, _ in nearest]) == dict(nearest)
    assert likeness.of([-1, 99]) == {}


def test_a_rare_term_weighs_one_and_so_does_one_that_is_not_known(small: TermVectors) -> None:
    assert small.weight("alpha") == pytest.approx(1.0, abs=0.1)
    assert small.weight("alpha") == pytest.approx(2 * small.weight("beta"))
    assert small.weight("delta") == 1.0


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_the_most_alike_terms_come_first_and_never_the_term_itself(small: TermVectors, most: int) -> None:
    found = small.most_alike("alpha", most)
    assert [term for term, _ in found] == ["gamma", "beta"][:most]
    assert [likeness for _, likeness in found] == pytest.approx([0.5**0.5, 0.0][:most])
    assert small.most_alike("delta", most) == []
