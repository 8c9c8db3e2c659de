"""After which definition a place is named, of which only a part is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

FILLER = "\n".join(f"  var spare{number} = prepare({number})" for number in range(40))
METRICS = f"""\
module.exports = function create() {{
{FILLER}

  /**
   * Tells how busy the processor was between two snapshots.
   */
  function busyShare() {{
    var idle = processor.idle - before.idle
    if (idle < 0) {{
      throw new Error('the processor went backwards')
    }}
    return 1 - idle / processor.total
  }}

  /**
   * Tells how much memory the machine has left.
   */
  function memoryLeft() {{
    return machine.memory - machine.used
  }}

  return {{ busyShare: busyShare, memoryLeft: memoryLeft }}
}}
"""

Located = Callable[[str], dict[str, Any]]


@pytest.fixture
def located(root: Path, index_path: Path) -> Located:
    write_files(root, {"lib/metrics.js": METRICS, "lib/other.js": "exports.go = function () {\n  return 1\n}\n"})
    refresh(root, index_path)
    codebase = Codebase.open(root, index_path)

    def first(question: str) -> dict[str, Any]:
        rows: list[dict[str, Any]] = locate(codebase, question).data["results"]
        return next(row for row in rows if "excerpt" in row and row["file"] == "lib/metrics.js")

    return first


def test_a_place_is_named_after_the_inner_definition_that_holds_what_is_shown(located: Located) -> None:
    row = located("What is thrown when the processor went backwards, idle below zero?")
    assert row["symbol"].endswith("busyShare")
    assert row["kind"] == "function"
    assert row["signature"].startswith("function busyShare")
    assert row["start_line"] < row["excerpt"]["shown_start"]


def test_what_is_said_of_an_inner_definition_is_never_said_of_the_outer_one(located: Located) -> None:
    for question in (
        "How busy is the processor between two snapshots?",
        "How much memory is left, and how busy is it?",
    ):
        row = located(question)
        said = row["excerpt"].get("said")
        inner = row["symbol"].rpartition(".")[2]
        assert said is None or {"busyShare": "busy", "memoryLeft": "memory"}.get(inner, "nothing") in said["text"]


def test_a_place_whose_shown_lines_lie_in_several_definitions_keeps_its_name(located: Located) -> None:
    row = located("Where are spare parts prepared by number, and what is exported?")
    assert "busyShare" not in row["symbol"]
    assert "memoryLeft" not in row["symbol"]


def test_the_words_of_a_question_that_a_place_has_are_known_beyond_what_is_shown(located: Located) -> None:
    excerpt = located("Is there a parcel that the metrics create where the processor went backwards?")["excerpt"]
    assert set(excerpt["has"]) == {"metric", "creat", "process", "went", "backward"}
    assert "create" not in excerpt["text"]
