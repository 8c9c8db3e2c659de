"""Defines the outputs of a supervisor host, which its shell carries out.

Each is emitted only after the events that it rests on are recorded.
"""

from __future__ import annotations

import msgspec

from runtime.errors import StateStorageError
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.supervision.commands import CancelStage, GiveGrant, RunStage, SetTimer


def run_message_id(key: StageKey) -> MessageId:
    """Return the message id of a stage attempt, the same for every send by every incarnation of the supervisor."""
    return MessageId(f"run:{key}")


class WriteDue(msgspec.Struct, frozen=True, gc=False):
    """Requests a call of `write` soon: inputs that arrive until then go with the same write."""


class SendStage(msgspec.Struct, frozen=True):
    """Sends a stage to an agent; `due` returns it again until it is acknowledged.

    `origin`: the value that the shell passed with the message that led to this.
    """

    message_id: MessageId
    address: Address
    run_id: RunId
    command: RunStage
    origin: object = None


class SendOnce(msgspec.Struct, frozen=True):
    """Sends an agent a command that may get lost: grants are requested again, cancelled attempts do not count."""

    address: Address
    run_id: RunId
    command: CancelStage | GiveGrant
    origin: object = None


class ReportRecorded(msgspec.Struct, frozen=True):
    """Acknowledges a report to its agent once it is recorded.

    `is_last`: the attempt is over, so that its agent waits for this with nothing but its resending.
    """

    report_id: MessageId
    address: Address
    run_id: RunId
    origin: object = None
    is_last: bool = False


class NotRecorded(msgspec.Struct, frozen=True):
    """Signals that an event of a run could not be recorded.

    With a `report_id` its sender resends it; otherwise the host retries if the `error` is the log's.
    """

    run_id: RunId | None
    error: Exception
    report_id: MessageId | None = None


class LeaseNotRenewed(msgspec.Struct, frozen=True):
    """Signals that the log could not be reached; this owner keeps it until its lease expires."""

    error: StateStorageError


class Reply(msgspec.Struct, frozen=True):
    """Answers the caller with `token`: its request is recorded, or failed with `error`."""

    token: object
    run_id: RunId | None
    error: Exception | None = None


class StartTimer(msgspec.Struct, frozen=True):
    """Requests a call of `on_timer` when the timer is due."""

    run_id: RunId
    command: SetTimer


class DropTimers(msgspec.Struct, frozen=True, gc=False):
    """Drops the timers of a run that is over."""

    run_id: RunId


class RetryIn(msgspec.Struct, frozen=True, gc=False):
    """Requests a call of `on_retry` with that number in `delay_s`."""

    number: int
    delay_s: float


class RunChanged(msgspec.Struct, frozen=True, gc=False):
    """Signals that events of a run were recorded, for its watchers."""

    run_id: RunId


class Recovered(msgspec.Struct, frozen=True, gc=False):
    """Signals that the runs of the log are recovered; inputs held back until then are handled now."""


class Deposed(msgspec.Struct, frozen=True):
    """Signals that another owner drives these runs now: this process must send nothing more."""

    error: Exception


Output = (
    WriteDue
    | SendStage
    | SendOnce
    | ReportRecorded
    | NotRecorded
    | LeaseNotRenewed
    | Reply
    | StartTimer
    | DropTimers
    | RetryIn
    | RunChanged
    | Recovered
    | Deposed
)
