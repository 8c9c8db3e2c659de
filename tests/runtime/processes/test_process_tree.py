"""Processes that end in the middle of killing a tree of others: no process of the tree is left stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.processes.living import numbers_in, until_gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")

# Each shell notes its number and starts the next one, in a session of its own: the kill takes one look at a time.
CHAIN = 'echo $$ >> "$1"; [ "$2" -eq 0 ] && exec sleep 600; setsid sh "$0" "$1" $(($2 - 1)) & wait'
DEPTH = 12
START = """
import os, subprocess, sys, threading
from pathlib import Path
from runtime.processes.process_tree import finish_kills_at_exit, kill_tree
from serve.cli.process_end import end_now

script, notes, depth = sys.argv[1:]
child = subprocess.Popen(["sh", script, notes, depth], start_new_session=True)
while not Path(notes).exists() or len(Path(notes).read_text().splitlines()) <= int(depth):
    os.sched_yield()
threading.Thread(target=kill_tree, args=(child.pid,), daemon=True).start()
while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "TZ":
    pass
"""


@pytest.mark.parametrize("end", ["finish_kills_at_exit()", "end_now(0, 'work did not stop')"])
def test_a_command_that_ends_while_it_kills_leaves_nothing_stopped(tmp_path: Path, end: str) -> None:
    (tmp_path / "chain").write_text(CHAIN)
    notes = tmp_path / "numbers"
    command = [sys.executable, "-c", START + end, str(tmp_path / "chain"), str(notes), str(DEPTH)]
    subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    left = until_gone(numbers_in(notes, DEPTH + 1))  # what stays stopped does so for ever
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []
