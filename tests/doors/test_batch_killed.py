"""A batch that is killed at any moment and gone on with, by one process or several: each line is in OUT once."""

from __future__ import annotations

import asyncio
import fcntl
import json
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import OverloadedError
from runtime.primitives.clock import FakeClock, SystemClock
from runtime.queues.work_queue import MemoryWorkQueue
from runtime.store.opening import open_store
from runtime.store.options import StoreOptions
from runtime.store.sql_work_queue import WORK_QUEUES
from serve.batch.members import Members
from serve.batch.output_file import BatchFile
from serve.batch.shared_work import Line, queue_name, work_off
from tests.doors.batch_worker import MOMENTS
from tests.doors.program import wait_until
from tests.examples import long_but

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
LINES = 12


class Shift:
    """A batch of `count` lines, and the processes that work on it one after the other or at once."""

    def __init__(self, folder: Path, count: int = LINES) -> None:
        self.folder = folder
        self.source, self.out, self.calls = (folder / name for name in ("in.jsonl", "out.jsonl", "calls"))
        self.ids = [f"q{number}" for number in range(count)]
        lines = [{"id": name, "question": f"{name} wörds?", "repo": "r"} for name in self.ids]
        self.source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        self.calls.touch()

    def start(self, *when: object, workers: int = 2) -> subprocess.Popen[str]:
        arguments = [self.folder / "state", self.source, self.out, workers, self.calls, *when]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.doors.batch_worker", *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ends(self, process: subprocess.Popen[str], timeout_s: float = 60) -> int:
        """How many lines a process answered; -1 when it was killed."""
        out, err = process.communicate(timeout=timeout_s)
        if process.returncode == -signal.SIGKILL:
            return -1
        assert (process.returncode, err) == (0, ""), err
        return int(out)

    @property
    def whole_lines(self) -> list[bytes]:
        found = self.out.read_bytes() if self.out.exists() else b""
        return [line for line in found.splitlines(keepends=True) if line.endswith(b"\n")]

    def answered_calls(self) -> Counter[str]:
        """How often each line was worked on."""
        return Counter(line.split()[0] for line in self.calls.read_text(encoding="utf-8").splitlines())

    def check_everything_is_answered_once(self) -> None:
        documents = [json.loads(line) for line in self.whole_lines]
        assert sorted(document["id"] for document in documents) == sorted(self.ids)
        assert {document["answer"] for document in documents} == {f"{name} wörds?" for name in self.ids}
        assert self.out.read_bytes() == b"".join(self.whole_lines)

    def stop(self, process: subprocess.Popen[str]) -> None:
        """Stop a process at a moment when it holds neither the queue nor OUT: everybody would have to wait for it."""
        for _ in range(200):
            process.send_signal(signal.SIGSTOP)
            wait_until(lambda: "T" in Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").split(") ")[1][:1])
            if self._is_free:
                return
            process.send_signal(signal.SIGCONT)
        raise AssertionError("it never lets go")

    @property
    def _is_free(self) -> bool:
        """True when somebody else may write to every database of the store, and to OUT."""
        with self.out.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        for path in (self.folder / "state").rglob("*.sqlite"):
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as database:
                try:
                    database.execute("BEGIN IMMEDIATE")
                    database.execute("ROLLBACK")
                except sqlite3.OperationalError:
                    return False
        return True

    def pending_tasks(self) -> int:
        stores = open_store(StoreOptions(str(self.folder / "state")), SystemClock())
        table = stores.part(WORK_QUEUES)._table
        stats = [table.stats(queue) for queue in table.queues()]
        stores.close()
        return sum(of.ready + of.leased + of.delayed for of in stats)


@pytest.mark.parametrize("nth", [1, *(pytest.param(nth, marks=pytest.mark.long) for nth in (2, LINES - 1)), LINES])
@pytest.mark.parametrize("moment", long_but(MOMENTS, 0, 2))
def test_a_batch_that_was_killed_goes_on_where_it_was(tmp_path: Path, moment: str, nth: int) -> None:
    shift = Shift(tmp_path)
    assert shift.ends(shift.start(moment, nth)) == -1
    kept, calls = shift.whole_lines, shift.answered_calls()
    finished = {json.loads(line)["id"] for line in kept}
    assert shift.ends(shift.start()) == LINES - len(kept)
    shift.check_everything_is_answered_once()
    assert shift.whole_lines[: len(kept)] == kept
    again = shift.answered_calls() - calls
    assert {name for name in again if name in finished} == set(), "a finished line was repeated"
    assert max(again.values(), default=0) <= 1
    if len(kept) < LINES:  # else nobody looked into the queue again: what is left there is old, and goes with `gc`
        assert shift.pending_tasks() == 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_a_batch_that_is_killed_again_and_again_ends_with_every_line_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    shift = Shift(tmp_path, 20)
    for _ in range(4):
        kept = shift.whole_lines
        shift.ends(shift.start(chance.choice(MOMENTS), chance.randint(1, 8), workers=chance.randint(1, 4)))
        assert shift.whole_lines[: len(kept)] == kept
    shift.ends(shift.start())
    shift.check_everything_is_answered_once()


def test_two_processes_share_a_batch_and_no_line_is_worked_on_twice(tmp_path: Path) -> None:
    shift = Shift(tmp_path, 150)
    both = [shift.start(), shift.start()]
    answered = [shift.ends(process) for process in both]
    assert sum(answered) == 150
    shift.check_everything_is_answered_once()
    assert set(shift.answered_calls().values()) == {1}


@pytest.mark.parametrize("moment", long_but(MOMENTS, 1, 3))
def test_of_two_processes_one_may_die_and_the_other_ends_what_is_left(tmp_path: Path, moment: str) -> None:
    shift = Shift(tmp_path, 60)
    dying, living = shift.start(moment, 5), shift.start()
    told = shift.ends(dying), shift.ends(living, 90)
    assert told[1] >= 0
    shift.check_everything_is_answered_once()


def test_a_process_that_was_stopped_and_wakes_up_adds_no_line_twice(tmp_path: Path) -> None:
    shift = Shift(tmp_path, 200)
    stopped = shift.start()
    wait_until(lambda: len(shift.whole_lines) >= 5)
    shift.stop(stopped)
    other = shift.start()
    wait_until(lambda: len(shift.whole_lines) >= 150)
    stopped.send_signal(signal.SIGCONT)
    assert shift.ends(stopped) + shift.ends(other) == 200
    shift.check_everything_is_answered_once()


# --- the file


def document(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "terminal_reason": "completed", "citations": [], **fields}


def test_what_another_writer_has_is_not_written_again(tmp_path: Path) -> None:
    one, other = BatchFile(tmp_path / "out"), BatchFile(tmp_path / "out")
    one.begin()
    other.go_on()
    assert (one.add(document("a")), other.add(document("a")), other.add(document("b"))) == (True, False, True)
    assert (one.has("b"), one.add(document("b")), one.has("b")) == (False, False, True)
    assert (tmp_path / "out").read_bytes().count(b"\n") == 2


def test_a_writer_goes_on_in_the_file_that_another_one_put_in_its_place(tmp_path: Path) -> None:
    one, other = BatchFile(tmp_path / "out"), BatchFile(tmp_path / "out")
    one.begin()
    one.add(document("a"))
    one.add({"id": "b", "error": {}})
    assert one.failed() == {"b"}
    other.go_on()
    assert not other.has("b")
    assert one.add(document("b"))
    other.look()
    assert (other.failed(), other.has("a"), other.has("b")) == (set(), True, True)


def test_a_line_that_was_cut_off_is_taken_away_by_the_next_writer(tmp_path: Path) -> None:
    one, other = BatchFile(tmp_path / "out"), BatchFile(tmp_path / "out")
    one.begin()
    one.add(document("a"))
    other.go_on()
    with (tmp_path / "out").open("ab") as file:
        file.write(b'{"id": "b", "termin')
    assert other.add(document("c"))
    assert [json.loads(line)["id"] for line in (tmp_path / "out").read_bytes().splitlines()] == ["a", "c"]


def test_a_file_without_failures_is_left_as_it_is(tmp_path: Path) -> None:
    one = BatchFile(tmp_path / "out")
    one.begin()
    one.add(document("a"))
    before = (tmp_path / "out").stat()
    BatchFile(tmp_path / "out").go_on()
    after = (tmp_path / "out").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


# --- queues and members


def test_batches_that_differ_in_anything_have_queues_of_their_own() -> None:
    names = {
        queue_name(b"one", "/in", "/out"),
        queue_name(b"two", "/in", "/out"),
        queue_name(b"one", "/other", "/out"),
        queue_name(b"one", "/in", "/other"),
        queue_name(b"one", "/in/out", ""),
    }
    assert len(names) == 5
    assert queue_name(b"one", "/in", "/out") in names


def test_only_members_whose_process_is_gone_are_told_as_dead(tmp_path: Path) -> None:
    alive, looking = Members(tmp_path, "b"), Members(tmp_path, "b")
    alive.join(3)
    looking.join(1)
    assert list(looking.of_the_dead()) == []
    code = (
        "import os, sys; from pathlib import Path; from serve.batch.members import Members;"
        " gone = Members(Path(sys.argv[1]), 'b'); gone.join(2); print(gone.name, flush=True); os._exit(9)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    name = done.stdout.strip()
    assert list(looking.of_the_dead()) == [[f"{name}-0", f"{name}-1"]]
    assert list(looking.of_the_dead()) == []
    alive.leave()
    assert list(looking.of_the_dead()) == []
    looking.leave()
    assert list(tmp_path.iterdir()) == []


# --- a system that has no room


async def test_a_line_that_meets_a_full_system_waits_and_is_no_failure(tmp_path: Path) -> None:
    clock = FakeClock()
    refusals = [3, 11, 2, 7, 1]

    async def answer(line: Line) -> dict[str, Any]:
        if refusals:
            raise OverloadedError("full", retry_after_s=refusals.pop())
        return document(line.id)

    out = BatchFile(tmp_path / "out")
    out.begin()
    members = Members(tmp_path, "b")
    queue = MemoryWorkQueue(clock)
    working = asyncio.create_task(
        work_off(queue, "b", members, out, [Line("a", "?", "r")], 1, answer, lambda: None, clock)
    )
    waited_s = 0
    while not working.done():
        for _ in range(20):
            await asyncio.sleep(0)
        if not working.done():
            await clock.advance(1)
            waited_s += 1
    assert await working == 1
    assert (refusals, out.has("a"), out.failed()) == ([], True, set())
    assert waited_s in (24, 25)
