from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.index.records import ChunkHit
from runtime.codebase.search.fusion import (
    FRONT,
    JOINING_PLACES,
    MAX_GAP_LINES,
    MAX_JOINED_LINES,
    MAX_JOINED_PER_FILE_IN_FRONT,
    MAX_PER_FILE_IN_FRONT,
    Scored,
    joined,
    spread,
    widened,
)


def hit(score: float, start: int, end: int, file: str = "a.py") -> Scored:
    return score, ChunkHit(file, start, end, None, score)


def spans(ranked: list[Scored]) -> list[tuple[str, int, int]]:
    return [(found.file, found.start_line, found.end_line) for _, found in ranked]


@pytest.mark.parametrize(("gap", "count"), [(MAX_GAP_LINES - 1, 1), (MAX_GAP_LINES, 1), (MAX_GAP_LINES + 1, 2)])
def test_pieces_are_joined_up_to_a_gap(gap: int, count: int) -> None:
    assert len(joined([hit(2, 1, 10), hit(1, 11 + gap, 20 + gap)])) == count


@pytest.mark.parametrize(
    ("lines", "count"), [(MAX_JOINED_LINES - 1, 1), (MAX_JOINED_LINES, 1), (MAX_JOINED_LINES + 1, 2)]
)
def test_pieces_are_joined_up_to_a_length(lines: int, count: int) -> None:
    assert len(joined([hit(2, 1, 10), hit(1, 11, lines)])) == count


def test_what_is_joined_stands_at_the_better_place_and_keeps_its_name_and_score() -> None:
    first = ChunkHit("a.py", 20, 30, "A.f", 0.9, 7)
    found = joined([(0.9, first), hit(0.8, 1, 5, "b.py"), hit(0.1, 10, 19)])
    assert spans(found) == [("a.py", 10, 30), ("b.py", 1, 5)]
    assert (found[0][0], found[0][1].symbol, found[0][1].symbol_id) == (0.9, "A.f", 7)


def test_pieces_of_different_files_are_not_joined() -> None:
    assert len(joined([hit(2, 1, 10), hit(1, 11, 20, "b.py")])) == 2


@pytest.mark.parametrize(("before", "is_joined"), [(-2, True), (-1, True), (0, False)])
def test_only_the_first_places_take_others_in_from_however_far_down(before: int, is_joined: bool) -> None:
    others = [hit(1, 1, 2, f"{number}.py") for number in range(JOINING_PLACES + before)]
    between = [hit(0.5, 1, 2, f"behind{number}.py") for number in range(JOINING_PLACES)]
    found = spans(joined([*others, hit(0.9, 1, 10), *between, hit(0.1, 11, 12)]))
    assert (("a.py", 1, 12) in found) is is_joined


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 60), st.sampled_from("ab")), max_size=60))
def test_nothing_found_is_lost(places: list[tuple[int, int, str]]) -> None:
    ranked = [hit(1 - 0.01 * rank, start, start + more, file) for rank, (start, more, file) in enumerate(places)]
    for found in (joined(ranked), spread(ranked), widened(ranked)):
        for file, start, end in spans(ranked):
            assert any(f == file and a <= start and end <= b for f, a, b in spans(found))
        assert len(found) <= len(ranked)
    assert all(end - start < max(MAX_JOINED_LINES, 61) for _, start, end in spans(joined(ranked)))


def test_one_file_does_not_take_the_whole_front() -> None:
    ranked = [hit(1, 10 * line, 10 * line, "a.py") for line in range(1, 9)] + [
        hit(0.5, 10 * line, 10 * line, "b.py") for line in range(1, 9)
    ]
    front = [file for file, _, _ in spans(spread(ranked))[:FRONT]]
    assert (front.count("a.py"), front.count("b.py")) == (MAX_PER_FILE_IN_FRONT, MAX_PER_FILE_IN_FRONT)
    front = [file for file, _, _ in spans(spread(ranked, MAX_JOINED_PER_FILE_IN_FRONT))[:FRONT]]
    assert front.count("a.py") == MAX_JOINED_PER_FILE_IN_FRONT


def test_behind_the_front_new_files_take_turns_with_further_pieces() -> None:
    ranked = [hit(1, 10 * line, 10 * line) for line in range(1, FRONT + 3)]
    ranked += [hit(0.5, 1, 1, "b.py"), hit(0.4, 1, 1, "c.py"), hit(0.3, 9, 9, "b.py")]
    found = spans(widened(ranked))
    assert found[:FRONT] == spans(ranked)[:FRONT]
    assert [file for file, _, _ in found[FRONT:]] == ["b.py", "a.py", "c.py", "a.py", "b.py"]
