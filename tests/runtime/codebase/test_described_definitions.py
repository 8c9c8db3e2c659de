"""Definitions that a text describes by the words of their names."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import stem
from runtime.codebase.search.described.described_definitions import MAX_FOUND, MAX_TEXT_CHARS, described_definitions
from runtime.codebase.search.described.name_match import (
    CUT_SHORT,
    EXACT,
    MAX_AHEAD,
    OF_WEAK,
    is_one_of_several,
    match_name,
    nearness,
    said_words,
    told_apart_by,
)
from tests.runtime.codebase.sample_repository import write_files

FILES = {
    "depot/yard.py": '''"""The yard."""

REGISTRY_PATH = "/var/yard"
IS_FULL = False


class Yard:
    """Keeps vans overnight."""

    weak_locks = True

    def get_group_by_gid(self, gid):
        """Return the name of a group."""
        return gid

    def add_footer(self):
        """Print a line."""

    def __call__(self):
        """Run."""


class RetryError(Exception):
    """Raised when a van is late."""


def should_warn(code):
    """Tell whether to warn."""
    return bool(code)


def incr_len(size):
    """Grow."""
    return size + 1
''',
    "depot/van.py": '''"""Vans."""


class Van:
    """A van."""

    weak_locks = False
    footer = ""


class BackOffPolicy:
    """Waits."""
''',
    "tests/test_yard.py": "def make_big_parcel():\n    pass\n",
}


@pytest.mark.parametrize(
    ("text", "name", "is_whole"),
    [
        ("the registry path", "REGISTRY_PATH", True),
        ("the path of the registry", "REGISTRY_PATH", True),
        ("paths of registries", "REGISTRY_PATH", True),
        ("look a group up by its gid", "get_group_by_gid", True),
        ("increments the length", "incrLen", True),
        ("the auth check", "authentication_check", True),
        ("a zset job", "ZSetJob", True),
        ("the legacy store", "legacystore", True),
        ("the registry", "REGISTRY_PATH", False),
        ("who calls it", "", False),
        ("retry the error handler of the client", "retry_error_handler_client", True),
    ],
)
def test_a_text_has_all_words_of_a_name_or_lacks_one(text: str, name: str, is_whole: bool) -> None:
    assert match_name(said_words(text), name).is_whole is is_whole


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("the path", "PATH", {"path": EXACT}),
        ("the length", "len", {"len": CUT_SHORT}),
        ("get a group", "get_group", {"get": OF_WEAK, "group": EXACT}),
        ("a group", "get_group", {"group": EXACT}),
    ],
)
def test_a_word_counts_by_how_surely_it_is_meant(text: str, name: str, found: dict[str, float]) -> None:
    assert {part: sure for part, (_, sure) in match_name(said_words(text), name).found.items()} == found


@pytest.mark.parametrize(
    ("words", "is_nearly"),
    [("forcibly kill the pool at exit", False), ("forcibly kill the process pool at exit", True)],
)
def test_one_word_of_four_may_be_missing(words: str, is_nearly: bool) -> None:
    assert match_name(said_words(words), "shutdown_process_pool_on_exit").is_nearly_whole is is_nearly


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("the retry error", 1.0),
        ("an error of retry", 0.5),
        ("retry the error", 1.0),
        ("retry of an error", 0.0),
    ],
)
def test_words_in_a_row_as_in_the_name_are_nearest(text: str, near: float) -> None:
    assert nearness(match_name(said_words(text), "RetryError")) == near


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("the fibonacci back off policy", {"fibonacci"}),
        ("the old back off policy", set()),
        ("fibonacci, the back off policy", set()),
        ("is fibonacci for the back off policy", set()),
        (" ".join(["green"] * (MAX_AHEAD + 2)) + " back off policy", {"green"}),
    ],
)
def test_the_words_ahead_tell_things_of_a_sort_apart(text: str, apart: set[str]) -> None:
    said = said_words(text)
    assert told_apart_by(said, match_name(said, "BackOffPolicy")) == {stem(word) for word in apart}


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("an exit code for a signal", True),
        ("some other exit code", True),
        ("which exit code is it", True),
        ("the exit code of a signal", False),
        ("exit code", False),
        # Two words lie between.
        ("a long and old exit code", False),
    ],
)
def test_one_of_several_is_not_the_thing_of_that_name(text: str, is_one: bool) -> None:
    said = said_words(text)
    assert is_one_of_several(said, match_name(said, "ExitCode")) is is_one


@pytest.fixture
def yard(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, FILES)
    return opened(root)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Who reads the registry path constant?", "REGISTRY_PATH"),
        ("the function that looks up a group by its gid", "Yard.get_group_by_gid"),
        ("the yard can add a footer", "Yard.add_footer"),
        ("the weak locks of the van", "Van.weak_locks"),
        ("the weak locks of the yard", "Yard.weak_locks"),
        ("the retry error", "RetryError"),
        ("the helper that decides if we should warn", "should_warn"),
        ("the flag for being full in the yard", "IS_FULL"),
        ("the back off policy", "BackOffPolicy"),
    ],
)
def test_the_best_definition_is_the_one_that_is_described(yard: Codebase, text: str, name: str) -> None:
    best = described_definitions(yard.index, text)[0]
    assert (best.symbol.qualified_name, best.is_surely) == (name, True)


@pytest.mark.parametrize(
    "text",
    [
        "who calls it",
        "the fibonacci back off policy",
        "make a big parcel",
        "what is full",
        "",
        "???",
    ],
)
def test_nothing_is_surely_described_by_less(yard: Codebase, text: str) -> None:
    assert not any(each.is_surely for each in described_definitions(yard.index, text))


@pytest.mark.parametrize(("fill", "count"), [(0, 1), (1, 0)])
def test_words_behind_the_most_characters_describe_nothing(yard: Codebase, fill: int, count: int) -> None:
    text = "x" * (MAX_TEXT_CHARS - len(" retry error") + fill) + " retry error"
    assert len([each for each in described_definitions(yard.index, text) if each.symbol.name == "RetryError"]) == count


@given(text=st.text(max_size=300), name=st.text(max_size=60))
def test_any_text_and_name_are_compared(text: str, name: str) -> None:
    said = said_words(text)
    match = match_name(said, name)
    assert all(0 <= place < len(said.words) and 0 < sure <= 1 for place, sure in match.found.values())
    assert 0 <= nearness(match) <= 1
    assert told_apart_by(said, match) <= said.stems.keys()


@given(name=st.from_regex(r"[a-z]{4,9}(_[a-z]{4,9}){1,3}", fullmatch=True))
def test_a_name_whose_words_are_said_is_found_in_them(name: str) -> None:
    match = match_name(said_words(f"the {name.replace('_', ' ')} thing"), name)
    assert match.is_whole
    assert set(match.found) == set(name.split("_"))


def test_of_many_definitions_the_best_few_are_given(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(root, {f"m{number}.py": "def retry_later():\n    pass\n" for number in range(MAX_FOUND + 2)})
    assert len(described_definitions(opened(root).index, "retry it later")) == MAX_FOUND


def test_a_text_of_one_word_over_and_over_is_compared_in_linear_time() -> None:
    def took_s(count: int) -> float:
        said = said_words("retry " * count)
        start_s = time.perf_counter()
        told_apart_by(said, match_name(said, "retry_error_of_the_yard"))
        return time.perf_counter() - start_s

    small_s = min(took_s(2_000) for _ in range(3))
    assert min(took_s(8_000) for _ in range(3)) < 20 * small_s + 0.05
