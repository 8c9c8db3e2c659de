"""Every error that Jeeves raises on purpose, in one tree.

    JeevesError
    ├── InputError                 the caller gave something that cannot be used (exit status 2)
    │   ├── QuestionError
    │   ├── RepositoryError
    │   ├── SettingsError
    │   ├── UnknownNameError       a pipeline, tool, job or run of that name does not exist
    │   ├── RunStateError          a run is not in a state in which that can be done with it
    │   ├── InterruptError         an answer cannot be taken: unknown, answered, expired, another user's
    │   ├── RateLimitedError       asked too often; `retry_after_s` says when to come back
    │   ├── DocumentFaults         a YAML document with faults, all of them listed
    │   └── ToolArgumentsError
    ├── MachineError               the machine lacks something (exit status 1)
    │   ├── PortTakenError
    │   ├── ForeignCodeError       a worker imported somebody else's `runtime` package
    │   ├── StateStorageError      the state folder cannot be written
    │   │   ├── FencedError        another owner has taken over: this one must stop
    │   │   └── OwnedError         somebody holds the lease: `holder` and `until_ms`
    │   ├── OverloadedError        as much work is queued as may be; `retry_after_s` says when to come back
    │   ├── ClusterError
    │   └── VersionMismatchError
    ├── WireError                  bytes that are no frame of ours
    ├── BusError
    │   ├── NoHandlerError
    │   ├── DuplicateHandlerError
    │   ├── HandlerLostError       the process that had the query died; asking again is up to the asker
    │   ├── QueryTimeoutError
    │   ├── QueryCancelledError    the answering side called the work off, or the asking endpoint closed
    │   └── MessageStoppedError    a middleware stopped it: `by` and `reason`
    │       └── CircuitOpenError   its type failed too often; `probe_at_ms` says when the next one is let through
    ├── WorkQueueError
    │   ├── LeaseLostError         the worker was away too long, or the task is done with
    │   └── QueueFullError
    └── StageError                 what a hook raises to fail its stage on purpose
        ├── ToolFailedError
        │   └── EffectInDoubtError  nobody knows whether an earlier attempt made a call: a person has to decide
        ├── ModelFailedError       `tokens_in` and `tokens_out`: what it took of the model nevertheless
        │   ├── ModelBusyError     nothing was served; `retry_after_s` when the server said so
        │   ├── ModelDownError     nobody answers, or the breaker of the deployment is open
        │   ├── ModelRefusedError  the server does not take the request: asking again does not help
        │   ├── ModelBrokeOffError what came is cut off, too slow or no answer of a model
        │   └── InvalidOutputError the model's answer does not fit the schema that was asked for
        └── BudgetExhaustedError   a reservation was refused: the run ends with that bound's reason

Each error keeps what it speaks of as attributes and survives pickling: subclasses take keyword arguments only, and
`__reduce__` rebuilds them from those. Expected endings of a run (a bound reached, a cancellation) are no errors.
"""

from __future__ import annotations

from typing import Any, ClassVar


class JeevesError(Exception):
    """Root of the tree: a message in plain words, and the values that it speaks of as attributes."""

    code: ClassVar[str] = "jeeves_error"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, **values: Any) -> None:
        super().__init__(message)
        self.message = message
        self.values = values
        for name, value in values.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.values))


def _rebuild(kind: type[JeevesError], message: str, values: dict[str, Any]) -> JeevesError:
    return kind(message, **values)


class InputError(JeevesError):
    """The caller's input cannot be used; nothing was started."""

    code = "bad_input"
    exit_status = 2


class QuestionError(InputError):
    """The question is empty or too long."""

    code = "bad_question"


class RepositoryError(InputError):
    """The folder cannot be read as a repository."""

    code = "bad_repository"


class SettingsError(InputError):
    """A settings file or an environment override is wrong."""

    code = "bad_settings"


class UnknownNameError(InputError):
    """Something was named that does not exist; `known` lists what does."""

    code = "unknown_name"


class RunStateError(InputError):
    """What was wanted of a run cannot be done in the state in which it is."""

    code = "run_state"


class InterruptError(InputError):
    """An answer to a question of a run cannot be taken."""

    code = "interrupt"


class RateLimitedError(InputError):
    """A user asks more often than allowed; `retry_after_s` says when the next request is taken."""

    code = "rate_limited"


class DocumentFaults(InputError):
    """A document has faults; `faults` lists every one with file, line and key."""

    code = "invalid_document"


class ToolArgumentsError(InputError):
    """A tool was called with arguments outside its schema."""

    code = "bad_tool_arguments"


class MachineError(JeevesError):
    """The machine lacks something that the work needs."""

    code = "machine"


class PortTakenError(MachineError):
    """A port that must be bound is in use."""

    code = "port_taken"


class ForeignCodeError(MachineError):
    """A process imported a `runtime` package that is not ours."""

    code = "foreign_code"


# Values of `problem` in a StateStorageError that go away by themselves, or by somebody's making room.
PASSING_PROBLEMS = frozenset({"full", "busy", "away"})


class StateStorageError(MachineError):
    """The state folder cannot be read or written."""

    code = "state_storage"


class FencedError(StateStorageError):
    """A newer owner has taken over what this one wrote to; it must stop, and start anew if it is to go on."""

    code = "fenced"


class OverloadedError(MachineError):
    """As many runs are queued as may be; nothing was accepted. `retry_after_s` says when to come back."""

    code = "overloaded"


class OwnedError(StateStorageError):
    """`holder` has the lease of a run log until `until_ms`; nothing was changed."""

    code = "owned"


class ClusterError(MachineError):
    """The Ray cluster could not be started, reached or used."""

    code = "cluster"


class VersionMismatchError(MachineError):
    """A running system is of another code version than this program."""

    code = "version_mismatch"


class WireError(JeevesError):
    """Bytes could not be read as a frame or an envelope."""

    code = "wire"


class BusError(JeevesError):
    """The bus could not do what was asked."""

    code = "bus"


class NoHandlerError(BusError):
    """A query was sent for a type that nobody handles."""

    code = "no_handler"


class DuplicateHandlerError(BusError):
    """A second handler was registered for a type."""

    code = "duplicate_handler"


class HandlerLostError(BusError):
    """The process that had a query in hand died; it may or may not have done what was asked."""

    code = "handler_lost"


class QueryTimeoutError(BusError):
    """A query had no answer within its time."""

    code = "query_timeout"


class QueryCancelledError(BusError):
    """A query was called off before it had an answer; its time was not up."""

    code = "query_cancelled"


class MessageStoppedError(BusError):
    """A middleware stopped a message: `by` names it, `reason` says why."""

    code = "message_stopped"


class CircuitOpenError(MessageStoppedError):
    """Messages of `type` failed too often in a row; the next one is let through at `probe_at_ms`."""

    code = "circuit_open"


class WorkQueueError(JeevesError):
    """A work queue could not do what was asked."""

    code = "work_queue"


class LeaseLostError(WorkQueueError):
    """A worker speaks of a task, or of itself, under a lease that is over."""

    code = "lease_lost"


class QueueFullError(WorkQueueError):
    """A work queue holds as many tasks as it may."""

    code = "queue_full"


class StageError(JeevesError):
    """A hook fails its stage on purpose; the supervisor decides what follows."""

    code = "stage_failed"


class ToolFailedError(StageError):
    """A tool that the stage cannot do without failed."""

    code = "tool_failed"


class EffectInDoubtError(ToolFailedError):
    """An earlier attempt may have made a call with an effect outside, or not; its tool says that a person decides."""

    code = "effect_in_doubt"


class ModelFailedError(StageError):
    """The model could not give a usable answer."""

    code = "llm_failed"


class ModelBusyError(ModelFailedError):
    """A model server had no room; nothing was served. `retry_after_s`: when it wants to be asked again, or None."""

    code = "llm_busy"


class ModelDownError(ModelFailedError):
    """A model deployment cannot be reached; nothing was served."""

    code = "llm_down"


class ModelRefusedError(ModelFailedError):
    """A model server takes the request for wrong, or the asker for nobody; asking again does not help."""

    code = "llm_refused"


class ModelBrokeOffError(ModelFailedError):
    """A model began to answer, or may have, and gave no whole answer."""

    code = "llm_broke_off"


class InvalidOutputError(ModelFailedError):
    """A model answered something else than was asked for; `problem` says what is wrong with it."""

    code = "llm_invalid_output"


class BudgetExhaustedError(StageError):
    """The stage asked for more of `bound` than the run may still spend."""

    code = "budget_exhausted"
