from google.protobuf import any_pb2 as _any_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunRequest(_message.Message):
    __slots__ = ("message", "repo", "session_id", "pipeline", "mode", "limits", "deadline_s", "wait", "run_mode", "idempotency_key")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REPO_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_S_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    RUN_MODE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    message: str
    repo: str
    session_id: str
    pipeline: str
    mode: str
    limits: _containers.ScalarMap[str, int]
    deadline_s: float
    wait: bool
    run_mode: str
    idempotency_key: str
    def __init__(self, message: _Optional[str] = ..., repo: _Optional[str] = ..., session_id: _Optional[str] = ..., pipeline: _Optional[str] = ..., mode: _Optional[str] = ..., limits: _Optional[_Mapping[str, int]] = ..., deadline_s: _Optional[float] = ..., wait: _Optional[bool] = ..., run_mode: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class StreamRequest(_message.Message):
    __slots__ = ("start", "run_id", "after_seq", "outputs")
    START_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    start: RunRequest
    run_id: str
    after_seq: int
    outputs: bool
    def __init__(self, start: _Optional[_Union[RunRequest, _Mapping]] = ..., run_id: _Optional[str] = ..., after_seq: _Optional[int] = ..., outputs: _Optional[bool] = ...) -> None: ...

class StreamReply(_message.Message):
    __slots__ = ("event", "run", "problem", "alive")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    event: Event
    run: RunReply
    problem: Problem
    alive: Alive
    def __init__(self, event: _Optional[_Union[Event, _Mapping]] = ..., run: _Optional[_Union[RunReply, _Mapping]] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ..., alive: _Optional[_Union[Alive, _Mapping]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("seq", "type", "json")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    seq: int
    type: str
    json: str
    def __init__(self, seq: _Optional[int] = ..., type: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...

class Alive(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AnswerRequest(_message.Message):
    __slots__ = ("run_id", "interrupt_id", "text", "approved", "decision", "data_json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    INTERRUPT_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    APPROVED_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    interrupt_id: str
    text: str
    approved: bool
    decision: str
    data_json: str
    def __init__(self, run_id: _Optional[str] = ..., interrupt_id: _Optional[str] = ..., text: _Optional[str] = ..., approved: _Optional[bool] = ..., decision: _Optional[str] = ..., data_json: _Optional[str] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("run_id", "reason")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    reason: str
    def __init__(self, run_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("limit", "before", "principal")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    before: str
    principal: str
    def __init__(self, limit: _Optional[int] = ..., before: _Optional[str] = ..., principal: _Optional[str] = ...) -> None: ...

class RunReply(_message.Message):
    __slots__ = ("run_id", "lifecycle", "terminal_reason", "question", "answer_json", "envelope_json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    LIFECYCLE_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_REASON_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ANSWER_JSON_FIELD_NUMBER: _ClassVar[int]
    ENVELOPE_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    lifecycle: str
    terminal_reason: str
    question: Question
    answer_json: str
    envelope_json: str
    def __init__(self, run_id: _Optional[str] = ..., lifecycle: _Optional[str] = ..., terminal_reason: _Optional[str] = ..., question: _Optional[_Union[Question, _Mapping]] = ..., answer_json: _Optional[str] = ..., envelope_json: _Optional[str] = ...) -> None: ...

class Question(_message.Message):
    __slots__ = ("interrupt_id", "kind", "text")
    INTERRUPT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    interrupt_id: str
    kind: str
    text: str
    def __init__(self, interrupt_id: _Optional[str] = ..., kind: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class ListReply(_message.Message):
    __slots__ = ("runs_json", "next")
    RUNS_JSON_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    runs_json: str
    next: str
    def __init__(self, runs_json: _Optional[str] = ..., next: _Optional[str] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("json",)
    JSON_FIELD_NUMBER: _ClassVar[int]
    json: str
    def __init__(self, json: _Optional[str] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("http_status", "code", "detail", "run_id", "values_json")
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    VALUES_JSON_FIELD_NUMBER: _ClassVar[int]
    http_status: int
    code: str
    detail: str
    run_id: str
    values_json: str
    def __init__(self, http_status: _Optional[int] = ..., code: _Optional[str] = ..., detail: _Optional[str] = ..., run_id: _Optional[str] = ..., values_json: _Optional[str] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("code", "message", "details")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    details: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., details: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ...) -> None: ...
