"""Reads the messages of calls into the requests of the HTTP door, by the same models and limits."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from pydantic import BaseModel, ValidationError

from runtime.errors import InputError
from runtime.store.run_log import RunPlace
from serve.grpc.v1 import jeeves_pb2
from serve.http.answering.service import ChatMessage
from serve.http.connections.http_limits import HttpLimits
from serve.http.documents.problems import RefusedError, fault_sentence
from serve.http.documents.request_bodies import check_json, check_recordable
from serve.http.documents.run_documents import MAX_LISTED, AnswerBody, ReasonBody, place_of_page

DEFAULT_LISTED = 20
MAX_SEQ = 2**53
NUMBER_NAME = "after_seq"
MAX_NAMED = 5
# To name the unknown fields of a whole message takes a second.
MAX_NAMED_BYTES = 1_000

_OPTIONAL = ("repo", "session_id", "pipeline", "mode", "deadline_s", "run_mode")

# The class of all maps from texts to numbers.
_MAP: type[Any] = type(jeeves_pb2.RunRequest().limits)

Model = TypeVar("Model", bound=BaseModel)


def check_message(message: Message, limits: HttpLimits) -> None:
    """Raise RefusedError for a message that is too large or has a text that cannot be recorded.

    Raises InputError for one with fields that it does not have: those would be ignored otherwise, and the call be
    another one than was meant.
    """
    size, allowed = message.ByteSize(), limits.max_body_bytes
    if size > allowed:
        detail = f"the message has {size} bytes, at most {allowed} are allowed"
        raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", detail)
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    if known.ByteSize() < size:
        raise _unknown_fields(message, size - known.ByteSize())
    for part in _parts(message):
        check_recordable(_texts(part), "the message")


def chat_message(request: jeeves_pb2.RunRequest, **further: Any) -> ChatMessage:
    """Return the question of a request. Raises InputError for values that none may have."""
    given = {name: getattr(request, name) for name in _OPTIONAL if request.HasField(name)}
    told = {"message": request.message, "limits": dict(request.limits), "wait": request.wait}
    return _validated(ChatMessage, told | given | further)


def idempotency_key(request: jeeves_pb2.RunRequest) -> str | None:
    """Return the key of a request, if it has one."""
    return request.idempotency_key if request.HasField("idempotency_key") else None


def answer_body(request: jeeves_pb2.AnswerRequest, limits: HttpLimits) -> AnswerBody:
    """Return an answer to a question. Raises InputError and RefusedError."""
    told: dict[str, Any] = {name: getattr(request, name) for name in ("approved", "decision") if request.HasField(name)}
    if request.HasField("data_json"):
        told["data"] = msgspec.json.decode(json_text(request.data_json, "data_json", limits))
    return _validated(AnswerBody, {"text": request.text, **told})


def reason_of(request: jeeves_pb2.CancelRequest) -> str:
    """Return the reason of a cancellation. Raises InputError if it is too long."""
    return _validated(ReasonBody, {"reason": request.reason}).reason


def json_text(text: str, name: str, limits: HttpLimits) -> bytes:
    """Return a field that holds JSON. Raises RefusedError as for the body of an HTTP request."""
    encoded = text.encode()
    check_json(encoded, limits.max_json_depth, name)
    return encoded


def resumed_after(request: jeeves_pb2.StreamRequest) -> int | None:
    """Return the number of the last event that a caller has, if it names one. Raises InputError."""
    if not request.HasField(NUMBER_NAME):
        return None
    number = int(request.after_seq)
    if not 0 <= number <= MAX_SEQ:
        raise InputError(f"{NUMBER_NAME} is {number}; send the number of the last event received, or 0", actual=number)
    return number


def page_wanted(request: jeeves_pb2.ListRequest) -> tuple[int, RunPlace | None, str | None]:
    """Return how many runs are wanted, before which one, and of whom. Raises InputError."""
    limit = int(request.limit) if request.HasField("limit") else DEFAULT_LISTED
    if not 1 <= limit <= MAX_LISTED:
        raise InputError(f"limit is {limit}, 1 to {MAX_LISTED} are allowed", actual=limit, allowed=MAX_LISTED)
    before = place_of_page(request.before) if request.HasField("before") else None
    return limit, before, request.principal if request.HasField("principal") else None


def _validated(model: type[Model], given: dict[str, Any]) -> Model:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InputError(fault_sentence(error)) from error


def _unknown_fields(message: Message, size: int) -> InputError:
    """Return the error of a message that has so many bytes of unknown fields; a few are named by their numbers."""
    told = "fields that it does not have here, or of another type; see serve/grpc/v1/jeeves.proto"
    if size > MAX_NAMED_BYTES:
        return InputError(f"{message.DESCRIPTOR.name} has {size} bytes of {told}")
    found = {(part.DESCRIPTOR.name, field.field_number) for part in _parts(message) for field in UnknownFieldSet(part)}
    named = ", ".join(f"{number} of {name}" for name, number in sorted(found)[:MAX_NAMED])
    return InputError(f"the message has {told}: {named}", unknown=[number for _, number in sorted(found)[:MAX_NAMED]])


def _parts(message: Message) -> Iterator[Message]:
    """Yield a message and those in it; maps have none."""
    yield message
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE and isinstance(value, Message):
            yield from _parts(value)


def _texts(message: Message) -> list[Any]:
    """Return the texts of a message, with the keys of its maps."""
    values = [value for _, value in message.ListFields()]
    keys = [key for value in values if isinstance(value, _MAP) for key in value]
    return [*keys, *(value for value in values if isinstance(value, str))]
