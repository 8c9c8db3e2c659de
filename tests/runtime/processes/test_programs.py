"""Programs that are run: bounded in time and output, and killed with their children when their call is called off."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from runtime.codebase.search import ripgrep
from runtime.errors import CalledOffError
from runtime.processes.call_scope import CallScope, check_called_off, run_in
from runtime.processes.programs import Finished, program_folders, run_program
from tests.runtime.processes.living import has_noted, numbers_in, until_gone

FAMILY = 'trap "" TERM; setsid sleep 600 & echo $! >> "$0"; sleep 600 & echo $! >> "$0"; echo $$ >> "$0"; wait'
"""A shell that ignores SIGTERM, with a child in its group and one in a session of its own; they note their numbers."""


def run(*command: str, timeout_s: float = 30.0, max_output_bytes: int = 1_000) -> Finished:
    return run_program(command, cwd=Path("/"), timeout_s=timeout_s, max_output_bytes=max_output_bytes)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin"),
        (":/bin:.:bin::./bin:../bin:/bin", "/bin:/bin"),
        ("", ""),
        ("bin", ""),
    ],
)
def test_programs_are_looked_for_in_absolute_folders_alone(
    path: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path)
    assert program_folders() == kept


def test_no_program_of_the_current_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "rg").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path, found in ((":.:bin", None), (f"bin:{tmp_path}/bin", f"{tmp_path}/bin/rg")):
        monkeypatch.setenv("PATH", path)
        ripgrep.program.cache_clear()
        try:
            assert ripgrep.program() == found
        finally:
            ripgrep.program.cache_clear()


def test_a_program_gives_its_output_and_status() -> None:
    assert run("sh", "-c", "echo told; exit 3") == (b"told\n", 3, False)


@pytest.mark.parametrize(("limit", "got"), [(3, b"tol"), (4, b"told"), (5, b"told")])
def test_output_is_cut_at_its_limit(limit: int, got: bytes) -> None:
    assert run("printf", "told", max_output_bytes=limit).output == got


@pytest.mark.long
def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    for timeout_s in (1.0, 4.0, 16.0):
        notes = tmp_path / f"numbers within {timeout_s:g} s"
        finished = run("sh", "-c", FAMILY, str(notes), timeout_s=timeout_s)
        assert (finished.is_late, finished.status) == (True, -signal.SIGKILL)
        if has_noted(notes, 3):
            break
    assert until_gone(numbers_in(notes, 3), 1.0) == []


def test_a_program_whose_call_is_called_off_is_killed_with_its_children(tmp_path: Path) -> None:
    notes, scope = tmp_path / "numbers", CallScope()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            run_in(scope, lambda: run("sh", "-c", FAMILY, str(notes)))
        except CalledOffError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    numbers = numbers_in(notes, 3)
    scope.call_off()
    assert until_gone(numbers, 1.0) == []
    thread.join(5)
    assert [type(error) for error in raised] == [CalledOffError]


LEFT_BEHIND = "setsid sh -c \"echo \\$\\$ >> '$0'; sleep 600\" & echo told; exit 3"
"""A shell that ends and leaves a process in a session of its own, which has its output open."""


@pytest.mark.parametrize("keeps_end", [False, True])
def test_a_program_is_not_waited_for_longer_because_something_it_left_behind_has_its_output_open(
    keeps_end: bool, tmp_path: Path
) -> None:
    notes, began_s = tmp_path / "numbers", time.monotonic()
    command = ("sh", "-c", LEFT_BEHIND, str(notes))
    finished = run_program(command, cwd=Path("/"), timeout_s=1.0, max_output_bytes=1_000, keeps_end=keeps_end)
    for pid in numbers_in(notes, 1):
        os.killpg(pid, signal.SIGKILL)
    assert (finished.output, finished.is_late) == (b"told\n", True)
    assert time.monotonic() - began_s < 60


def test_a_call_that_is_called_off_ends_although_something_has_the_output_of_its_program_open(tmp_path: Path) -> None:
    notes, scope = tmp_path / "numbers", CallScope()
    thread = threading.Thread(target=lambda: _ends_called_off(scope, notes))
    thread.start()
    left = numbers_in(notes, 1)
    scope.call_off()
    thread.join(20)
    for pid in left:
        os.killpg(pid, signal.SIGKILL)
    assert not thread.is_alive()


def _ends_called_off(scope: CallScope, notes: Path) -> None:
    with pytest.raises(CalledOffError):
        run_in(scope, lambda: run("sh", "-c", LEFT_BEHIND, str(notes)))


def test_no_program_is_started_once_a_call_is_called_off() -> None:
    scope = CallScope()
    began_s = time.monotonic()

    def work() -> None:
        scope.call_off()
        run("sleep", "600")

    with pytest.raises(CalledOffError):
        run_in(scope, work)
    assert time.monotonic() - began_s < 30


async def test_work_in_a_thread_ends_at_its_next_check_and_no_other_work_does() -> None:
    scope, reached = CallScope(), threading.Event()

    def loop() -> None:
        while True:
            check_called_off()
            reached.set()

    working = asyncio.ensure_future(asyncio.to_thread(run_in, scope, loop))
    await asyncio.to_thread(reached.wait, 10)
    scope.forbid()
    with pytest.raises(CalledOffError):
        await asyncio.wait_for(working, 10)
    check_called_off()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_program_dies_with_its_parent_although_that_was_killed(tmp_path: Path) -> None:
    notes = tmp_path / "numbers"
    script = f"echo $$ >> '{notes}'; exec sleep 600"
    start = (
        "from pathlib import Path; from runtime.processes.programs import run_program\n"
        f"run_program(['sh', '-c', {script!r}], cwd=Path('/'), timeout_s=600, max_output_bytes=9)"
    )
    parent = subprocess.Popen([sys.executable, "-c", start])
    numbers = numbers_in(notes, 1)
    parent.kill()
    parent.wait()
    assert until_gone(numbers, 1.0) == []
