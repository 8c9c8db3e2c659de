"""A call in a process of its own: its value, its errors, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import (
    ProcessCallError,
    ProcessDiedError,
    ProcessKilledError,
    ProcessMemoryError,
    ProcessTimeoutError,
    RepositoryError,
)
from runtime.processes.worker_process import STDERR_KEPT_BYTES, WorkerProcess
from tests.runtime.processes.living import CALLED, WITHIN_S, is_running, until_gone


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    made = WorkerProcess(memory_bytes=512 * 2**20)
    yield made
    made.kill()


@pytest.mark.parametrize("value", [None, "text", b"\0", [1, {"a": (2.5, True)}], "\udc80", 2**70, {"x"}])
def test_plain_data_goes_there_and_back(worker: WorkerProcess, value: Any) -> None:
    assert worker.call(f"{CALLED}:echo", {"value": value}) == value


def test_one_process_serves_several_calls_and_is_not_ours(worker: WorkerProcess) -> None:
    pids = {worker.call(f"{CALLED}:process_id", {}) for _ in range(3)}
    assert [os.getpgid(pid) for pid in pids] == [worker.pid]
    assert os.getpid() not in {worker.pid, *pids}


def test_notes_arrive_in_order_before_the_value(worker: WorkerProcess) -> None:
    heard: list[int] = []
    assert worker.call(f"{CALLED}:note_each", {"count": 1000}, on_note=heard.append) == "done"
    assert heard == list(range(1000))


def test_large_values_arrive_whole(worker: WorkerProcess) -> None:
    value = os.urandom(5_000_000)
    assert worker.call(f"{CALLED}:echo", {"value": value}) == value


def test_an_error_of_ours_arrives_as_it_was_raised_and_the_process_goes_on(worker: WorkerProcess) -> None:
    with pytest.raises(RepositoryError, match="no folder at /x") as caught:
        worker.call(f"{CALLED}:refuse", {"path": "/x"})
    assert caught.value.values == {"path": "/x", "limit": 3}
    assert worker.call(f"{CALLED}:echo", {"value": 1}) == 1


def test_any_other_error_names_itself_and_its_place(worker: WorkerProcess) -> None:
    with pytest.raises(ProcessCallError, match="ZeroDivisionError: by nothing") as caught:
        worker.call(f"{CALLED}:fail", {})
    assert "def fail" in caught.value.values["traceback"] or "called.py" in caught.value.values["traceback"]
    assert worker.call(f"{CALLED}:echo", {"value": 1}) == 1


def test_what_is_no_plain_data_is_refused_by_the_caller(worker: WorkerProcess) -> None:
    with pytest.raises(ProcessCallError, match="is not plain data"):
        worker.call(f"{CALLED}:give_code", {})


def test_a_call_that_never_ends_is_killed_at_its_deadline(worker: WorkerProcess) -> None:
    began_s = time.monotonic()
    with pytest.raises(ProcessTimeoutError, match=r"took longer than 0\.5 s") as caught:
        worker.call(f"{CALLED}:spin", {}, timeout_s=0.5)
    assert caught.value.values == {"target": f"{CALLED}:spin", "timeout_s": 0.5}
    assert 0.5 <= time.monotonic() - began_s < WITHIN_S
    assert not worker.is_alive and until_gone([worker.pid]) == []


def test_a_call_without_time_is_killed_before_it_begins(worker: WorkerProcess) -> None:
    with pytest.raises(ProcessTimeoutError):
        worker.call(f"{CALLED}:echo", {"value": 1}, timeout_s=0)


def test_a_call_can_be_killed_from_another_thread(worker: WorkerProcess) -> None:
    with pytest.raises(ProcessKilledError, match="was called off"):
        worker.call(f"{CALLED}:spin", {}, on_note=lambda _: threading.Thread(target=worker.kill).start())
    assert until_gone([worker.pid]) == []


def test_an_exception_in_the_calling_thread_kills_the_process(worker: WorkerProcess) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.call(f"{CALLED}:spin", {}, on_note=interrupt)
    assert until_gone([worker.pid]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="descendants in other sessions are found through /proc")
def test_children_and_orphans_in_sessions_of_their_own_are_killed_too(worker: WorkerProcess) -> None:
    started: list[Any] = []

    def kill(pids: Any) -> None:
        started.append(pids)
        threading.Thread(target=worker.kill).start()

    with pytest.raises(ProcessKilledError):
        worker.call(f"{CALLED}:start_children", {}, on_note=kill)
    assert len(started[0]) == 3
    assert until_gone(started[0]) == []


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_process_that_dies_tells_how(worker: WorkerProcess, number: signal.Signals) -> None:
    with pytest.raises(ProcessDiedError, match=f"was ended by signal {int(number)} before") as caught:
        worker.call(f"{CALLED}:end", {"number": int(number)})
    assert caught.value.values["status"] == -number
    assert not worker.is_alive


def test_a_process_that_ends_by_itself_tells_what_it_wrote_last(worker: WorkerProcess) -> None:
    arguments = {"text": "Traceback:\nImportError: no \x1b[2Jmodule\n", "times": 1, "status": 1}
    with pytest.raises(
        ProcessDiedError, match=r"ended with status 1 .* it wrote: ImportError: no \ufffd\[2J"
    ) as caught:
        worker.call(f"{CALLED}:write_on_stderr", arguments)
    assert caught.value.values["stderr"].startswith("Traceback:\nImportError")


def test_of_what_a_process_wrote_only_the_end_is_kept(worker: WorkerProcess) -> None:
    with pytest.raises(ProcessDiedError) as caught:
        worker.call(f"{CALLED}:write_on_stderr", {"text": "x" * 50_000 + "end", "times": 20, "status": 3})
    assert len(caught.value.values["stderr"]) == STDERR_KEPT_BYTES
    assert caught.value.values["stderr"].endswith("xend")
    assert len(caught.value.message) < 500


def test_a_process_that_writes_much_on_standard_error_does_not_wait_for_a_reader(worker: WorkerProcess) -> None:
    arguments = {"text": "x" * 50_000, "times": 20, "status": None}
    assert worker.call(f"{CALLED}:write_on_stderr", arguments, timeout_s=WITHIN_S) == "done"


def test_a_process_that_closes_its_standard_error_goes_on(worker: WorkerProcess) -> None:
    assert worker.call(f"{CALLED}:close_stderr", {}) == "done"
    assert worker.call(f"{CALLED}:echo", {"value": 1}) == 1


def test_a_process_whose_parent_has_more_than_a_thousand_open_files_goes_on() -> None:
    with contextlib.ExitStack() as files:
        for _ in range(1100):
            files.enter_context(Path(os.devnull).open())
        worker = WorkerProcess()
        files.callback(worker.kill)
        assert worker.call(f"{CALLED}:note_each", {"count": 20_000}) == "done"
        assert not worker.has_ended


@pytest.mark.parametrize(
    ("function", "told"), [("refuse_with_lock", "cannot pickle"), ("leave", "SystemExit: not today")]
)
def test_what_cannot_be_sent_or_would_end_the_process_is_told_and_the_process_goes_on(
    worker: WorkerProcess, function: str, told: str
) -> None:
    with pytest.raises(ProcessCallError, match=told):
        worker.call(f"{CALLED}:{function}", {})
    assert worker.call(f"{CALLED}:echo", {"value": 1}) == 1


def test_a_process_that_died_between_calls_tells_so_at_the_next(worker: WorkerProcess) -> None:
    os.kill(worker.call(f"{CALLED}:process_id", {}), signal.SIGKILL)
    with pytest.raises(ProcessDiedError, match="signal 9"):
        worker.call(f"{CALLED}:echo", {"value": 1})


def test_a_call_that_needs_more_memory_than_allowed_fails_by_name(worker: WorkerProcess) -> None:
    assert worker.call(f"{CALLED}:fill_memory", {"size": 100 * 2**20}) == 100 * 2**20
    with pytest.raises(ProcessMemoryError, match="536870912 bytes") as caught:
        worker.call(f"{CALLED}:fill_memory", {"size": 600 * 2**20})
    assert caught.value.values["memory_bytes"] == 512 * 2**20
    assert not worker.is_alive


def test_killing_twice_does_nothing_more(worker: WorkerProcess) -> None:
    worker.kill()
    worker.kill()
    with pytest.raises(ProcessKilledError):
        worker.call(f"{CALLED}:echo", {"value": 1})


@pytest.mark.parametrize("how", ["os._exit(0)", "os.kill(os.getpid(), 9)", "sys.exit()"])
def test_a_process_dies_with_its_parent_in_the_middle_of_a_call(how: str) -> None:
    program = f"""
import os, sys
from runtime.processes.worker_process import STDERR_KEPT_BYTES, WorkerProcess
from tests.runtime.processes.living import CALLED, WITHIN_S, is_running, until_gone
def leave(pid):
    print(pid, flush=True)
    {how}
WorkerProcess().call({CALLED!r} + ":spin", {{}}, on_note=leave)
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=60, check=False)
    assert until_gone([int(done.stdout.split()[0])]) == []


def test_nothing_is_imported_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the repository ran')\n")
    monkeypatch.chdir(tmp_path)
    made = WorkerProcess()
    try:
        assert made.call(f"{CALLED}:echo", {"value": 1}) == 1
    finally:
        made.kill()


def test_a_slow_process_gives_way_to_others() -> None:
    worker, ours = WorkerProcess(slow_after_s=0.5), os.getpriority(os.PRIO_PROCESS, 0)
    seen = [ours]

    def look(pid: int) -> None:
        threading.Thread(target=watch, args=(pid,)).start()

    def watch(pid: int) -> None:
        while is_running(pid) and seen[-1] == ours:
            seen.append(os.getpriority(os.PRIO_PROCESS, pid))
        worker.kill()

    with pytest.raises(ProcessKilledError):
        worker.call(f"{CALLED}:spin", {}, timeout_s=WITHIN_S, on_note=look)
    assert worker.was_slowed
    assert seen[-1] > ours
