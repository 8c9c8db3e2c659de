"""Values that are proven from the name to the literal, in each language, and what is left without a value."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.resolution.default_values.value_chains import ValueChain
from tests.runtime.codebase.sample_repository import write_files
from tests.runtime.codebase.value_samples import GO, JAVA, JAVASCRIPT, OTHERS, PYTHON, RUST, C

Opened = Callable[[Path], Codebase]

# (files, name, what is proven: owner, value, the lines of the steps)
PROVEN = [
    (PYTHON, "ducks", [("Pond", "12", (10, 9, 1))]),
    (PYTHON, "depth", [("Pond", "2 * 60", (11, 2))]),
    (PYTHON, "reed", [("Pond", "7", (12,))]),
    (PYTHON, "moss", [("Pond", "12", (15, 14, 1))]),
    (PYTHON, "shore", [("Pond", "'sand'", (7,))]),
    (PYTHON, "legs", [("Heron", "2", (27,))]),
    (PYTHON, "fish", [("Heron", "[]", (28,))]),
    (PYTHON, "reach", [("Heron", "1.5", (29,))]),
    (PYTHON, "POND_PORT", [("", "'8080'", (3,))]),
    (PYTHON, "PORT", [("", "'8080'", (3,))]),
    (PYTHON, "max_boats", [("", "4", (1,))]),
    (PYTHON, "towing", [("OPTIONS", "3.5", (2,))]),
    (PYTHON, "speed", [("nested", "8", (2,))]),
    (PYTHON, "volume", [("", "11", (4,))]),
    (JAVASCRIPT, "sacks", [("Mill", "40", (6, 1))]),
    (JAVASCRIPT, "wheel", [("Mill", "3", (7, 2))]),
    (JAVASCRIPT, "stone", [("Mill", "8", (8,))]),
    (JAVASCRIPT, "turns", [("Mill", "5", (4,))]),
    (JAVASCRIPT, "gear", [("Mill", "2", (5,))]),
    (JAVASCRIPT, "flour", [("", "'rye'", (2,))]),
    (JAVASCRIPT, "least", [("wind", "40", (2, 1))]),
    (JAVASCRIPT, "grind", [("", "6", (14,))]),
    (JAVASCRIPT, "kind", [("Store", "Grain.Rye", (3, 1))]),
    (JAVASCRIPT, "size", [("Store", "9", (4,))]),
    (JAVASCRIPT, "timeout", [("Store", "250", (4,))]),
    (GO, "RetryMax", [("Kiln", "4", (13, 4))]),
    (GO, "Wait", [("Kiln", "10 * time.Minute", (13, 3))]),
    (GO, "Glow", [("", "5", (14,))]),
    (GO, "Draft", [("", "30 * time.Second", (16,))]),
    (GO, "Another", [("", "2", (7,))]),
    (GO, "kiln-port", [("", "7070", (5,))]),
    (GO, "shelves", [("cli.IntFlag", "12", (6,))]),
    (JAVA, "cows", [("Barn", "30", (7, 4))]),
    (JAVA, "gates", [("Barn", "2", (12, 6))]),
    (JAVA, "height", [("Barn", "6", (9,))]),
    (RUST, "logs", [("Raft", "1024 * 8", (9, 1))]),
    (RUST, "rope", [("Raft", "Some(5)", (9,))]),
    (RUST, "sail", [("Raft", "1", (9, 2))]),
    (RUST, "tide", [("Raft", "Duration::from_secs(3)", (9,))]),
    (RUST, "oars", [("", "2", (13,))]),
    (RUST, "crew", [("Args", "21", (17,))]),
    (C, "size", [("", "512", (6, 3))]),
    (C, "kind", [("", "3", (8, 2)), ("Tank", "Kind.steel", (4, 5))]),
    (C, "lid", [("", "1", (9, 10))]),
    (C, "pumps", [("", "4", (11,))]),
    (C, "walls_", [("Tank", "4", (2,))]),
    (C, "bolts", [("Tank", "16", (4, 4))]),
    (OTHERS, "threads", [("Loom", "4096", (5, 4, 2))]),
    (OTHERS, "width", [("Loom", "80", (3,))]),
    (OTHERS, "knots", [("Loom", "5", (4,))]),
    (OTHERS, "speed", [("Loom", "9", (6,))]),
    (OTHERS, "LOOM_DYE", [("Loom", "'blue'", (7,))]),
    (OTHERS, "shed", [("Loom", "2", (8,))]),
    (OTHERS, "heat", [("Oven", "220", (5, 3))]),
    (OTHERS, "racks", [("Oven", "3", (4,))]),
    (OTHERS, "fans", [("Oven", "2", (5,))]),
    (OTHERS, "drawers", [("Desk", "3", (4,))]),
    (OTHERS, "chairs", [("Desk", "4", (5, 3))]),
    (OTHERS, "lamp", [("Desk", "1", (5,))]),
    (OTHERS, "hull", [("Boat", "5", (3, 1))]),
    (OTHERS, "masts", [("Boat", "2", (2,))]),
]

# What is set, and not proven: assigned later on, bound twice, computed, or given by an own variable of the function.
UNPROVEN = [
    (PYTHON, "lilies"),
    (PYTHON, "frogs"),
    (PYTHON, "water"),
    (PYTHON, "TWICE_"),
    (JAVASCRIPT, "limit"),
    (JAVASCRIPT, "speed"),
    (GO, "Ash"),
    (GO, "testOnly"),
    (RUST, "LEAK"),
    (C, "level"),
]


def text_or_nothing(value: object) -> str:
    return value if isinstance(value, str) else ""


def chains_of(codebase: Codebase, name: str) -> list[ValueChain]:
    return codebase.value_chains(name)


def proven(chains: list[ValueChain]) -> list[tuple[str, str, tuple[int, ...]]]:
    found = [(c.owner, c.value, tuple(step.line for step in c.steps)) for c in chains if c.value is not None]
    return sorted(found, key=str)


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, str]], Codebase]:
    made: dict[int, Codebase] = {}

    def opened(files: dict[str, str]) -> Codebase:
        if id(files) not in made:
            folder = tmp_path_factory.mktemp("repository")
            (folder / "repo").mkdir()
            write_files(folder / "repo", files)
            refresh(folder / "repo", folder / "index.sqlite")
            made[id(files)] = Codebase.open(folder / "repo", folder / "index.sqlite")
        return made[id(files)]

    return opened


@pytest.mark.parametrize(("files", "name", "expected"), PROVEN, ids=text_or_nothing)
def test_a_value_is_followed_to_its_literal(
    repositories: Callable[[dict[str, str]], Codebase],
    files: dict[str, str],
    name: str,
    expected: list[tuple[str, str, tuple[int, ...]]],
) -> None:
    codebase = repositories(files)
    chains = chains_of(codebase, name)
    assert proven(chains) == sorted(expected, key=str)
    for chain in chains:
        for step in chain.steps:
            assert step.text in codebase.read_lines(step.file, step.line, step.line)[0]


@pytest.mark.parametrize(("files", "name"), UNPROVEN, ids=text_or_nothing)
def test_what_cannot_be_followed_has_no_value(
    repositories: Callable[[dict[str, str]], Codebase], files: dict[str, str], name: str
) -> None:
    assert proven(chains_of(repositories(files), name)) == []


MADE = """\
LIMIT = Limit(most=5.0, "calm")
NONE = Limit()
NAMED = Limit(most=least)
DONE = LIMIT(5.0)


class Sluice:
    def __init__(self, flow=LIMIT, drain=NONE, leak=NAMED, wave=DONE, spill=Limit(3)):
        self._flow = Limit(flow)
        self._drain = drain


class Lock:
    def __init__(self, flow: Flow = LIMIT):
        self.flow = types.Limit(flow)
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flow", [("Lock", 'Limit(most=5.0, "calm")', (14, 1)), ("Sluice", 'Limit(most=5.0, "calm")', (8, 1))]),
        ("drain", []),
        ("leak", []),
        ("wave", []),
        ("spill", [("Sluice", "Limit(3)", (8,))]),
    ],
)
def test_what_a_class_makes_of_literals_is_a_value_and_one_that_is_made_of_it_hands_it_on(
    root: Path, opened: Opened, name: str, expected: list[tuple[str, str, tuple[int, ...]]]
) -> None:
    write_files(root, {"sluice.py": MADE})
    chains = chains_of(opened(root), name)
    assert proven(chains) == expected
    assert [chain.value for chain in chains if chain.value is None] == [None] * (not expected)


def test_values_of_different_builds_are_all_told_with_their_conditions(
    repositories: Callable[[dict[str, str]], Codebase],
) -> None:
    found = {(chain.value, chain.conditions) for chain in chains_of(repositories(C), "depth")}
    assert found == {("2", ("#ifdef SMALL",)), ("TANK_SIZE * 2", ("not (SMALL)",))}


def test_a_circle_of_constants_ends_without_a_value(root: Path, opened: Opened) -> None:
    write_files(root, {"a.py": "from b import B as A\nC = A\n", "b.py": "from a import C as B\nB = C\nC = B\n"})
    codebase = opened(root)
    assert proven(chains_of(codebase, "C")) == proven(chains_of(codebase, "B")) == []


def test_a_constant_that_refers_to_itself_ends_without_a_value(root: Path, opened: Opened) -> None:
    write_files(root, {"a.py": "X = X\nY = Y or Y\n", "b.c": "#define LOOP LOOP\n"})
    codebase = opened(root)
    assert [proven(chains_of(codebase, name)) for name in ("X", "Y", "LOOP")] == [[], [], []]


@pytest.mark.parametrize("depth", [4, 5, 9])
def test_a_chain_is_followed_for_at_most_six_steps(root: Path, opened: Opened, depth: int) -> None:
    lines = [f"C{n} = C{n + 1}" for n in range(depth)]
    write_files(root, {"a.py": "\n".join((*lines, f"C{depth} = 1", ""))})
    expected = [("", "1", tuple(range(1, depth + 2)))] if depth < 6 else []
    assert proven(chains_of(opened(root), "C0")) == expected


@pytest.mark.long
def test_ten_thousand_assignments_of_one_name_take_no_long_time(root: Path, opened: Opened) -> None:
    write_files(root, {"a.py": "".join(f"class C{n}:\n    depth = {n}\n" for n in range(10_000))})
    codebase = opened(root)
    started_s = time.monotonic()
    assert len(chains_of(codebase, "depth")) <= 12
    assert time.monotonic() - started_s < 20


@pytest.mark.parametrize(
    "text",
    [
        "const options = {" + "depth: {default: 1, value: 2}, " * 10_000 + "...given };\n",
        "function f(x) { switch (x) { case 1:\n" + "depth = depth || 3;\n" * 10_000 + "} }\n",
        "const depth = " + "(" * 5_000 + "1" + ")" * 5_000 + ";\n",
        "const depth = " + "depth || " * 5_000 + "1;\n",
    ],
    ids=["one long line", "one long branch", "brackets", "fallbacks"],
)
def test_files_made_to_be_slow_take_no_long_time(root: Path, opened: Opened, text: str) -> None:
    write_files(root, {"a.js": text})
    codebase = opened(root)
    started_s = time.monotonic()
    assert len(chains_of(codebase, "depth")) <= 12
    assert time.monotonic() - started_s < 20


@pytest.mark.parametrize(
    "value",
    [
        "`rm -rf`",
        "'\u202eevil'",
        "f'{secret}'",
        "'" + "x" * 5000 + "'",
        "[" * 300 + "]" * 300,
        "lambda: 5",
        "'''a\nb'''",
    ],
)
def test_values_that_are_odd_are_quoted_in_one_short_line_or_left_out(root: Path, opened: Opened, value: str) -> None:
    write_files(root, {"a.py": f"ODD = {value}\n"})
    for chain in chains_of(opened(root), "ODD"):
        assert chain.value is None or ("\n" not in chain.value and len(chain.value) <= 80)


def test_a_name_without_any_place_has_no_chain(repositories: Callable[[dict[str, str]], Codebase]) -> None:
    assert chains_of(repositories(PYTHON), "unheard_of") == []
    assert chains_of(repositories(PYTHON), "") == []
