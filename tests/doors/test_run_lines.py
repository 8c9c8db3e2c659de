"""The list of runs at a terminal and in a pipe: which run it was, told by what was asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from runtime.primitives.ids import RunId
from runtime.primitives.visible_text import visible_line
from runtime.run.envelope import Request
from runtime.store.event_rows import LARGE_BYTES
from runtime.store.run_log import Entry, SqliteRunLog
from runtime.supervision.events import Event, RunRequested
from serve.asked_runs import whole_questions
from serve.cli.output.run_lines import LEAST_CELLS, MOST_CELLS, RunLine, in_cells, run_lines

RUN = RunLine("r-1", 0, "code_analysis", "user:ann", "completed", "How does routing pick the next stage?")
HEAD = "r-1  1970-01-01 00:00:00  code_analysis  user:ann  completed"
HOSTILE = "\x1b[31m\x07\x9b2J\u202eevil\u2066\u2028\u200b\U000e0041\x7f[x](http://x)<b>"


def test_a_line_ends_with_the_question_and_begins_with_the_id() -> None:
    assert list(run_lines([RUN], None)) == [f"{HEAD}  {RUN.asked}"]
    assert list(run_lines([RUN._replace(session_id="tour")], None)) == [f"{HEAD}  [tour] {RUN.asked}"]
    assert list(run_lines([RUN._replace(asked="")], None)) == [HEAD]
    assert list(run_lines([], 80)) == []


def test_columns_are_as_wide_as_their_widest_value() -> None:
    other = RUN._replace(run_id="s-1234", pipeline="code_change")
    first, second = run_lines([RUN, other], None)
    assert first.index("1970") == second.index("1970")
    assert first.index("user:ann") == second.index("user:ann")


@pytest.mark.parametrize("width", [20, 40, 80, 110, 200])
def test_a_question_is_cut_to_the_terminal_or_has_a_line_of_its_own(width: int) -> None:
    asked = "How does routing pick the next stage, " * 20
    lines = list(run_lines([RUN._replace(asked=asked, session_id="tour")], width))
    assert "".join(lines).startswith(HEAD)
    assert lines[-1].endswith("…")
    assert len(lines) == (1 if width - len(HEAD) - 2 >= LEAST_CELLS else 2)
    assert len(lines[-1]) <= max(width, LEAST_CELLS + 4)
    (piped,) = run_lines([RUN._replace(asked=asked)], None)
    assert len(piped) <= len(HEAD) + 2 + MOST_CELLS


def test_a_question_cannot_forge_lines_or_steer_the_terminal() -> None:
    asked = f"What\n\r\n\tis {HOSTILE} this?"
    (line,) = run_lines([RUN._replace(asked=asked, session_id=f"s{HOSTILE}")], None)
    assert line == visible_line(line)
    assert "What is \\x1b[31m\\x07\\x9b2J\\u202eevil" in line
    for width in range(1, 120):
        for cut in run_lines([RUN._replace(asked=asked)], width):
            assert cut == visible_line(cut)


def test_characters_that_take_two_cells_are_counted_as_two() -> None:
    for cells in range(2, 12):
        assert cell_len(in_cells("路由如何选择下一个阶段", cells)) <= cells
    assert in_cells("路由", 4) == "路由"


def test_a_question_that_lies_beside_its_row_is_read_too_and_no_later_event(tmp_path: Path) -> None:
    log = SqliteRunLog(tmp_path / "runs.sqlite")
    texts = {RunId("r-short"): "short?", RunId("r-long"): "long " * LARGE_BYTES}
    for run_id, text in texts.items():
        log.append_all([Entry("p", Event(run_id, 1, 5, RunRequested(Request("p", text))))])
    assert whole_questions(log, [*texts, RunId("r-unknown")]) == texts
    assert [event.seq for event in log.events(RunId("r-long"), to_seq=1)] == [1]
    assert log.events(RunId("r-long"), to_seq=0) == []
    log.close()
