"""Whether the defaults that a program ships in files of data are told, and those of other programs are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.values.shipped_settings import entries_in
from tests.runtime.codebase.sample_repository import write_files
from tests.runtime.codebase.test_option_records import told

BAKERY = {
    "bakery/config_default.yaml": "# How it is baked.\noven:\n    crust_thresh: 0.8  # share of brown\n"
    "    rack_count: 5\n    unread_dial: 3\n",
    "bakery/bake.py": "def is_done(config, loaf):\n    return loaf.brown > config['oven']['crust_thresh']\n\n\n"
    "def racks(config):\n    return config['oven']['rack_count']\n",
    "bakery/shoprc": "[till]\n# How many coins the till holds at most.\ncoin_limit = 900\n",
    "bakery/shop.py": "def load(path='shoprc'):\n    return read(path)['till'].as_int('coin_limit')\n",
    "bakery/delivery.json": '{\n  "vans": {\n    "van_capacity": 120\n  }\n}\n',
    "bakery/delivery.py": "def capacity(settings):\n    return settings['van_capacity']\n",
    "bakery/racks.py": "def width():\n    return load('package.json')['rack_width']\n",
    "package.json": '{\n  "name": "bakery",\n  "rack_width": 3\n}\n',
}


@pytest.fixture
def bakery(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, BAKERY)
    return opened(root)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What is the default threshold of the crust?",
            ("crust_thresh", "0.8", ["bakery/bake.py:2", "bakery/config_default.yaml:3"]),
        ),
        (
            "How many racks are there by default?",
            ("rack_count", "5", ["bakery/bake.py:6", "bakery/config_default.yaml:4"]),
        ),
        (
            "How many coins does the till hold at most?",
            ("coin_limit", "900", ["bakery/shop.py:2", "bakery/shoprc:3"]),
        ),
    ],
)
def test_a_default_in_a_shipped_file_is_told_with_the_code_that_reads_it(
    bakery: Codebase, question: str, expected: tuple[str, str, list[str]]
) -> None:
    assert told(bakery, question) == [expected]


@pytest.mark.parametrize(
    "question",
    [
        "What is the default of the unread dial?",  # no code reads it
        "What is the default capacity of a van?",  # no code names the file, and its name says nothing of defaults
        "What is the default width of a rack?",  # the file is another program's
    ],
)
def test_an_entry_that_nothing_proves_to_be_a_default_is_not_told(bakery: Codebase, question: str) -> None:
    assert told(bakery, question) == []


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("a.yaml", "one:\n  two: 3 # four\n  list: [1]\n  text: |\n    five: 6\n", [(("one", "two"), "3")]),
        ("a.toml", '[one.two]\nthree = "four" # five\nsix = [\n  7\n]\n', [(("one", "two", "three"), '"four"')]),
        ("a.ini", "[one]\ntwo = 3 ; four\n; five = 6\n", [(("one", "two"), "3")]),
        ("a.json", '{\n  "one": {\n    "two": 3,\n    "four": []\n  }\n}\n', [(("one", "two"), "3")]),
    ],
)
def test_entries_of_one_line_are_read_with_the_keys_around_them(
    file: str, text: str, expected: list[tuple[tuple[str, ...], str]]
) -> None:
    assert [(one.keys, one.value) for one in entries_in(file, text.split("\n"))] == expected
