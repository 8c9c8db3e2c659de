"""What a supervisor host asks its shell to do; each is handed out once what it rests on is recorded."""

from __future__ import annotations

import msgspec

from runtime.errors import StateStorageError
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.supervision.commands import CancelStage, GiveGrant, RunStage, SetTimer


def run_message_id(key: StageKey) -> MessageId:
    """Under which id a stage is told to run: the same, however often and by whichever process of the supervisor."""
    return MessageId(f"run:{key}")


class WriteDue(msgspec.Struct, frozen=True, gc=False):
    """Call `write` soon: what else comes until then goes with the same write."""


class SendStage(msgspec.Struct, frozen=True):
    """Tell an agent to run a stage; `due` names it again until it is acknowledged.

    `origin`: what the shell gave with the message that led to this.
    """

    message_id: MessageId
    address: Address
    run_id: RunId
    command: RunStage
    origin: object = None


class SendOnce(msgspec.Struct, frozen=True):
    """Tell an agent something that may get lost: a grant is asked for again, a cancelled attempt counts for nothing."""

    address: Address
    run_id: RunId
    command: CancelStage | GiveGrant
    origin: object = None


class ReportRecorded(msgspec.Struct, frozen=True):
    """Tell an agent that its report is recorded and need not be sent again."""

    report_id: MessageId
    address: Address
    run_id: RunId
    origin: object = None


class NotRecorded(msgspec.Struct, frozen=True):
    """Something that happened to a run is not recorded.

    With a `report_id` its sender says it again; otherwise the host tries again when the `error` is the log's.
    """

    run_id: RunId | None
    error: Exception
    report_id: MessageId | None = None


class LeaseNotRenewed(msgspec.Struct, frozen=True):
    """The log could not be reached; it is this owner's for as long as its lease lasts."""

    error: StateStorageError


class Reply(msgspec.Struct, frozen=True):
    """Tell whoever asked under `token` that it is recorded, or why it is not."""

    token: object
    run_id: RunId | None
    error: Exception | None = None


class StartTimer(msgspec.Struct, frozen=True):
    """Call `on_timer` when the timer is due."""

    run_id: RunId
    command: SetTimer


class DropTimers(msgspec.Struct, frozen=True, gc=False):
    """The run is over, and so are its timers."""

    run_id: RunId


class RetryIn(msgspec.Struct, frozen=True, gc=False):
    """Call `on_retry` with that number in `delay_s`."""

    number: int
    delay_s: float


class RunChanged(msgspec.Struct, frozen=True, gc=False):
    """Something of a run was recorded: whoever watches it may look again."""

    run_id: RunId


class Recovered(msgspec.Struct, frozen=True, gc=False):
    """The runs of the log are taken up; what came before that goes on now."""


class Deposed(msgspec.Struct, frozen=True):
    """Somebody else drives these runs now: nothing that this process still says may be heard."""

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
