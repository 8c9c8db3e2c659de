"""Long reports are cut to the lines that speak of the code."""

from __future__ import annotations

import time
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.search.prose.report import HEAD_CHARS, LONG_CHARS, MAX_CHARS, MAX_REPORT_CHARS, lines_about_code

HEAD = "Sending a parcel twice loses the second one.\n"
PACKAGES = "\n".join(f"package-{letter * 3}==1.2.{place}" for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz"))
LOG = "\n".join(f"2024-05-01 12:00:{place % 60:02d} worker {place} took a turn" for place in range(400))


def known(names: Collection[str]) -> frozenset[str]:
    return frozenset(names) & {"Depot", "send_parcel"}


@pytest.mark.parametrize(("length", "is_whole"), [(LONG_CHARS - 1, True), (LONG_CHARS, True), (LONG_CHARS + 1, False)])
def test_only_long_texts_are_cut(length: int, is_whole: bool) -> None:
    text = (HEAD + LOG)[:length]
    assert (lines_about_code(text, known) == text) is is_whole


def test_lists_of_packages_and_repeated_lines_of_a_log_are_dropped() -> None:
    cut = lines_about_code(f"{HEAD}{PACKAGES}\n{LOG}\nDepot.send_parcel raised KeyError: 'box'", known)
    assert "package-" not in cut
    assert cut.count("took a turn") == 1
    assert cut.startswith(HEAD)
    assert cut.endswith("Depot.send_parcel raised KeyError: 'box'")


@pytest.mark.parametrize(("listed", "is_kept"), [(2, True), (3, False), (4, False)])
def test_three_packages_in_a_row_are_a_list(listed: int, is_kept: bool) -> None:
    packages = "\n".join(PACKAGES.splitlines()[:listed])
    assert ("package-aaa" in lines_about_code(f"{HEAD}{packages}\n{LOG}", known)) is is_kept


@pytest.mark.parametrize(
    "row", ["| numpy | 1.26.4 |", "numpy 1.26.4", "  numpy = '1.26.4',", '"left-pad": "^1.3.0",', "a@2.0.1"]
)
def test_rows_of_versions_are_known_in_many_forms(row: str) -> None:
    assert row not in lines_about_code(f"{HEAD}{LOG}\n{row}\nb 1.0.0\nc 1.0.0\n", known)


def test_of_too_many_lines_errors_and_known_names_stay_before_others() -> None:
    noise = "\n".join(f"some {chr(97 + place % 26) * (place % 90 + 1)} thing" for place in range(1_000))
    telling = ["File depot.py, line 3, in send_parcel: ValueError", "see Depot in src/depot.py"]
    cut = lines_about_code(f"{HEAD}{'filler words here ' * 90}\n{noise}\n" + "\n".join(telling), known)
    assert len(cut) <= MAX_CHARS
    assert all(line in cut for line in telling)


def test_one_long_line_is_taken_in_parts() -> None:
    words = " ".join(chr(97 + place % 26) * (3 + place // 26) for place in range(300))
    cut = lines_about_code(words, known)
    assert cut.split() == words.split()


@pytest.mark.parametrize("character", ["x", " ", "\n", "1", "|", "💥"])
def test_a_text_of_a_hundred_thousand_characters_takes_no_time(character: str) -> None:
    began_s = time.process_time()
    assert len(lines_about_code(character * MAX_REPORT_CHARS, known)) <= MAX_CHARS
    assert time.process_time() - began_s < 2


@given(st.lists(st.sampled_from([*LOG.splitlines()[:40], *PACKAGES.splitlines(), "Depot fails here", "", "é" * 500])))
def test_nothing_is_added_and_order_stays(lines: list[str]) -> None:
    text = HEAD + "\n".join(lines)
    cut = lines_about_code(text, known)
    assert len(cut) <= max(MAX_CHARS, LONG_CHARS)
    assert cut[: len(HEAD) - 1] == HEAD.strip()
    rest = iter("".join(text.split()))
    assert all(character in rest for character in "".join(cut.split()))


@given(st.text(max_size=HEAD_CHARS), st.integers(1, 500))
def test_any_text_fits_the_room_that_there_is(text: str, room: int) -> None:
    assert len(lines_about_code(text * 3, known, max_chars=room)) <= room
