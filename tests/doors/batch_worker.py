"""A batch with answers from a script, that kills itself at a given moment.

    python -m tests.doors.batch_worker STATE_DIR IN OUT WORKERS CALLS [MOMENT NTH]

Each answer that is given adds a line to the file CALLS: id and process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from runtime.primitives.clock import SystemClock
from runtime.queues.work_table import LeaseId, TaskId
from runtime.store.opening import open_database
from runtime.store.options import StoreOptions
from runtime.store.sql_work_queue import SqlWorkQueue
from serve.batch.members import Members
from serve.batch.output_file import BatchFile
from serve.batch.shared_work import Line, queue_name, work_off
from serve.cli.commands.batch import read_lines

MOMENTS = ("giving", "answering", "half written", "written", "done with")


class Fate:
    """When this process dies: at the `nth` time that it comes to `moment`."""

    def __init__(self, moment: str = "", nth: int = 0) -> None:
        self._moment = moment
        self._left = nth

    def has_come(self, moment: str) -> bool:
        self._left -= moment == self._moment
        return moment == self._moment and self._left == 0

    def meets(self, moment: str) -> None:
        if self.has_come(moment):
            die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class MortalQueue(SqlWorkQueue):
    """A queue whose user may die right after a call."""

    def __init__(self, state_dir: Path, fate: Fate) -> None:
        options = StoreOptions(str(state_dir), durability="normal")
        super().__init__(open_database(options, "queues", "work queues"), SystemClock())
        self._fate = fate

    async def enqueue_task(self, *args: Any, **options: Any) -> TaskId:
        task_id = await super().enqueue_task(*args, **options)
        self._fate.meets("giving")
        return task_id

    async def complete_task(self, lease: LeaseId) -> None:
        await super().complete_task(lease)
        self._fate.meets("done with")


class MortalFile(BatchFile):
    """A file whose writer may die in the middle of a line, or right after it."""

    def __init__(self, path: Path, fate: Fate) -> None:
        super().__init__(path)
        self._fate = fate

    def add(self, document: dict[str, Any]) -> bool:
        if self._fate.has_come("half written"):
            with self.path.open("ab") as file:
                file.write(b'{"schema_version": 1, "id": "' + str(document["id"]).encode())
            die()
        is_new = super().add(document)
        self._fate.meets("written")
        return is_new


async def main(state_dir: Path, source: Path, out: Path, workers: int, calls: Path, fate: Fate) -> None:
    """What `jeeves batch --resume` does."""
    lines, content = read_lines(source)
    file = MortalFile(out, fate)
    file.go_on()

    async def answer(line: Line) -> dict[str, Any]:
        with calls.open("a", encoding="utf-8") as told:
            told.write(f"{line.id} {os.getpid()}\n")
        await asyncio.sleep(0.002)
        fate.meets("answering")
        return {"id": line.id, "terminal_reason": "completed", "citations": [], "answer": line.question}

    name = queue_name(content, str(source), str(out))
    todo = [line for line in lines if not file.has(line.id)]
    members = Members(state_dir / "batch", name)
    answered = await work_off(MortalQueue(state_dir, fate), name, members, file, todo, workers, answer, lambda: None)
    sys.stdout.write(f"{answered}\n")


if __name__ == "__main__":
    folder, source, out, workers, calls, *when = sys.argv[1:]
    fate = Fate(when[0], int(when[1])) if when else Fate()
    asyncio.run(main(Path(folder), Path(source), Path(out), int(workers), Path(calls), fate))
