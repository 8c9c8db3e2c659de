"""Turns recorded commands into outputs of the host, and resends stages until they are acknowledged.

The message id of a stage is made of its key, and any report on the attempt acknowledges it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from runtime.bus.outbox import Outbox
from runtime.hosting.attempt_tracker import AttemptTracker
from runtime.hosting.host_outputs import DropTimers, Output, SendOnce, SendStage, StartTimer, run_message_id
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import Address, MessageId, RunId, StageKey, StageName
from runtime.supervision.commands import CancelStage, Command, Emit, Finish, GiveGrant, RunStage, SetTimer

FIRST_WAIT_MS = 1_000

log = logging.getLogger(__name__)


class Directory(NamedTuple):
    """Maps attempts of stages to addresses (`address_of`) and addresses to stages (`stage_of`: None without agent)."""

    address_of: Callable[[PipelineConfig, StageName, StageKey], Address]
    stage_of: Callable[[Address], StageName | None]


class CommandDispatch:
    """Turns commands into outputs. `rules_of` returns the pipeline of a run.

    `sends_again`: stages may get lost and are resent; not needed within one process.
    """

    def __init__(
        self,
        directory: Directory,
        rules_of: Callable[[RunId], PipelineConfig],
        attempts: AttemptTracker,
        sends_again: bool,
    ) -> None:
        self._directory = directory
        self._rules_of = rules_of
        self._attempts = attempts
        self._sends_again = sends_again
        self._message_ids: dict[StageKey, MessageId] = {}
        self._unacknowledged: Outbox[SendStage] = Outbox(first_wait_ms=FIRST_WAIT_MS)

    def outputs(self, run_id: RunId, commands: Iterable[Command], now_ms: int, origin: object) -> list[Output]:
        """Return the outputs that carry out the commands, in order. Client events stay in the run table."""
        found: list[Output] = []
        for command in commands:
            if isinstance(command, Emit):
                continue  # the most frequent command
            if isinstance(command, RunStage):
                found.append(self._send(run_id, command, now_ms, origin))
            elif isinstance(command, CancelStage | GiveGrant):
                if isinstance(command, CancelStage):
                    self.give_up(command.key)
                found.append(SendOnce(self._address_of(run_id, command), run_id, command, origin))
            elif isinstance(command, SetTimer):
                found.append(StartTimer(run_id, command))
            elif isinstance(command, Finish):
                found.append(DropTimers(run_id))
        return found

    def acknowledge(self, key: StageKey, now_ms: int) -> None:
        """Stop resending an attempt, which its agent has received."""
        message_id = self._message_ids.pop(key, None)
        if message_id is not None:
            self._unacknowledged.acknowledge(message_id, now_ms)

    def forget(self, key: StageKey) -> None:
        """Stop resending an attempt, which its agent no longer needs."""
        message_id = self._message_ids.pop(key, None)
        if message_id is not None:
            self._unacknowledged.forget(message_id)

    def give_up(self, key: StageKey) -> None:
        """Stop resending and tracking an attempt that is no longer awaited."""
        self.forget(key)
        self._attempts.release(key)

    def lose(self) -> None:
        """Count all stages as lost that are not acknowledged: the bus has died."""
        self._unacknowledged.lose()

    def due(self, now_ms: int) -> list[SendStage]:
        """Return the stages to resend now."""
        return [msgspec.structs.replace(message, origin=None) for message in self._unacknowledged.due(now_ms)]

    def next_due_ms(self) -> int | None:
        """Return when a message may have to be resent next; None if all are acknowledged."""
        return self._unacknowledged.next_due_ms()

    def awaits(self, message_id: MessageId) -> bool:
        """Return True while the message has not been acknowledged."""
        return message_id in self._unacknowledged

    def stage_of(self, address: Address) -> StageName | None:
        """Return the stage whose agent has that address; None if there is none."""
        return self._directory.stage_of(address)

    def _send(self, run_id: RunId, command: RunStage, now_ms: int, origin: object) -> SendStage:
        key = command.key
        self.forget(self._attempts.on_issue(key))
        address = self._address_of(run_id, command)
        self._attempts.on_send(key, address)
        message = SendStage(run_message_id(key), address, run_id, command, origin)
        if not self._sends_again:
            return message
        if self._unacknowledged.put(message.message_id, message, now_ms, address):
            self._message_ids[key] = message.message_id
        else:
            # The message is sent once only, and if it is lost, the stage's timeout applies.
            log.warning("supervisor.outbox_full", extra={"run_id": run_id, "key": str(key)})
        return message

    def _address_of(self, run_id: RunId, command: RunStage | CancelStage | GiveGrant) -> Address:
        return self._directory.address_of(self._rules_of(run_id), command.stage, command.key)
