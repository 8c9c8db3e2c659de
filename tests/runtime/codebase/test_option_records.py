"""Whether a value is found in a record of a table of settings, lines away from its name and its description."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

TABLES = {
    "c/greenhouse.h": "static const struct option options[] = {\n"
    '        {\n                .name = "mist_interval",\n                .section = "air",\n'
    '                .description = "Pause between two sprays of mist, in seconds",\n'
    '                .default_value = "45",\n                .value = &options_now.mist_interval,\n        },\n'
    '        {\n                .name = "shade_threshold",\n'
    '                .description = "From which brightness on the shades are closed",\n'
    '                .default_value = "700",\n                .value = &options_now.shade_threshold,\n        },\n'
    '        {\n                .name = "shade_colour",\n                .description = "Colour of the shades",\n'
    "                .value = &options_now.shade_colour,\n        },\n};\n",
    "go/flags.go": 'package greenhouse\n\nvar flags = []Flag{\n\tIntFlag{\n\t\tName:  "pump-count",\n'
    '\t\tUsage: "number of pumps that water the beds",\n\t\tValue: 6,\n\t},\n}\n',
    "js/options.js": "module.exports = [\n  {\n    name: 'lampHours',\n"
    "    description: 'hours per day for which the lamps burn',\n    type: Number,\n    default: 14,\n  },\n];\n",
    "py/settings.py": "SETTINGS = [\n    {\n        'name': 'frost_limit',\n"
    "        'help': 'below which temperature the heaters start',\n        'default': 4,\n    },\n]\n",
    "rb/settings.rb": 'SETTINGS = [\n  {\n    :name => "vent_angle",\n'
    '    :description => "how far the vents open, in degrees",\n    :default => 35,\n  },\n].freeze\n',
    "rs/table.rs": 'pub const TABLE: &[Entry] = &[\n    Entry {\n        name: "seed_depth",\n'
    '        help: "how deep seeds are put into the soil, in millimetres",\n        default: "12",\n    },\n];\n',
    "php/table.php": "<?php\nconst TABLE = [\n    [\n        'name' => 'compost_share',\n"
    "        'description' => 'how much compost is mixed into the soil',\n        'default' => 30,\n    ],\n];\n",
}


@pytest.fixture
def tables(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, TABLES)
    return opened(root)


def told(codebase: Codebase, question: str) -> list[tuple[str, str | None, list[str]]]:
    """Return the names and values that are told, each with the lines of its proof as they stand in the files."""
    found = []
    for row in locate(codebase, question, 12, values=True).data["values"]:
        for chain in row["chains"]:
            for step in chain["steps"]:
                assert step["text"] in codebase.read_lines(step["file"], step["line"], step["line"])[0]
            lines = [f"{step['file']}:{step['line']}" for step in chain["steps"]]
            found.append((chain["name"], chain["value"], lines))
    return found


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "How long is the pause between two sprays of mist?",
            ("mist_interval", '"45"', ["c/greenhouse.h:3", "c/greenhouse.h:6"]),
        ),
        (
            "What is the default threshold for the shades?",
            ("shade_threshold", '"700"', ["c/greenhouse.h:10", "c/greenhouse.h:12"]),
        ),
        ("How many pumps water the beds by default?", ("pump-count", "6", ["go/flags.go:5", "go/flags.go:7"])),
        (
            "How many hours do the lamps burn per day by default?",
            ("lampHours", "14", ["js/options.js:3", "js/options.js:6"]),
        ),
        ("What is the default limit for frost?", ("frost_limit", "4", ["py/settings.py:3", "py/settings.py:5"])),
        ("What is the default angle of a vent?", ("vent_angle", "35", ["rb/settings.rb:3", "rb/settings.rb:5"])),
        (
            "How deep are seeds put into the soil by default?",
            ("seed_depth", '"12"', ["rs/table.rs:3", "rs/table.rs:5"]),
        ),
        ("What is the default share of compost?", ("compost_share", "30", ["php/table.php:4", "php/table.php:6"])),
    ],
)
def test_an_option_of_a_table_is_told_with_the_lines_of_its_name_and_its_default(
    tables: Codebase, question: str, expected: tuple[str, str, list[str]]
) -> None:
    assert told(tables, question) == [expected]


@pytest.mark.parametrize(
    "question", ["Which colour do the shades have by default?", "How many frogs live in the pond by default?"]
)
def test_nothing_is_told_of_an_option_without_a_default_in_its_record(tables: Codebase, question: str) -> None:
    assert told(tables, question) == []
