"""Values of settings that a question describes in the words of their documentation, and when none is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.values.documented_settings import settings_in, stated_default
from runtime.codebase.search.values.value_fit import likelihood
from runtime.codebase.search.values.value_questions import value_parts
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

FERRY = {
    "ferry/options.go": 'package ferry\n\nimport "time"\n\n'
    "// Options has what a ferry may be given.\ntype Options struct {\n"
    "\t// Grace is how many seconds passengers may linger on deck before the gangway is hauled up.\n"
    "\tGrace int\n\n"
    "\t// Retries bounds how often a refused docking is attempted before the captain gives up.\n"
    "\tRetries int\n\n"
    "\t// Lanterns says which colour the lanterns show in thick fog.\n\tLanterns string\n}\n\n"
    "func NewOptions() Options {\n\treturn Options{Grace: 45, Retries: 7}\n}\n",
    "ferry/config.go": "package ferry\n\n"
    "// Config has what else there is.\ntype Config struct {\n\tGrace int\n}\n\n"
    "func NewConfig() Config {\n\treturn Config{Grace: 3}\n}\n",
    "ferry/engine.rs": "pub struct Engine {\n"
    "    /// Number of boilers that are heated at departure. By default, the engine heats three boilers, unless coal\n"
    "    /// is short.\n    #[arg(long)]\n    pub boilers: Option<u32>,\n}\n",
    "ferry/deck.py": "class Deck:\n    # How many passengers dance on the upper deck at the moment.\n"
    "    on_deck = 0\n\n"
    "    # How many deck chairs the steward puts out, at most, on the sunny side.\n    max_chairs = 0\n",
    "ferry/main.py": "def arguments(parser):\n    parser.add_argument(\n        '--loglevel',\n"
    "        default='INFO',\n"
    "        help='how much the ferry tells of its journey in the ship log',\n    )\n\n\n"
    "def start_pilots(num_pilots=3):\n    return num_pilots\n",
    "docs/settings.md": "# Settings\n\n| option | default | meaning |\n|---|---|---|\n"
    "| `horn_volume` | `80` | how loud the horn is blown when another vessel approaches |\n"
    "| `horn_pitch` | `440` | pitch of the horn, in hertz |\n\n"
    "- `tide_margin`: water that must be left below the keel, in centimetres. The default is `120`.\n"
    "- `rope_length`: metres of rope that are paid out at anchor, `60` in calm weather.\n",
}


@pytest.fixture
def ferry(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, FERRY)
    return opened(root)


def told(codebase: Codebase, question: str) -> list[tuple[str, str | None, str, str]]:
    """Return the names and values that are told, each with its form and the last line of its proof."""
    result = locate(codebase, question, 12, values=True)
    found = []
    for row in result.data["values"]:
        for chain in row["chains"]:
            last = chain["steps"][-1]
            citation = result.citations[last["citation"]]
            lines = codebase.read_lines(citation.file, citation.start_line, citation.end_line)
            assert chain["value"] is None or chain["value"] in "\n".join(lines)
            found.append((f"{chain['owner']}.{chain['name']}".strip("."), chain["value"], chain["form"], last["file"]))
    return found


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "How many seconds may passengers linger on deck before the gangway is hauled up?",
            [("Options.Grace", "45", "entry", "ferry/options.go")],
        ),
        (
            "How often is a refused docking attempted before the captain gives up?",
            [("Options.Retries", "7", "entry", "ferry/options.go")],
        ),
        (
            "How loud is the horn blown by default when another vessel approaches?",
            [("horn_volume", "80", "document", "docs/settings.md")],
        ),
        (
            "How many deck chairs does the steward put out on the sunny side?",
            [("Deck.max_chairs", "0", "binding", "ferry/deck.py")],
        ),
        (
            "How much water must be left below the keel by default?",
            [("120", None, "stated", "docs/settings.md")],
        ),
        (
            "What is the default tide margin below the keel?",
            [("tide_margin", "120", "document", "docs/settings.md")],
        ),
    ],
)
def test_a_setting_is_found_by_the_words_that_describe_it(
    ferry: Codebase, question: str, expected: list[tuple[str, str | None, str, str]]
) -> None:
    assert told(ferry, question) == expected


def test_a_sentence_tells_the_default_of_a_setting_that_has_no_value_in_code(ferry: Codebase) -> None:
    rows = values_of(ferry, "How many boilers are heated at departure by default?")
    (chain,) = [chain for row in rows for chain in row["chains"]]
    said = "By default, the engine heats three boilers, unless coal is short."
    assert (chain["name"], chain["value"], chain["form"]) == ("boilers", None, "sentence")
    assert chain["steps"][0]["text"] == said


@pytest.mark.parametrize(
    "question",
    [
        "Which colour do the lanterns show in thick fog by default?",
        "What is the lowest volume that the horn accepts when another vessel approaches?",
        "How many metres of rope are paid out at anchor?",
        "How many passengers drown before the gangway is hauled up?",
        "How many passengers dance on the upper deck at the moment?",
        "What happens when passengers linger on deck?",
    ],
)
def test_nothing_is_told_where_no_default_is_proven_or_something_else_is_asked(ferry: Codebase, question: str) -> None:
    assert told(ferry, question) == []


def values_of(codebase: Codebase, question: str) -> list[dict[str, Any]]:
    return list(locate(codebase, question, 12, values=True).data["values"])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("*Default: 30000 (30 seconds)*", "30000"),
        ("Sets the size of the block (default is 512).", "512"),
        ("the delay, by default it is `100`, of a retry", "100"),
        (":   - **unicode** (default)", "unicode"),
        ("**Default:** `'./app.conf.py'`", "'./app.conf.py'"),
        ("The default value is 5%.", "5%"),
        ("defaults to `10` here and to `20` there; the default is `30`", ""),
        ("The default is the one of the driver.", ""),
        ("By default 3.x is used.", ""),
        ("the default handler 5", ""),
    ],
)
def test_a_default_is_read_as_it_stands_in_its_line(line: str, value: str) -> None:
    assert stated_default(line) == value


def test_each_item_of_a_document_is_a_setting_of_its_own() -> None:
    lines = [
        "⏳``firstWait``<br/>",
        "how long to wait, like",
        "`secondWait` does.",
        "*Default: 5*",
        "",
        "- `secondWait`: the same. *Default: 6*",
        "`thirdWait` stands in a line of prose, default: 9",
        "",
        "**\\--block-size** _SIZE_",
        ":   of blocks (default is 7)",
        ".. option:: -c, --in-dock=<N>",
        "",
        "    Ships in dock.  Default: ``9``",
        ".. confval:: out_at_sea",
        "   ships out at sea, defaults to 10",
        "* **Cargo hold:** tons of cargo, `HOLD_TONS` of them. It defaults to 11; see `-DHOLD_TONS=12`.",
        "* **Two things:** `HOLD_TONS` and `HOLD_MEN`. It defaults to 13.",
        ":param retries: number of retries, default: 8",
    ]
    found = [(one.name, one.default, one.default_line) for one in settings_in(lines, 1, len(lines), "")]
    assert found == [
        ("firstWait", "5", 4),
        ("secondWait", "", 0),
        ("block-size", "7", 10),
        ("in-dock", "9", 13),
        ("out_at_sea", "10", 15),
        ("HOLD_TONS", "11", 16),
        ("retries", "8", 18),
    ]


def test_a_row_counts_only_below_a_head_with_one_column_of_defaults() -> None:
    table = ["| option | default |", "|---|---|", "| `a_b` | `1` |", "| `c_d` | – |", "| `e_f` | `2` | more |"]
    assert [(one.name, one.default) for one in settings_in(table, 3, 5, "")] == [("a_b", "1"), ("c_d", "")]
    assert not list(settings_in(["| option | size |", "|---|---|", "| `a_b` | `1` |"], 3, 3, ""))


def test_a_titled_section_with_a_line_of_its_default_is_the_setting_of_that_name() -> None:
    lines = ["The longest line.", "", "**Default:** `79`  ", "**Type:** Int"]
    (one,) = settings_in(lines, 1, len(lines), "Options > Line Length")
    assert (one.name, one.default, one.default_line) == ("line_length", "79", 3)
    assert not list(settings_in(["The default is `79`."], 1, 1, "Options > Line Length"))


def test_a_section_headed_by_a_name_of_code_is_one_setting() -> None:
    lines = ["**Command line:** `-t INT`", "", "**Default:** `30`", "", "Workers silent for longer are killed."]
    (one,) = settings_in(lines, 1, len(lines), "Settings > `timeout`")
    assert (one.name, one.default) == ("timeout", "30")
    assert not [one for one in settings_in(lines, 1, len(lines), "Settings > OPTIONS") if one.name == "OPTIONS"]


def test_a_value_in_a_later_line_of_its_declaration_is_told_with_that_line(ferry: Codebase) -> None:
    rows = values_of(ferry, "What is the default log level?")
    (chain,) = [chain for row in rows for chain in row["chains"]]
    assert (chain["name"], chain["value"]) == ("loglevel", "'INFO'")
    assert [(step["line"], step["text"]) for step in chain["steps"]] == [
        (3, "'--loglevel',"),
        (4, "default='INFO',"),
    ]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How many pilots does it start by default?", ["3"]),
        ("How many pilots does the Zanzibar harbour start by default?", []),
    ],
)
def test_a_plain_name_is_no_answer_about_another_thing_that_the_question_names(
    ferry: Codebase, question: str, values: list[str]
) -> None:
    assert [chain["value"] for row in values_of(ferry, question) for chain in row["chains"]] == values


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("How long may a line be by default?", "count"),
        ("How long can a name get?", "count"),
        ("How long may a connection be idle?", "time"),
        ("How long may a connection be kept by default?", "time"),
    ],
)
def test_how_long_a_text_may_be_is_no_time(question: str, measure: str) -> None:
    assert [part.measure for part in value_parts(question)] == [measure]


@pytest.mark.parametrize(("value", "is_likely"), [("-1", False), ("0", True), ("1", True)])
def test_a_number_that_stands_for_nothing_is_not_how_many(value: str, is_likely: bool) -> None:
    (part,) = value_parts("How many lines are put before imports by default?")
    assert (likelihood("lines_before_imports", [value], part) > 0) == is_likely
