"""Commands whose work does not stop: they end with their own status, in seconds, and name what was left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.timeout(60)

START = """
import asyncio, sys, threading, time
from serve.cli.process_end import leave, run_to_end

async def swallow():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

async def answered(*started):
    print("answer", flush=True)
    return 3

"""
SWALLOWS = """
async def main():
    task = asyncio.create_task(swallow(), name="stage 'a'")
    await asyncio.sleep(0)
    return await answered()
"""
STUCK_THREAD = """
async def main():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
    return await answered()
"""
STOPS = """
async def main():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.1)
    return await answered()
"""
BLOCKS = """
async def main():
    print("answer", flush=True)
    while True:
        time.sleep(600)
"""


def started(
    main: str, end: str = "status = run_to_end(main()); leave(status); sys.exit(status)"
) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START + main + end]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.long
@pytest.mark.parametrize(("main", "left"), [(SWALLOWS, "stage 'a'"), (STUCK_THREAD, "the thread jeeves-work_0")])
def test_a_command_ends_with_its_status_although_its_work_does_not(main: str, left: str) -> None:
    process = started(main)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (3, "answer\n")
    assert err == f"jeeves: {left} did not stop within 5 s; ended without waiting for it\n"


def test_a_command_waits_for_work_that_stops_in_time() -> None:
    process = started(STOPS)
    assert (*process.communicate(timeout=30), process.returncode) == ("answer\n", "", 3)


@pytest.mark.long
def test_an_interrupted_command_ends_although_a_stage_blocks_the_event_loop() -> None:
    process = started(BLOCKS)
    assert process.stdout is not None
    assert process.stdout.readline() == "answer\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.startswith("jeeves: a stage has blocked the event loop for 5 s after the command was interrupted")


@pytest.mark.long
def test_a_command_past_its_deadline_ends_although_a_stage_blocks_the_event_loop() -> None:
    began_s = time.monotonic()
    process = started(BLOCKS, "run_to_end(main(), deadline_s=1.0)")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.startswith("jeeves: a stage has blocked the event loop for 5 s after the deadline of 1 s")
    assert time.monotonic() - began_s >= 6
