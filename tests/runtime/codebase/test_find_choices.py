"""The closed set that is asked for: by its words, by an option, or none where it is not clear which one is meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.closed_sets.records import ClosedSet, Member
from runtime.codebase.search.choices.asked_choices import asked_choices
from runtime.codebase.search.choices.choice_files import MAX_FILES
from runtime.codebase.search.choices.choice_fit import best_of, fit
from runtime.codebase.search.choices.find_sets import ChoiceFinder
from runtime.codebase.tools.find_choices import MAX_MEMBERS, find_choices
from tests.runtime.codebase.cited import ranges_of, verify
from tests.runtime.codebase.sample_repository import write_files

FILES = {
    "press/modes.py": (
        "from enum import Enum\n\n\nclass PressMode(Enum):\n    FAST = 'f'  # at once\n    SLOW = 's'\n\n\n"
        "PRESS_MODE_COLORS = {PressMode.FAST: 'red', PressMode.SLOW: 'blue'}\n\n"
        'STYLE_MAP = {\n    "plain": 1,\n    "bold": 2,\n}\n\n'
    ),
    "press/cli.py": (
        "from press.modes import STYLE_MAP as STYLES\nfrom press.modes import PressMode\n\n\n"
        "def options(parser):\n"
        '    parser.add_argument("--style", choices=sorted(STYLES.keys()), help="x")\n'
        '    parser.add_argument("--pace", choices=[m.value for m in PressMode])\n'
        '    parser.add_argument("--paper", choices=["a4", "a5"])\n'
        '    parser.add_argument("--ink", choices=INKS)\n'
    ),
    "press/errors.js": (
        "const errorMessages = {\n  NO_INK: 'No ink',\n  NO_PAPER: 'No paper',\n}\n"
        "function PressError(code) { this.message = errorMessages[code] }\n"
    ),
    "press/queue.go": (
        "package press\n\n// JobState is what a job is in.\ntype JobState int\n\n"
        "const (\n\tWaiting JobState = iota\n\t// Printing is when it runs.\n\tPrinting\n)\n"
    ),
    "tests/test_modes.py": 'SHADES = ["light", "dark"]\n',
    "press/a.py": 'KINDS_OF_GLUE = ["hot", "cold"]\n',
    "press/b.py": 'KINDS_OF_GLUE = ["warm", "wet"]\n',
}


@pytest.fixture
def press(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, FILES)
    return opened(root)


@pytest.mark.parametrize(
    ("query", "name", "members"),
    [
        ("press modes", "PressMode", ["FAST", "SLOW"]),
        ("PressMode", "PressMode", ["FAST", "SLOW"]),
        ("job states", "JobState", ["Waiting", "Printing"]),
        ("styles", "STYLE_MAP", ["plain", "bold"]),
        ("--style", "STYLE_MAP", ["plain", "bold"]),
        ("values of style", "STYLE_MAP", ["plain", "bold"]),
        ("--pace", "PressMode", ["FAST", "SLOW"]),
        ("--paper", "--paper", ["a4", "a5"]),
        ("paper kinds", "--paper", ["a4", "a5"]),
        ("error codes", "errorMessages", ["NO_INK", "NO_PAPER"]),
        ("values of PressMode", "PressMode", ["FAST", "SLOW"]),
    ],
)
def test_the_set_that_is_meant_is_found_by_words_or_an_option(
    press: Codebase, query: str, name: str, members: list[str]
) -> None:
    result = find_choices(press, query)
    first = result.data["sets"][0]
    assert (first["name"], [member["name"] for member in first["members"]]) == (name, members)
    assert verify(press, result.citations, ranges_of([result])) == (list(result.citations), {})
    lines = [press.read_lines(first["file"], one["line"], one["line"])[0] for one in first["members"]]
    assert all(one["name"] in line for one, line in zip(first["members"], lines, strict=True))


@pytest.mark.parametrize(
    "query",
    [
        "colors",
        "modes",
        "states",
        "papers",
        "press mode colors of ink",
        "shades",
        "--ink",
        "--nothing",
        "exceptions",
        "glue",
        "work states of a machine",
        "the",
        "???",
        "x" * 500,
    ],
)
def test_what_fits_no_set_or_several_is_not_told(press: Codebase, query: str) -> None:
    result = find_choices(press, query)
    assert (result.status, result.data["sets"], result.citations) == ("empty", [], ())


def test_an_option_is_told_with_the_constant_that_it_takes_its_values_from(press: Codebase) -> None:
    result = find_choices(press, "--style")
    (row,) = result.data["sets"]
    assert row["option"]["name"] == "--style"
    assert result.citations[row["option"]["citation"]].mark == "[press/cli.py:6]"
    assert result.citations[row["citation"]].mark == "[press/modes.py:11]"


@pytest.mark.parametrize(
    ("added", "line"),
    [
        ("", None),
        ('GLUES["c"] = 3\n', 2),
        ("GLUES.update(more)\n", 2),
        ("GLUES |= more\n", 2),
        ("x = GLUES['c'] == 3\n", None),
        ("MY_GLUES['c'] = 3\n", None),
    ],
)
def test_a_mapping_that_is_added_to_elsewhere_is_open(
    root: Path, opened: Callable[[Path], Codebase], added: str, line: int | None
) -> None:
    write_files(root, {"a.py": f'GLUES = {{"a": 1, "b": 2}}\n{added}', "b.py": "from a import GLUES\nprint(GLUES)\n"})
    result = find_choices(opened(root), "glues")
    (row,) = result.data["sets"]
    assert row["is_open"] is (line is not None)
    assert (row["added_at"] is None) is (line is None)
    assert line is None or result.citations[row["added_at"]].start_line == line


def test_constants_of_a_type_in_another_file_of_a_package_are_seen(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    group = "package p\n\nconst (\n\t{0}A Mode = 1\n\t{0}B Mode = 2\n)\n"
    write_files(
        root,
        {
            "p/a.go": "package p\n\ntype Mode int\n" + group.format("X")[10:],
            "p/b.go": "package p\n\nconst Y Mode = 3\n",
        },
    )
    (row,) = find_choices(opened(root), "modes").data["sets"]
    assert (row["file"], row["is_open"]) == ("p/a.go", True)


def test_what_may_be_a_secret_is_not_told(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(
        root,
        {
            "a.py": 'USER_PASSWORDS = {"ada": "h8Xq2vLp", "bob": "k2Zt9wQm"}\n'
            'LOGIN_SECRETS = ["h8Xq2vLp", "k2Zt9wQm"]\n',
            "b.py": "from a import *\n",
        },
    )
    codebase = opened(root)
    result = find_choices(codebase, "user passwords")
    assert [member["name"] for member in result.data["sets"][0]["members"]] == ["ada", "bob"]
    assert "h8Xq2vLp" not in str((result.data, [one.quote for one in result.citations]))
    assert find_choices(codebase, "login secrets").status == "empty"


def test_no_more_than_so_many_files_are_parsed_however_many_fit(root: Path, opened: Callable[[Path], Codebase]) -> None:
    files = {f"p{number}/mode.py": 'MODE_X = ["a", "b"]\n' for number in range(MAX_FILES + 5)}
    write_files(root, files)
    codebase = opened(root)
    finder = ChoiceFinder(codebase.index, codebase.try_source)
    finder.find("x modes")
    assert 0 < finder.parsed <= MAX_FILES


@pytest.mark.parametrize("count", [MAX_MEMBERS - 1, MAX_MEMBERS, MAX_MEMBERS + 1])
def test_so_many_members_are_told_and_the_rest_is_counted(
    root: Path, opened: Callable[[Path], Codebase], count: int
) -> None:
    lines = "".join(f"    C{number},\n" for number in range(count))
    write_files(root, {"a.rs": f"enum InkColor {{\n{lines}}}\n"})
    result = find_choices(opened(root), "ink colors")
    (row,) = result.data["sets"]
    assert (len(row["members"]), row["total"]) == (min(count, MAX_MEMBERS), count)
    assert result.status == ("partial" if count > MAX_MEMBERS else "ok")


@pytest.mark.parametrize(
    ("query", "option", "terms", "is_value_of"),
    [
        ("compression modes", "", ("compress", "mod"), False),
        ("file types", "", ("fil",), False),
        ("types", "", ("typ",), False),
        ("--no-color", "no-color", (), False),
        ("values of log_level", "", ("log", "level"), True),
        ("values of SameSite", "", ("sam", "sit"), True),
    ],
)
def test_a_query_is_taken_apart(query: str, option: str, terms: tuple[str, ...], is_value_of: bool) -> None:
    asked = asked_choices(query)
    assert (asked.option, asked.terms, asked.is_value_of) == (option, terms, is_value_of)


def one_set(name: str, kind: str = "enum", names: tuple[str, ...] = ("a", "b"), file: str = "src/x.py") -> ClosedSet:
    members = tuple(Member(each, 1, 1) for each in names)
    return ClosedSet(name, kind, file, 1, 1, 2, members, len(members))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "one", "fits"),
    [
        ("log levels", one_set("LogLevel"), True),
        ("log levels", one_set("LOG_LEVELS", "list"), True),
        ("log levels", one_set("LOG_LEVEL_COLORS", "keys"), False),
        ("log levels", one_set("LEVEL_TO_NAME", "keys", file="src/log.py"), True),
        ("log levels", one_set("Level"), False),
        ("log levels", one_set("LogFormat"), False),
        ("errors", one_set("Error"), True),
        ("errors", one_set("IoError"), False),
        ("errors", one_set("ERRORS", "keys"), False),
        ("kinds of errors", one_set("ErrorKind"), True),
        ("backends", one_set("CacheBackend"), False),
        ("events", one_set("EVENTS", "keys"), True),
        ("events", one_set("EVENT_NAMES", "keys"), False),
        ("migration states", one_set("MigrationType"), False),
        ("statement directions", one_set("State"), False),
        ("binary types", one_set("BINARY_TYPES", "list"), True),
        ("commands", one_set("command", "typed"), False),
        ("values of mode", one_set("mode", "typed"), True),
        ("modes", one_set("PressMode"), False),
        ("modes", one_set("Mode"), True),
        ("papers", one_set("--paper", "option"), False),
        ("paper kinds", one_set("--paper", "option"), True),
        ("exit codes", one_set("ExitReason"), False),
        ("status codes", one_set("STATUS_TYPES", "keys"), False),
        ("press modes", one_set("Press"), True),
        ("press colors", one_set("Press"), False),
        ("modes", one_set("PressMode", file="tests/x.py"), False),
    ],
)
def test_every_word_must_be_met_and_a_name_says_nothing_else(query: str, one: ClosedSet, fits: bool) -> None:
    assert (fit(asked_choices(query), one) > 0) is fits


def test_of_two_sets_with_other_members_that_fit_alike_none_is_told() -> None:
    first, same, other = one_set("Mode"), one_set("Mode", file="y.py"), one_set("Mode", names=("c", "d"))
    assert best_of([(1.5, first), (1.5, same)])[0][1] in (first, same)
    assert best_of([(1.5, first), (1.45, other)]) == []
    assert [one for _, one in best_of([(1.5, first), (1.2, other)])] == [first, other]
    assert best_of([(0.0, first)]) == []


@given(st.text(max_size=60), st.text(max_size=30), st.sampled_from(["enum", "keys", "list", "option", "union"]))
def test_any_query_is_compared_with_any_set(query: str, name: str, kind: str) -> None:
    assert 0.0 <= fit(asked_choices(query), one_set(name, kind)) <= 4.0
