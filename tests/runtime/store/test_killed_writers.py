"""A writer that is killed in the middle of its commits: nothing that it was told was kept is lost, nothing is half."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.store.run_log import SqlRunLog
from tests.runtime.store import writer
from tests.runtime.store.conftest import Place

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]


def check(place: Place, said: list[int]) -> int:
    """Hold the log against what the writer was told; how many groups there are."""
    log = SqlRunLog(place.open())
    left, right = (log.events(run_id) for run_id in writer.RUNS)
    groups = len(left) // 2
    assert len(left) == len(right) == 2 * groups
    wanted = [entry.event for number in range(groups) for entry in writer.group(number)]
    assert left == [event for event in wanted if event.run_id == writer.RUNS[0]]
    assert right == [event for event in wanted if event.run_id == writer.RUNS[1]]
    assert [row.events for row in log.runs(9)] == ([2 * groups] * 2 if groups else [])
    if said:
        # One more may have been kept whose acceptance was not heard any more.
        assert said == list(range(said[0], said[-1] + 1))
        assert groups in (said[-1] + 1, said[-1] + 2)
    log.close()
    return groups


def test_nothing_accepted_is_lost_and_nothing_is_half_when_a_writer_is_killed_at_any_moment(place: Place) -> None:
    for accepted in (1, 7, 40):
        command = [sys.executable, "-m", "tests.runtime.store.writer", "0", *place.arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            said = [int(process.stdout.readline()) for _ in range(accepted)]
            process.send_signal(signal.SIGKILL)
            said += [int(line) for line in process.stdout.read().splitlines()]
        check(place, said)


def test_nothing_is_half_whichever_step_of_a_commit_a_writer_dies_at(place: Place) -> None:
    kept = 0
    for step in range(1, 12):
        command = [sys.executable, "-m", "tests.runtime.store.writer", str(step), *place.arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
        assert done.returncode == -signal.SIGKILL
        groups = check(place, [int(line) for line in done.stdout.splitlines()])
        # A commit takes five steps, and the fifth comes after it: then it was kept, though nobody heard of it.
        assert groups == kept + step // 5
        kept = groups
