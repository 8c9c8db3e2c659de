"""Defines every error that Jeeves raises on purpose, in one tree.

The tree stands in one module of over 400 lines, so that each class and exit status can be found in one place.

    JeevesError
    ├── InputError                 the caller's input cannot be used (exit status 2)
    │   ├── QuestionError
    │   ├── RepositoryError
    │   │   ├── GitWriteError      git cannot write there as it stands: `problems`
    │   │   └── FileEditError      a file of a work tree cannot be edited: `file`
    │   ├── SettingsError
    │   ├── UnknownNameError       a pipeline, tool, job or run of that name does not exist
    │   ├── RunStateError          the run's state does not allow the operation
    │   ├── NotPermittedError      the run belongs to another principal
    │   ├── InterruptError         an answer cannot be taken: unknown, answered, expired, another user's
    │   ├── RateLimitedError       too many requests; retry after `retry_after_s`
    │   ├── DocumentFaults         a YAML document with faults, all of them listed
    │   └── ToolArgumentsError
    ├── MachineError               the machine lacks something (exit status 1)
    │   ├── PortTakenError
    │   ├── ForeignCodeError       a worker imported a foreign `runtime` package
    │   ├── CapabilityError        a capability's own code failed where no run is there to fail
    │   ├── StateStorageError      the state folder cannot be written
    │   │   ├── FencedError        another owner has taken over: this one must stop
    │   │   └── OwnedError         the lease is taken: `holder` and `until_ms`
    │   ├── OverloadedError        the queue of runs is full; retry after `retry_after_s`
    │   ├── ClusterError
    │   ├── VersionMismatchError
    │   └── ProcessError           a call in a worker process gave no value: `target`
    │       ├── ProcessTimeoutError  it took longer than `timeout_s` and was killed
    │       ├── ProcessKilledError   it was called off
    │       ├── ProcessMemoryError   it needed more than `memory_bytes`
    │       ├── ProcessDiedError     it ended by itself: `status`, negative for a signal
    │       ├── ProcessCallError     the function raised `problem`, no error of this tree; `traceback`
    │       └── CalledOffError       work in a thread was called off
    ├── AnswerTimeoutError         a caller waited no longer for a run, which goes on: `run_id`
    ├── WireError                  bytes that are no frame of ours
    │   └── NewerVersionError      a record of a newer version: `run_id`, `found` and `known`
    ├── BusError
    │   ├── NoHandlerError
    │   ├── DuplicateHandlerError
    │   ├── HandlerLostError       the process that handled the query died; the asker may retry
    │   ├── LinkLostError          a connection broke: what was under way may or may not have arrived
    │   ├── QueryTimeoutError
    │   ├── QueryCancelledError    the answering side cancelled the work, or the asking endpoint closed
    │   └── MessageStoppedError    a middleware stopped it: `by` and `reason`
    │       └── CircuitOpenError   its type failed too often; the next one is admitted at `probe_at_ms`
    ├── WorkQueueError
    │   ├── LeaseLostError         the worker's lease expired, or the task is finished
    │   └── QueueFullError
    └── StageError                 raised by a hook to fail its stage on purpose
        ├── HandoverError          what an agent hands on does not have its form: `agent`, `field`, `expected`
        ├── ContextError           the context of a step does not validate: `task_id` and `faults`
        ├── ToolFailedError
        │   └── EffectInDoubtError  an earlier attempt may or may not have made a call: a person has to decide
        ├── ModelFailedError       `tokens_in` and `tokens_out`: the tokens that it used nevertheless
        │   ├── ModelBusyError     nothing was served; `retry_after_s` when the server gave one
        │   ├── ModelDownError     the deployment does not answer, or its breaker is open
        │   ├── ModelRefusedError  the server rejects the request: a retry does not help
        │   ├── ModelBrokeOffError the answer is cut off, too slow or malformed
        │   └── InvalidOutputError the model's answer does not fit the requested schema
        └── BudgetExhaustedError   a reservation was refused: the run ends with that bound's reason

Each error keeps the values in its message as attributes and survives pickling: subclasses take keyword arguments only,
and `__reduce__` rebuilds them from those. Expected endings of a run (a bound reached, a cancellation) are no errors.
"""

from __future__ import annotations

from typing import Any, ClassVar


class JeevesError(Exception):
    """Serves as the root of the tree: a message in plain words, and its values as attributes."""

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
    """Reports input of the caller that cannot be used; nothing was started."""

    code = "bad_input"
    exit_status = 2


class QuestionError(InputError):
    """Reports an empty or too long question."""

    code = "bad_question"


class RepositoryError(InputError):
    """Reports a folder that cannot be read as a repository."""

    code = "bad_repository"


class GitWriteError(RepositoryError):
    """Says why git cannot write to a repository, and what to do about it."""

    code = "git_write_refused"


class FileEditError(RepositoryError):
    """Says why a file of a work tree cannot be edited, and what to do about it."""

    code = "file_edit_refused"


class SettingsError(InputError):
    """Reports a wrong settings file or environment override."""

    code = "bad_settings"


class UnknownNameError(InputError):
    """Reports a name that does not exist; `known` lists those that do."""

    code = "unknown_name"


class RunStateError(InputError):
    """Reports an operation that the run's state does not allow."""

    code = "run_state"


class NotPermittedError(InputError):
    """Reports that `user_id` may not control a run, because it belongs to `owner_id`."""

    code = "not_permitted"


class InterruptError(InputError):
    """Reports an answer to a run's question that cannot be taken."""

    code = "interrupt"


class RateLimitedError(InputError):
    """Reports that a user exceeds the rate limit; the next request is taken after `retry_after_s`."""

    code = "rate_limited"


class DocumentFaults(InputError):
    """Reports all faults of a document; `faults` lists each with file, line and key."""

    code = "invalid_document"


class ToolArgumentsError(InputError):
    """Reports a tool call with arguments outside the tool's schema."""

    code = "bad_tool_arguments"


class MachineError(JeevesError):
    """Reports that the machine lacks something that the work needs."""

    code = "machine"


class PortTakenError(MachineError):
    """Reports that a required port is in use."""

    code = "port_taken"


class ForeignCodeError(MachineError):
    """Reports that a process imported a `runtime` package that is not ours."""

    code = "foreign_code"


class CapabilityError(MachineError):
    """Reports that a capability's own code failed where no run is there to fail."""

    code = "capability"


# Values of `problem` in a StateStorageError that pass by themselves, or when space is freed.
PASSING_PROBLEMS = frozenset({"full", "busy", "away"})


class StateStorageError(MachineError):
    """Reports that the state folder cannot be read or written."""

    code = "state_storage"


class FencedError(StateStorageError):
    """Reports that a newer owner has taken over the store; this one must stop, or start anew to continue."""

    code = "fenced"


class OverloadedError(MachineError):
    """Reports a full queue of runs; nothing was accepted. Retry after `retry_after_s`."""

    code = "overloaded"


class OwnedError(StateStorageError):
    """Reports that `holder` has the lease of a run log until `until_ms`; nothing was changed."""

    code = "owned"


class ClusterError(MachineError):
    """Reports that the Ray cluster could not be started, reached or used."""

    code = "cluster"


class VersionMismatchError(MachineError):
    """Reports that a running system has another code version than this program."""

    code = "version_mismatch"


class ProcessError(MachineError):
    """Reports that a call in a worker process gave no value; `target` is the function."""

    code = "process"


class ProcessTimeoutError(ProcessError):
    """Reports a call that took longer than `timeout_s`; its process was killed with its children."""

    code = "process_timeout"


class ProcessKilledError(ProcessError):
    """Reports a call that was called off; its process was killed with its children."""

    code = "process_killed"


class ProcessMemoryError(ProcessError):
    """Reports a call that needed more than the `memory_bytes` of its process, which was killed."""

    code = "process_memory"


class ProcessDiedError(ProcessError):
    """Reports a process that ended by itself before it answered; `status` is negative for a signal.

    `stderr`: the end of what it wrote on standard error.
    """

    code = "process_died"


class ProcessCallError(ProcessError):
    """Reports a call that failed with a `problem` outside of this tree; the process is kept."""

    code = "process_call"


class CalledOffError(ProcessError):
    """Reports work in a thread that ended because it was called off."""

    code = "called_off"


class AnswerTimeoutError(JeevesError):
    """Reports that a caller waited no longer for the run `run_id`, which goes on."""

    code = "answer_timeout"


class WireError(JeevesError):
    """Reports bytes that could not be read as a frame or an envelope."""

    code = "wire"


class NewerVersionError(WireError):
    """Reports a record that a newer version wrote and this one cannot continue; `found` and `known` are versions."""

    code = "newer_version"


class BusError(JeevesError):
    """Reports that the bus could not carry out a request."""

    code = "bus"


class NoHandlerError(BusError):
    """Reports a query of a type without a handler."""

    code = "no_handler"


class DuplicateHandlerError(BusError):
    """Reports that a type has a handler already."""

    code = "duplicate_handler"


class HandlerLostError(BusError):
    """Reports that the process handling a query died; the work may or may not have been done."""

    code = "handler_lost"


class LinkLostError(BusError):
    """Reports that the connection to a peer broke; what was under way may or may not have arrived."""

    code = "link_lost"


class QueryTimeoutError(BusError):
    """Reports a query without an answer within its timeout."""

    code = "query_timeout"


class QueryCancelledError(BusError):
    """Reports a query that was cancelled before it had an answer and before its timeout."""

    code = "query_cancelled"


class MessageStoppedError(BusError):
    """Reports a message that the middleware `by` stopped for that `reason`."""

    code = "message_stopped"


class CircuitOpenError(MessageStoppedError):
    """Reports too many consecutive failures of messages of `type`; the next one is admitted at `probe_at_ms`."""

    code = "circuit_open"


class WorkQueueError(JeevesError):
    """Reports that a work queue could not carry out a request."""

    code = "work_queue"


class LeaseLostError(WorkQueueError):
    """Reports that a worker used an expired lease, of a task or of its own."""

    code = "lease_lost"


class QueueFullError(WorkQueueError):
    """Reports that a work queue has reached its limit of tasks."""

    code = "queue_full"


class StageError(JeevesError):
    """Fails a stage on purpose; raised by its hook, handled by the supervisor."""

    code = "stage_failed"


class HandoverError(StageError):
    """Reports an output without its form: `agent` wrote it, `field` is where, `expected` what was expected there."""

    code = "handover_unreadable"


class ContextError(StageError):
    """Reports that the context of a step does not validate, which is a fault of our own: `task_id` and `faults`."""

    code = "context_invalid"


class ToolFailedError(StageError):
    """Reports the failure of a tool that the stage needs."""

    code = "tool_failed"


class EffectInDoubtError(ToolFailedError):
    """Reports that an earlier attempt may have made a call with an outside effect; a person has to decide."""

    code = "effect_in_doubt"


class ModelFailedError(StageError):
    """Reports that the model could not give a usable answer."""

    code = "llm_failed"


class ModelBusyError(ModelFailedError):
    """Reports that a model server was full; nothing was served. `retry_after_s`: the server's advice, or None."""

    code = "llm_busy"


class ModelDownError(ModelFailedError):
    """Reports that a model deployment cannot be reached; nothing was served."""

    code = "llm_down"


class ModelRefusedError(ModelFailedError):
    """Reports that a model server rejects the request or its credentials; a retry does not help."""

    code = "llm_refused"


class ModelBrokeOffError(ModelFailedError):
    """Reports that a model may have begun an answer, and gave no whole one."""

    code = "llm_broke_off"


class InvalidOutputError(ModelFailedError):
    """Reports an answer of a model that does not fit the requested schema; `problem` describes the misfit."""

    code = "llm_invalid_output"


class BudgetExhaustedError(StageError):
    """Reports that the stage requested more of `bound` than the run may still spend."""

    code = "budget_exhausted"
