"""Commands that an operator named: both streams are kept, and a slow one is killed with its children."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.processes.named_commands import MAX_OUTPUT_BYTES, MAX_TOLD_CHARS, run_named


def test_both_streams_and_the_status_are_kept(tmp_path: Path) -> None:
    end = run_named(["sh", "-c", "echo out; echo err >&2; exit 3"], tmp_path, 10)
    assert (end.passed, end.status, end.output, end.is_late) == (False, 3, "out\nerr\n", False)
    assert end.told == "status 3; the end of its output: out\nerr\n"
    assert run_named(["pwd"], tmp_path, 10).output == f"{tmp_path}\n"


@pytest.mark.long
def test_a_command_beyond_its_time_is_killed_with_its_children(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    end = run_named(["sh", "-c", f"(sleep 2; touch {marker}) & sleep 60"], tmp_path, 0.3)
    assert (end.passed, end.status, end.is_late) == (False, None, True)
    assert end.told == "it took longer than 0.3 s and was killed"
    assert run_named(["sleep", "2.5"], tmp_path, 10).passed
    assert not marker.exists()


def test_the_end_of_a_long_output_is_told_without_what_moves_a_terminal(tmp_path: Path) -> None:
    end = run_named(["sh", "-c", r"printf 'x%.0s' $(seq 5000); printf '\033[31mend'"], tmp_path, 10)
    assert len(end.told) <= MAX_TOLD_CHARS + 60
    assert end.told.endswith("[31mend")
    assert "\x1b" not in end.told


def test_a_long_output_is_bounded_without_killing_the_command(tmp_path: Path) -> None:
    noise = "yes noise | head -c 10200000; echo FAILED tests/test_a.py::test_b; exit 1"
    end = run_named(["sh", "-c", noise], tmp_path, 60)
    assert (end.status, len(end.output)) == (1, MAX_OUTPUT_BYTES)
    assert end.told.endswith("noise\nFAILED tests/test_a.py::test_b\n")


def test_the_end_of_an_output_begins_with_a_line(tmp_path: Path) -> None:
    end = run_named(["sh", "-c", "seq 2000; echo last >&2; exit 1"], tmp_path, 60)
    lines = end.told.removeprefix("status 1; the end of its output: ").splitlines()
    assert lines[-1] == "last"
    assert lines[:-1] == [str(number) for number in range(int(lines[0]), 2001)]


def test_of_a_command_that_was_killed_the_end_of_the_output_is_told(tmp_path: Path) -> None:
    told = run_named(["sh", "-c", "echo test_that_hangs; sleep 60"], tmp_path, 0.5).told
    assert told == "it took longer than 0.5 s and was killed; the end of its output: test_that_hangs\n"


def test_a_program_that_is_missing_has_no_output_of_its_own(tmp_path: Path) -> None:
    assert run_named(["no-such-program-here"], tmp_path, 10).status == 127
    assert run_named(["true"], tmp_path / "gone", 10).told.startswith("it cannot be run: ")
