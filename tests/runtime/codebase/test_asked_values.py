"""Which questions ask for a value, which name they mean, and when nothing is asserted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.default_values.secret_values import is_secret
from runtime.codebase.search.values.value_questions import MAX_PARTS, value_parts
from runtime.codebase.search.values.value_words import is_of_subject, plain_share, words_of
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

HARBOUR = {
    "harbour/options.py": "MAX_SHIPS = 12\n\n\nclass Harbour:\n"
    "    def __init__(self, mooring_timeout=30.0, signal_interval=None, tug_count=MAX_SHIPS, lit=True):\n"
    "        self.mooring_timeout = mooring_timeout\n"
    "        self.signal_interval = signal_interval or 5\n"
    "        self.tug_count = tug_count\n        self.lit = lit\n        self.crew = self.hire()\n",
    "harbour/crane.py": "class Crane:\n    hoist_limit = 40\n    load_limit = 70\n\n"
    "    def __init__(self, grip_delay=2):\n"
    "        self.grip_delay = grip_delay\n\n\nclass Winch:\n    def __init__(self, grip_delay=9):\n"
    "        self.grip_delay = grip_delay\n",
    "harbour/door.py": "API_TOKEN = 'hunter2hunter2'\nPASSWORD = 'change-me-please'\n"
    "parser.add_argument('--listen-port', type=int, default=4711, help='where ships report')\n",
    "tests/test_harbour.py": "MOORING_TIMEOUT = 1\n",
}


@pytest.fixture
def harbour(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, HARBOUR)
    return opened(root)


def told(codebase: Codebase, question: str) -> list[tuple[str, str | None]]:
    rows = values_in(codebase, question)
    return [(f"{chain['owner']}.{chain['name']}", chain["value"]) for row in rows for chain in row["chains"]]


def values_in(codebase: Codebase, question: str) -> list[dict[str, Any]]:
    result = locate(codebase, question, 12, values=True)
    for row in result.data["values"]:
        for chain in row["chains"]:
            for step in chain["steps"]:
                citation = result.citations[step["citation"]]
                assert (citation.file, citation.start_line) == (step["file"], step["line"])
                assert step["text"] in codebase.read_lines(step["file"], step["line"], step["line"])[0]
    return list(result.data["values"])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the default mooring timeout?", [("Harbour.mooring_timeout", "30.0")]),
        ("How long is the mooring timeout if I set nothing?", [("Harbour.mooring_timeout", "30.0")]),
        ("How many tugs are used by default?", [("Harbour.tug_count", "12")]),
        ("How often is the signal sent by default?", [("Harbour.signal_interval", "5")]),
        ("Which port does it listen on by default?", [(".listen-port", "4711")]),
        ("What is the default of `--listen-port`?", [(".listen-port", "4711")]),
        ("What is the default of `Winch.grip_delay`?", [("Winch.grip_delay", "9")]),
        ("Is the harbour lit by default?", [("Harbour.lit", "True")]),
        ("What is the default grip delay?", [("Crane.grip_delay", "2"), ("Winch.grip_delay", "9")]),
    ],
)
def test_the_value_that_a_question_asks_for_is_told(
    harbour: Codebase, question: str, expected: list[tuple[str, str | None]]
) -> None:
    assert told(harbour, question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is the default anchor weight?",
        "How many lighthouses are there by default?",
        "How long does the pilot sleep by default?",
        "What is the default limit?",
        "Which database is used by default?",
    ],
)
def test_nothing_is_told_of_what_is_not_there_or_not_clear(harbour: Codebase, question: str) -> None:
    assert told(harbour, question) == []


DAIRY = {
    "dairy/cows.py": "COW_LIMIT = 90\nDEFAULT_MILKING_INTERVAL = 12\n\n\nclass Cow:\n"
    "    def __init__(self, yield_type='milk', bell=None, stall_name=None):\n"
    "        self.milked_count = 0\n        self.yield_type = yield_type\n        self.bell_timeout = None\n"
    "        self.bell = bell\n        self.stall_name = stall_name or 'left'\n\n"
    "    def milk(self):\n        self.milked_count += 1\n",
    "dairy/churn.py": "class Mode(Enum):\n    SLOW_CHURN = 1\n    FAST_CHURN = 2\n\n\n"
    "class Churn:\n    churn_seconds = 40\n"
    "    churn_parts_total = 0\n\n\ndef build_big_churn():\n    return {'Churn': {'lid_open': True}}\n",
    "dairy/settings.py": "class Speed(Setting):\n    name = 'speed'\n    default = 6\n"
    "    desc = 'How fast the churn turns.'\n\n\nclass Timeout(Setting):\n    name = 'timeout'\n"
    "    section = 'Milkers'\n    default = 25\n",
    "dairy/gate.py": "class Gate:\n    def __init__(self, latch_options={}, timeout=3):\n"
    "        self.latch_options = latch_options\n        self.timeout = timeout\n",
    "dairy/churned.py": "class Butter:\n    pat_count = 0\n\n\nclass ButterOptions:\n    wrapper_count = 0\n"
    "    knife_limit = 500\n",
    "dairy/fault.ts": "export enum Fault {\n  HoofTimeout,\n  Lost,\n}\n",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many times is a cow milked by default?", []),
        ("What is the default name of a stall?", [("Cow.stall_name", "'left'")]),
        ("What is the default milking interval?", [(".DEFAULT_MILKING_INTERVAL", "12")]),
        ("How many cows are kept by default?", []),
        ("How many cows are kept at most?", [(".COW_LIMIT", "90")]),
        ("What is the default churn mode?", []),
        ("How long is churned by default?", [("Churn.churn_seconds", "40")]),
        ("What is the default speed of the churn?", [("Speed.speed", "6")]),
        ("What is the default milker timeout?", [("Timeout.timeout", "25")]),
        ("What is the default latch?", []),
        ("How many pats of butter are there by default?", []),
        ("How many times is a knife turned by default?", []),
        ("How many wrappers of butter are there by default?", [("ButterOptions.wrapper_count", "0")]),
        ("What is the default hoof timeout?", []),
        ("Is the lid of the churn open by default?", []),
    ],
)
def test_a_name_of_another_kind_is_not_what_is_asked_for(
    root: Path, opened: Callable[[Path], Codebase], question: str, expected: list[tuple[str, str]]
) -> None:
    write_files(root, DAIRY)
    assert told(opened(root), question) == expected


def test_a_name_without_a_proven_value_is_told_as_set(harbour: Codebase) -> None:
    assert told(harbour, "What is the default of `crew`?") == [("Harbour.crew", None)]


def test_each_part_of_a_question_gets_its_own_value(harbour: Codebase) -> None:
    question = "What is the default mooring timeout, and which port does it listen on by default?"
    assert told(harbour, question) == [("Harbour.mooring_timeout", "30.0"), (".listen-port", "4711")]


def test_the_text_of_a_secret_is_left_out_and_its_lines_are_cited(harbour: Codebase) -> None:
    (row,) = values_in(harbour, "What is the default of `API_TOKEN`?")
    (chain,) = row["chains"]
    assert (chain["value"], chain["is_secret"], chain["steps"][0]["text"]) == (None, True, "")
    assert "hunter2" not in str(locate(harbour, "What is the default of `API_TOKEN`?", 12, values=True).data["values"])


BAKERY = {
    "bakery/oven.py": "class Oven:\n    def __init__(self, bell_duration=30, tray_retry_interval=7, max_bakers=4):\n"
    "        self.bell_duration = bell_duration\n        self.tray_retry_interval = tray_retry_interval\n"
    "        self.max_bakers = max_bakers\n\n    def bake(self, loaf, dough):\n        return loaf or dough\n",
    "bakery/scale.py": "class Scale:\n    def __init__(self, limit=80):\n        self.limit = limit\n",
    "bakery/flour.py": "MINIMUM_FLOUR_GRADE = '4.05'\nMAX_LOAF = 12\nLOAF_SEEDS = 3\nDOUGH_DELAY = 9\n",
    "bakery/shop.js": "function Shop(opts) {\n"
    "  this.settings = _.defaults(opts.settings, { tillDelay: 250, maxCakes: 9 });\n"
    "  this.own = Object.assign({ shelfLimit: 6 }, opts.own);\n  log(opts, { doorLimit: 2 });\n}\n",
}


@pytest.fixture
def bakery(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, BAKERY)
    return opened(root)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How long does an oven ring the bell when a loaf is done?", [("Oven.bell_duration", "30")]),
        ("How many seconds pass before it asks for a tray again?", [("Oven.tray_retry_interval", "7")]),
        ("What is the lowest grade of flour that it accepts?", [(".MINIMUM_FLOUR_GRADE", "'4.05'")]),
        ("How many loafs fit on the belt of a baker?", [(".MAX_LOAF", "12")]),
        ("How long does the till wait if I set nothing?", [("opts.settings.tillDelay", "250")]),
        ("How many cakes are there at most?", [("opts.settings.maxCakes", "9")]),
        ("What is the limit of the scale by default?", [("Scale.limit", "80")]),
        ("What is the limit of a shelf by default?", [("opts.own.shelfLimit", "6")]),
    ],
)
def test_a_name_that_says_nothing_but_what_is_asked_is_told(
    bakery: Codebase, question: str, expected: list[tuple[str, str | None]]
) -> None:
    assert told(bakery, question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "How long does the loaf rest on the shelf of the shop window?",
        "How many windows are there by default?",
        "What is the limit of doors by default?",
    ],
)
def test_a_name_with_a_further_word_or_another_measure_is_not_told(bakery: Codebase, question: str) -> None:
    assert told(bakery, question) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("API_KEY", "'abcdef0123'", True),
        ("password", '"correct horse"', True),
        ("password", "'change-me'", False),
        ("password", "None", False),
        ("token", "'abcde'", False),
        ("token", "'abcdef'", True),
        ("sort_key", "'created_at'", False),
        ("timeout", "'abcdef0123'", False),
    ],
)
def test_a_secret_is_a_literal_text_under_the_name_of_one(name: str, value: str, expected: bool) -> None:
    assert is_secret(name, value) is expected


def test_values_are_searched_for_only_where_they_are_asked_for(harbour: Codebase) -> None:
    assert "values" not in locate(harbour, "What is the default mooring timeout?").data
    assert locate(harbour, "Where is the crane?", values=True).data["values"] == []


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("What is the default timeout?", ["any"]),
        ("How long does it wait by default?", ["time"]),
        ("How many retries are made if I say nothing?", ["count"]),
        ("Which port does it listen on?", ["count"]),
        ("Is compression on by default?", ["flag"]),
        ("What is the maximum wait time by default?", ["time"]),
        ("How many are there, and how long does each live?", ["count", "time"]),
        ("What timeout is used when none is given?", ["time"]),
        ("Where is the lease decided?", []),
        ("What is the default behaviour of the merge?", []),
        ("Why does it retry?", []),
        ("", []),
    ],
)
def test_a_question_that_asks_for_a_value_is_recognised(question: str, measures: list[str]) -> None:
    assert [part.measure for part in value_parts(question)] == measures


@given(st.text(max_size=400))
def test_any_text_can_be_searched_for_parts(text: str) -> None:
    assert len(value_parts(text)) <= MAX_PARTS


@pytest.mark.long
def test_a_long_text_is_read_in_little_time() -> None:
    assert len(value_parts("what is the default " * 20_000)) <= MAX_PARTS
    assert len(value_parts("how many, and " * 20_000)) <= MAX_PARTS


WORDS = st.lists(st.sampled_from(["lock", "job", "oven", "tray", "max", "timeout", "size"]), max_size=5)


@given(WORDS, WORDS, st.sampled_from(["how long", "how many"]))
def test_a_plain_name_has_no_word_that_is_not_asked(name: list[str], asked: list[str], asking: str) -> None:
    for part in value_parts(f"{asking} {' '.join(asked)}"):
        share = plain_share("_".join(name), part, {})
        assert 0 <= share <= 1
        assert not share or set(name) <= {*asked, "max", "timeout", "size"}


def test_a_word_of_measure_alone_does_not_tell_which_value_is_meant(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    runs = "".join(f"def run_{number}(run):\n    return run\n\n\n" for number in range(40))
    write_files(root, {**BAKERY, **{f"bakery/runs_{number}.py": runs for number in range(9)}})
    bakery = opened(root)
    assert told(bakery, "Bread of ten kilos is refused. Which limit do we run into, and how big is it?") == []
    assert told(bakery, "What is the limit of the scale by default?") == [("Scale.limit", "80")]


@pytest.mark.parametrize(
    ("name", "owner", "question", "expected"),
    [
        ("limit", "scale", "Which limit do we run into?", False),
        ("limit", "scale", "What is the limit of the scale?", True),
        ("limit", "scale", "What is the default limit?", True),
        ("bread_limit", "scale", "Which limit do we run into?", False),
    ],
)
def test_a_name_or_its_owner_has_a_word_of_the_subject(name: str, owner: str, question: str, expected: bool) -> None:
    (part,) = value_parts(question)
    assert is_of_subject(words_of(f"{name}_{owner}"), part) is expected
