from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.search.call_boost import GAIN, LEADING_PIECES, MAX_SAME_NAME, raised_by_calls
from runtime.codebase.search.fusion import Scored
from tests.runtime.codebase.sample_repository import write_files

MENU = """def serve(order):
    return plate(order)


def plate(order):
    return order


def wash(order):
    return order


def open_up():
    serve(None)
"""
HALL = "def hall():\n    return plate(1)\n\n\ndef seat():\n    return 2\n"


@pytest.fixture
def kitchen(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, {"menu.py": MENU, "hall.py": HALL})
    return opened(root)


def piece(score: float, start: int, end: int, symbol: str | None, file: str = "menu.py") -> Scored:
    return score, ChunkHit(file, start, end, symbol, score)


SERVE, PLATE, WASH, OPEN = (
    piece(1.0, 1, 2, "serve"),
    piece(0.5, 5, 6, "plate"),
    piece(0.55, 9, 10, "wash"),
    piece(0.5, 13, 14, "open_up"),
)
SEAT = piece(0.9, 5, 6, "seat", "hall.py")


def names(ranked: list[Scored]) -> list[str | None]:
    return [hit.symbol for _, hit in ranked]


def test_what_the_best_piece_calls_or_is_called_by_is_raised(kitchen: Codebase) -> None:
    raised = raised_by_calls(kitchen.index, [SERVE, WASH, PLATE, OPEN])
    assert names(raised) == ["serve", "plate", "open_up", "wash"]
    assert [score for score, _ in raised] == pytest.approx([1.0, 0.5 + GAIN, 0.5 + GAIN, 0.55])


def test_a_called_piece_never_comes_before_the_one_that_led_to_it(kitchen: Codebase) -> None:
    near = piece(0.99, 5, 6, "plate")
    raised = raised_by_calls(kitchen.index, [SERVE, near, piece(0.3, 13, 14, "open_up")])
    assert names(raised) == ["serve", "plate", "open_up"]
    assert [score for score, _ in raised[:2]] == [1.0, 1.0]


def test_a_called_definition_that_no_word_found_is_added(kitchen: Codebase) -> None:
    raised = raised_by_calls(kitchen.index, [SERVE, WASH])
    assert [(hit.symbol, hit.start_line, hit.end_line, hit.file) for _, hit in raised[1:3]] == [
        ("plate", 5, 6, "menu.py"),
        ("open_up", 13, 14, "menu.py"),
    ]


def test_a_call_does_not_reach_into_another_file(kitchen: Codebase) -> None:
    ranked = [piece(1.0, 1, 2, "hall", "hall.py"), WASH, PLATE]
    assert names(raised_by_calls(kitchen.index, ranked))[:3] == ["hall", "wash", "plate"]


@pytest.mark.parametrize(("before", "is_raised"), [(-2, True), (-1, True), (0, False)])
def test_only_the_first_pieces_lead_to_others(kitchen: Codebase, before: int, is_raised: bool) -> None:
    others = [piece(2.0, 100 + n, 100 + n, None, "hall.py") for n in range(LEADING_PIECES + before)]
    raised = names(raised_by_calls(kitchen.index, [*others, SERVE, WASH, PLATE]))
    assert (raised.index("plate") < raised.index("wash")) is is_raised


@pytest.mark.parametrize("count", [MAX_SAME_NAME, MAX_SAME_NAME + 1])
def test_a_name_that_a_file_defines_too_often_leads_nowhere(
    count: int, root: Path, opened: Callable[[Path], Codebase]
) -> None:
    same = "\n\n".join(f"class C{n}:\n    def run(self):\n        return {n}" for n in range(count))
    write_files(root, {"many.py": f"def start(job):\n    return job.run()\n\n\n{same}\n"})
    found = raised_by_calls(opened(root).index, [piece(1.0, 1, 2, "start", "many.py")])
    assert names(found)[1:] == ([f"C{n}.run" for n in range(count)] if count <= MAX_SAME_NAME else [])


def test_nothing_ranked_gives_nothing(kitchen: Codebase) -> None:
    assert raised_by_calls(kitchen.index, []) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.permutations([SERVE[1], PLATE[1], WASH[1], OPEN[1], SEAT[1]]), st.lists(st.floats(0, 1), min_size=5, max_size=5)
)
def test_files_stay_in_order_and_no_piece_is_lost(kitchen: Codebase, hits: list[ChunkHit], scores: list[float]) -> None:
    ranked = list(zip(sorted(scores, reverse=True), hits, strict=True))
    raised = raised_by_calls(kitchen.index, ranked)
    assert {hit for _, hit in ranked} <= {hit for _, hit in raised}
    assert list(dict.fromkeys(hit.file for _, hit in raised)) == list(dict.fromkeys(hit.file for _, hit in ranked))
    assert [score for score, _ in raised] == sorted((score for score, _ in raised), reverse=True)
