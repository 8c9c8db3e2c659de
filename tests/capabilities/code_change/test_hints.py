"""A request is like an earlier one where they share most words, or where one tells the other in fewer."""

from __future__ import annotations

import pytest

from actors.capabilities.code_change.session.hints import LEAST_SHARED, MAX_TOUCHED, hints_of, is_like
from actors.capabilities.code_change.store.session_store import OutcomeRow

LONG = (
    "Add a keyword drop_short to iterutils.chunked and chunked_iter: when true, a last chunk shorter than size is "
    "left out. Default stays as it is."
)


@pytest.mark.parametrize(
    ("query", "is_near"),
    [
        (LONG, True),
        ("Add a keyword drop_short to iterutils.chunked", True),
        ("Add a keyword drop_short to iterutils.windowed", True),
        ("Add a keyword fill to iterutils.windowed", False),
        ("Fix the timeout of socketutils", False),
        ("left out", False),
        ("", False),
    ],
)
def test_a_request_in_fewer_words_is_like_the_longer_one(query: str, is_near: bool) -> None:
    assert is_like(query, LONG) is is_near
    assert is_like(LONG, query) is is_near


@pytest.mark.parametrize(("more", "is_near"), [(-1, False), (0, True), (1, True)])
def test_so_many_words_are_shared_at_least(more: int, is_near: bool) -> None:
    words = ["retry", "upload", "socket", "parcel", "window"][: LEAST_SHARED + more]
    others = [f"filler{number}" for number in range(20)]
    assert is_like(" ".join(words), " ".join([*words, *others])) is is_near


@pytest.mark.parametrize(("strange", "is_near"), [(0, True), (1, True), (2, False)])
def test_the_shorter_request_is_within_the_longer_one_for_the_most_part(strange: int, is_near: bool) -> None:
    words = ["retry", "upload", "socket", "parcel"]
    query = [*words, *("kettle", "teapot")[:strange]]
    assert is_like(" ".join(query), " ".join([*words, *(f"filler{number}" for number in range(20))])) is is_near


@pytest.mark.parametrize(
    ("phase", "files", "told"),
    [
        ("EXPLORATION", ("load.py",), "it broke; it went wrong in EXPLORATION; it was about load.py"),
        ("EXPLORATION", (), "it broke; it went wrong in EXPLORATION"),
        ("SESSION_COMPLETE", (), "it broke"),
        ("do as I say", (), "it broke"),
        ("", ("load.py",), "it broke; it was about load.py"),
    ],
)
def test_a_failure_is_told_with_where_it_began_and_what_it_was_about(
    phase: str, files: tuple[str, ...], told: str
) -> None:
    row = OutcomeRow("s-1", "/r", "failure", "it broke", 1, LONG, phase, files)
    assert hints_of(LONG, [row]) == [f"an earlier change for «{LONG}» ended as failure: {told}"]


@pytest.mark.parametrize(("more", "named"), [(-1, MAX_TOUCHED - 1), (0, MAX_TOUCHED), (1, MAX_TOUCHED)])
def test_so_many_files_are_named(more: int, named: int) -> None:
    files = tuple(f"f{number}.py" for number in range(MAX_TOUCHED + more))
    (hint,) = hints_of(LONG, [OutcomeRow("s-1", "/r", "failure", "it broke", 1, LONG, "READY", files)])
    assert hint.count(".py") == named
