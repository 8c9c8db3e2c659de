"""Works off a batch on a persistent work queue, which other processes may share.

Each line is answered and written to OUT before its task is completed, so no kill loses one; OUT accepts each id once,
so a line that is processed twice, after a kill or a lost lease, appears once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from runtime.errors import OverloadedError
from runtime.pipeline.run_terms import RunMode
from runtime.primitives.clock import Clock, SystemClock
from runtime.queues.work_queue import WorkQueue
from runtime.queues.work_table import Task, WorkerId
from serve.answer_document import DOCUMENT_SCHEMA_VERSION
from serve.batch.members import Members
from serve.batch.output_file import BatchFile, has_failed
from serve.batch.queue_workers import QueueWorkers, error_in

QUEUE_PREFIX = "batch-"
IDLE_S = 0.5
RETRY_WHEN_OVERLOADED_S = 10.0


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents one line of the input; `repo` is a folder, relative to `--repo-root` unless absolute.

    `run_mode`: how the pipeline runs for this line; None: as it is configured.
    """

    id: str
    question: str
    repo: str
    run_mode: RunMode | None = None


def queue_name(content: bytes, *about: str) -> str:
    """Return the queue name of a batch, derived from the input's content and from `about`, such as absolute paths."""
    digest = hashlib.sha256(msgspec.json.encode([hashlib.sha256(content).hexdigest(), *about]))
    return f"{QUEUE_PREFIX}{digest.hexdigest()[:24]}"


async def work_off(
    queue: WorkQueue,
    name: str,
    members: Members,
    out: BatchFile,
    lines: Sequence[Line],
    workers: int,
    answer: Callable[[Line], Awaitable[dict[str, Any]]],
    advance: Callable[[], None],
    clock: Clock | None = None,
) -> int:
    """Return when every line is in OUT, whichever process wrote it; the result counts those answered here.

    Tasks leased by killed processes of this machine return at once. Raises what writing OUT raises.
    """
    time, told = clock or SystemClock(), _Told(out, advance)

    async def handle(payload: bytes) -> dict[str, Any] | None:
        return None if told.has_ended(payload) else await _when_there_is_room(time, answer, _line_in(payload))

    async def take_from_the_dead() -> None:
        for dead in members.of_the_dead():
            for worker in dead:
                await queue.deregister_worker(WorkerId(worker))

    members.join(workers)
    try:
        await take_from_the_dead()
        shared = QueueWorkers(
            queue,
            name,
            time,
            handle,
            told.on_done,
            told.on_dead,
            idle_s=IDLE_S,
            key_of=lambda payload: _line_in(payload).id,
            has_ended=told.has_ended,
            worker_names=members.workers(),
            on_idle=take_from_the_dead,
        )
        await shared.work_off([msgspec.json.encode(line) for line in lines], workers)
    finally:
        members.leave()
    return told.answered


class _Told:
    """Records outcomes in OUT; `answered` counts the lines that this process answered."""

    def __init__(self, out: BatchFile, advance: Callable[[], None]) -> None:
        self._out = out
        self._advance = advance
        self.answered = 0

    def has_ended(self, payload: bytes) -> bool:
        self._out.look()
        return self._out.has(_line_in(payload).id)

    def on_done(self, _payload: bytes, document: dict[str, Any] | None) -> None:
        if document is not None:
            self._write(document)

    def on_dead(self, task: Task) -> None:
        line = _line_in(task.payload)
        problem = {"id": line.id, "question": line.question, "error": error_in(task)}
        self._write({"schema_version": DOCUMENT_SCHEMA_VERSION, **problem})

    def _write(self, document: dict[str, Any]) -> None:
        if self._out.add(document):
            self.answered += not has_failed(document)
            self._advance()


async def _when_there_is_room(
    clock: Clock, answer: Callable[[Line], Awaitable[dict[str, Any]]], line: Line
) -> dict[str, Any]:
    """Return the answer, waiting as long as the system is overloaded: that is not a failure of the line."""
    while True:
        try:
            return await answer(line)
        except OverloadedError as error:
            await clock.sleep(float(error.values.get("retry_after_s", RETRY_WHEN_OVERLOADED_S)))


def _line_in(payload: bytes) -> Line:
    return msgspec.json.decode(payload, type=Line)
