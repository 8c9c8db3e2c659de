"""Defines what the library needs of what drives runs: this process, a warm system, or a service."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple, Protocol

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.supervision.commands import ClientEvent
from serve.asked_runs import AskedRun


class Asked(msgspec.Struct, frozen=True):
    """Holds a question with its options, as the methods of `Jeeves` take them.

    `repo`: a folder, or for a service the name of a registered repository; None: the current folder, or the service's
    first repository. `wait`: the run waits if it raises a question. `limits` may only lower the pipeline's bounds.
    `outputs`: the ends of stages come with their outputs, see `Backend.events`.
    """

    question: str
    repo: str | None = None
    session: str | None = None
    pipeline: str | None = None
    mode: str | None = None
    limits: dict[str, int] = {}
    deadline_s: float | None = None
    wait: bool = False
    run_mode: str | None = None
    outputs: bool = False


class Started(NamedTuple):
    """Identifies a run that was accepted, with its events from the first one."""

    run_id: RunId
    events: AsyncGenerator[ClientEvent, None]


class Backend(Protocol):
    """Drives runs. Methods raise errors of `runtime.errors`, the same class for the same fault in each backend."""

    async def start(self, asked: Asked, key: str | None) -> Started:
        """Start a run, or find the one that the same question started with this key."""

    def events(self, run_id: RunId, after_seq: int = 0, outputs: bool = False) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events of a run from `after_seq` (exclusive) to its end, each number once and without a gap.

        Texts that are being written are not numbered, and may come between. With `outputs`, those of finished stages
        have `output` in their data or, if it is large, `output_bytes`.
        """

    async def stage_output(self, run_id: RunId, seq: int) -> dict[str, Any]:
        """Return the output of the stage whose end is that event of a run. Raises UnknownNameError if it has none."""

    async def document(self, run_id: RunId) -> dict[str, Any]:
        """Return the answer document of a run that is over or waits. Raises RunStateError for one that is running."""

    async def cancel(self, run_id: RunId, reason: str) -> dict[str, Any]:
        """End a run and return its document."""

    async def pause(self, run_id: RunId, reason: str) -> dict[str, Any]:
        """Pause a run at its next step and return its document."""

    async def answer(self, run_id: RunId, interrupt_id: str | None, response: InterruptResponse) -> None:
        """Answer the question that a run waits for, by default the open one; an empty answer resumes a paused run."""

    async def runs(self, limit: int, principal: str | None) -> list[AskedRun]:
        """Return the newest runs, newest first: those of the caller, of another `principal`, or of `all`.

        Raises NotPermittedError for runs that the caller may not see, and InputError for what is no principal.
        """

    async def sessions(self, limit: int) -> list[dict[str, Any]]:
        """Return the newest sessions of the caller."""

    async def session(self, session_id: str, limit: int) -> dict[str, Any]:
        """Return the newest turns of a session of the caller. Raises UnknownNameError."""

    async def delete_session(self, session_id: str) -> dict[str, Any]:
        """Delete a session of the caller. Raises UnknownNameError, and RunStateError while a run of it is under way."""

    async def close(self) -> None:
        """Release what the backend holds; what it has started in this process ends."""
