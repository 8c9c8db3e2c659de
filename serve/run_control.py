"""Lets a person cancel, pause and answer runs, on any host that drives them.

Hosts silently ignore late and duplicate requests, as messages may arrive twice. A person gets an error instead: every
function here raises UnknownNameError for an unknown run, NotPermittedError for a run that `user_id` may not control,
and RunStateError for a run that is not in a suitable state.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Protocol

from runtime.errors import InputError, InterruptError, NotPermittedError, RunStateError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Interrupt, InterruptResponse
from runtime.run.interrupts import missing_from_response
from runtime.run.principal import may_control
from runtime.supervision.commands import ClientEvent


class Runs(Protocol):
    """Drives runs: a system of actors."""

    def envelope(self, run_id: RunId) -> Awaitable[Envelope]:
        """Return the current envelope of a run."""

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncIterator[ClientEvent]:
        """Yield the events of a run to its end."""

    async def cancel(self, run_id: RunId, reason: str) -> None:
        """End a run now."""

    async def pause(self, run_id: RunId, reason: str) -> None:
        """Pause a run at its next step."""

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        """Answer the question of a run."""


async def permitted_run(runs: Runs, run_id: RunId, user_id: str) -> Envelope:
    """Return the envelope of a run that `user_id` may see and control."""
    envelope = await runs.envelope(run_id)
    check_permitted(envelope, user_id)
    return envelope


def check_permitted(envelope: Envelope, user_id: str) -> None:
    """Raise NotPermittedError for a run that `user_id` may not see and control."""
    run_id, owner_id = envelope.run_id, envelope.request.user_id
    if not may_control(user_id, owner_id):
        problem = f"run {run_id} belongs to '{owner_id}', not to '{user_id}'"
        raise NotPermittedError(problem, run_id=run_id, owner_id=owner_id, user_id=user_id)


async def cancel_run(runs: Runs, run_id: RunId, user_id: str, reason: str) -> Envelope:
    """End a run and return its final envelope."""
    _check_not_over(await permitted_run(runs, run_id, user_id), "cancelled")
    await runs.cancel(run_id, reason)
    return await runs.envelope(run_id)


async def pause_run(runs: Runs, run_id: RunId, user_id: str, reason: str) -> Envelope:
    """Pause a run at its next step and return its envelope."""
    envelope = await permitted_run(runs, run_id, user_id)
    _check_not_over(envelope, "paused")
    if envelope.lifecycle != "running":
        raise _not_now(envelope, "only a run that is running can be paused")
    await runs.pause(run_id, reason)
    envelope = await runs.envelope(run_id)
    if envelope.lifecycle != "waiting":
        raise _not_now(envelope, "it ended before it could be paused")
    return envelope


async def answer_run(
    runs: Runs, run_id: RunId, interrupt_id: str | None, user_id: str, response: InterruptResponse
) -> None:
    """Answer the question that a run waits for; `interrupt_id` None means the open one.

    Also raises InterruptError if another question is open, or if this one is answered or expired.
    """
    interrupt = open_question(await permitted_run(runs, run_id, user_id), interrupt_id)
    check_response(interrupt, response)
    await runs.answer(run_id, interrupt.id, user_id, response)


def open_question(envelope: Envelope, interrupt_id: str | None) -> Interrupt:
    """Return the question that a run waits for. Raises RunStateError, and InterruptError if it is another one."""
    interrupt = envelope.interrupt
    if interrupt_id is not None and (interrupt is None or interrupt.id != interrupt_id):
        is_open = interrupt is not None and envelope.lifecycle == "waiting"
        current = f"; {interrupt.id} is" if is_open and interrupt is not None else ""
        raise InterruptError(
            f"run {envelope.run_id} has no open question {interrupt_id}{current}",
            run_id=envelope.run_id,
            interrupt_id=interrupt_id,
        )
    if envelope.lifecycle == "waiting" and interrupt is not None:
        return interrupt
    if interrupt is not None and interrupt_id is not None:
        raise InterruptError(
            f"question {interrupt.id} is {interrupt.status} already", run_id=envelope.run_id, interrupt_id=interrupt_id
        )
    raise _not_now(envelope, "it waits for no answer")


def check_response(interrupt: Interrupt, response: InterruptResponse) -> None:
    """Raise InputError for an answer that does not fit the question."""
    lack = missing_from_response(interrupt.kind, response)
    if lack is not None:
        raise InputError(f"{lack}; question {interrupt.id}: {interrupt.question}", interrupt_id=interrupt.id)


def _check_not_over(envelope: Envelope, what: str) -> None:
    if envelope.lifecycle == "terminated":
        raise _not_now(envelope, f"it cannot be {what}")


def _not_now(envelope: Envelope, why: str) -> RunStateError:
    how = f"over ({envelope.terminal_reason})" if envelope.lifecycle == "terminated" else envelope.lifecycle
    return RunStateError(f"run {envelope.run_id} is {how}: {why}", run_id=envelope.run_id, lifecycle=envelope.lifecycle)
