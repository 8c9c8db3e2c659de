"""What the shape of a piece of code tells of it, and how it moves the first pieces for a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.search.features import Asked, Candidate
from runtime.codebase.search.full_text import ScoredChunk
from runtime.codebase.search.gathering import Gathered
from runtime.codebase.search.piece_shape import (
    MAX_LINES,
    SHAPE,
    features_of,
    fitted_weights,
    worth_of,
)
from runtime.codebase.search.shape_gains import BEFORE_READING, MAX_SHAPED, shape_gains

DECIDING = ["def pay(order):", "    if order.age > 30:", "        raise TooOld(order)", "    return send(order)"]
LISTING = ["A = 1", "B = 2", "C = 3", "D = 4"]


def shape(lines: Sequence[str], start_line: int = 1) -> dict[str, float]:
    return dict(zip(SHAPE, features_of(lines, start_line), strict=True))


def test_a_piece_is_measured_by_what_it_does() -> None:
    found = shape(DECIDING, 9)
    assert (found["branches"], found["failures"], found["results"]) == (math.log1p(1), math.log1p(1), math.log1p(1))
    assert (found["calls"], found["lines"], found["late"]) == (math.log1p(3), math.log1p(4), math.log1p(9))
    assert (found["straight"], shape(LISTING)["straight"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("lines", "share"),
    [
        (["# why", "x = 1"], 0.5),
        (["// why", "/* why", " * more", "*/"], 1.0),
        (['"""Does it.', "", 'More."""', "x = 1"], 0.75),
        (['"""Does it."""', "x = 1"], 0.5),
        (["#include <a.h>", "x = 1"], 0.0),
        (["#[derive(Debug)]", "#![no_std]"], 0.0),
        ([], 0.0),
    ],
    ids=["hash", "slashes", "text", "text of a line", "directive", "attribute", "nothing"],
)
def test_comments_and_documentation_strings_are_the_share_of_their_lines(lines: list[str], share: float) -> None:
    assert shape(lines)["comments"] == share
    assert shape(lines)["comments_squared"] == share**2


@pytest.mark.parametrize(("count", "counted"), [(MAX_LINES - 1, 199), (MAX_LINES, 200), (MAX_LINES + 1, 200)])
def test_of_very_long_pieces_the_first_lines_are_measured(count: int, counted: int) -> None:
    assert shape(["f()"] * count)["calls"] == math.log1p(counted)


@given(st.lists(st.text(max_size=400), max_size=250), st.integers(1, 10**6))
def test_every_piece_has_a_finite_worth(lines: list[str], start_line: int) -> None:
    features = features_of(lines, start_line)
    assert all(math.isfinite(value) and value >= 0 for value in features)
    assert math.isfinite(worth_of(features))


def test_the_shipped_weights_are_those_of_the_features() -> None:
    assert set(fitted_weights()) == set(SHAPE)


def gathered(files: Sequence[str]) -> Gathered:
    hits = [ChunkHit(file, 1, 4, None, 0.5) for file in files]
    words = (frozenset({"a"}), frozenset[str](), frozenset[str](), frozenset[str]())
    scored = [ScoredChunk(at, hit, 1.0 - at / 100, words) for at, hit in enumerate(hits)]
    return Gathered(Asked({"a": 1.0}, frozenset()), [Candidate(one, "function") for one in scored], [], False)


def read(file: str) -> SourceText | None:
    text = {"deciding": DECIDING, "listing": LISTING}.get(file.rpartition("/")[2].partition(".")[0])
    return None if text is None else SourceText("\n".join(text), "")


def test_what_decides_gains_most_and_what_lists_nothing() -> None:
    gains = shape_gains(gathered(["src/listing.py", "src/deciding.py"]), [2.0, 1.0], read)
    assert gains[0] == 0.0
    assert gains[1] == pytest.approx(worth_of(features_of(DECIDING, 1)) - worth_of(features_of(LISTING, 1)))
    assert gains[1] > 0.3


def test_documents_and_what_cannot_be_read_gain_as_much_as_code_on_average() -> None:
    files = ["src/listing.py", "src/deciding.py", "docs/a.md", "src/gone.py"]
    gains = shape_gains(gathered(files), [4.0, 3.0, 2.0, 1.0], read)
    assert gains[2] == gains[3] == pytest.approx((gains[0] + gains[1]) / 2)


@pytest.mark.parametrize("files", [["docs/a.md"], ["src/gone.py"], []])
def test_without_code_nothing_moves(files: list[str]) -> None:
    assert shape_gains(gathered(files), [1.0] * len(files), read) == {}


def test_with_vectors_of_most_pieces_nothing_moves() -> None:
    found = gathered(["src/deciding.py"])
    compared = [replace(candidate, cosine=0.5) for candidate in found.candidates]
    assert shape_gains(replace(found, candidates=compared, by_meaning=True), [1.0], read) == {}


def test_before_pieces_are_read_their_shapes_count_half() -> None:
    found = gathered(["src/deciding.py", "src/listing.py"])
    whole = shape_gains(found, [2.0, 1.0], read)
    assert any(whole.values())
    half = shape_gains(replace(found, by_meaning=True), [2.0, 1.0], read)
    assert half == {place: BEFORE_READING * gain for place, gain in whole.items()}


def test_a_question_for_other_kinds_of_files_moves_nothing() -> None:
    found = gathered(["src/deciding.py", "docs/a.md"])
    assert shape_gains(replace(found, asked=Asked({"a": 1.0}, frozenset({"docs"}))), [2.0, 1.0], read) == {}


def test_without_sources_nothing_moves() -> None:
    assert shape_gains(gathered(["src/deciding.py"]), [1.0], None) == {}


def test_only_the_first_forty_are_looked_at() -> None:
    files = [f"src/{number:02}/deciding.py" for number in range(MAX_SHAPED + 1)]
    gains = shape_gains(gathered(files), [float(-at) for at in range(len(files))], read)
    assert sorted(gains) == list(range(MAX_SHAPED))
