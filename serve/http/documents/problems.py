"""Formats errors as RFC 9457 problem details (problem+json), with our error code and the HTTP status.

`run_id` is a member of every problem that concerns a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError

from runtime.bus.queries import error_to_wire
from runtime.errors import (
    AnswerTimeoutError,
    InputError,
    InterruptError,
    JeevesError,
    NotPermittedError,
    RateLimitedError,
    RunStateError,
    UnknownNameError,
)

PROBLEM_JSON = "application/problem+json"

# Values of errors that a caller's program may use; others may hold paths of this machine, or tell of other callers.
_TOLD = frozenset(
    {
        "actual",
        "allowed",
        "interrupt_id",
        "known",
        "lifecycle",
        "name",
        "repo",
        "retry_after_s",
        "session_id",
        "unknown",
    }
)

# First match wins: subclasses of InputError come before it. Errors that are not the caller's fault are a 503.
_STATUS_OF_ERROR: tuple[tuple[type[JeevesError], int], ...] = (
    (RateLimitedError, 429),
    (AnswerTimeoutError, 504),
    (NotPermittedError, 403),
    (UnknownNameError, 404),
    (InterruptError, 409),
    (RunStateError, 409),
    (InputError, 422),
)


class RefusedError(Exception):
    """Refuses a request with a problem document, before or instead of an error of ours."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})

    def response(self, run_id: str | None = None) -> JSONResponse:
        """Return the problem document."""
        answer = problem(self.status, self.code, self.detail, run_id)
        answer.headers.update(self.headers)
        return answer


def problem_body(status: int, code: str, detail: str, run_id: str | None = None) -> dict[str, Any]:
    """Return the members of a problem document."""
    body = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code, "detail": detail}
    return body if run_id is None else {**body, "run_id": run_id}


def problem(status: int, code: str, detail: str, run_id: str | None = None) -> JSONResponse:
    """Return a problem document with that status."""
    return JSONResponse(problem_body(status, code, detail, run_id), status_code=status, media_type=PROBLEM_JSON)


def problem_bytes(status: int, phrase: str, code: str, detail: str) -> bytes:
    """Return a whole HTTP/1.1 response with a problem document, after which the connection closes."""
    body = json.dumps(problem_body(status, code, detail)).encode()
    head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: {PROBLEM_JSON}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body


def members_of(error: Exception, run_id: str | None = None) -> dict[str, Any]:
    """Return the members of the problem document of an error; the run is that of the error, else `run_id`.

    `values`: those of the error, from which a client rebuilds it, as far as they are the caller's business.
    """
    if isinstance(error, RefusedError):
        return problem_body(error.status, error.code, error.detail, run_id)
    if not isinstance(error, JeevesError):
        return problem_body(500, "internal", bug_detail(error), run_id)
    status = next((status for kind, status in _STATUS_OF_ERROR if isinstance(error, kind)), 503)
    members = problem_body(status, error.code, error.message, error.values.get("run_id", run_id))
    told = error_to_wire(error).get("values", {})
    kept = told.keys() & (_TOLD if isinstance(error, InputError) else {"retry_after_s"})
    return {**members, "values": {name: told[name] for name in sorted(kept)}} if kept else members


def fault_sentence(error: RequestValidationError | ValidationError) -> str:
    """Return the places of a request that cannot be used, each with its faults, without the names of our types."""
    faults: dict[str, list[str]] = {}
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"] if not _is_type_name(part))
        told = str(item["msg"]).removeprefix("Value error, ")
        if told not in faults.setdefault(place, []):
            faults[place].append(told)
    return "; ".join(f"{place}: {' or: '.join(told)}" for place, told in faults.items())


def _is_type_name(part: Any) -> bool:
    """Return True for what pydantic puts into a place beside fields and numbers: a member of a union."""
    return isinstance(part, str) and (part == "str" or "[" in part)


def bug_detail(error: Exception) -> str:
    """Return what a caller is told of an error that is a bug."""
    return f"this is a bug: {type(error).__name__}; the service's log says more"


def problem_of(error: JeevesError, run_id: str | None = None) -> JSONResponse:
    """Return the problem document of a JeevesError, with Retry-After in seconds if the error has `retry_after_s`.

    The run is that of the error, else `run_id`.
    """
    members = members_of(error, run_id)
    answer = JSONResponse(members, status_code=members["status"], media_type=PROBLEM_JSON)
    if "retry_after_s" in error.values:
        answer.headers["Retry-After"] = str(error.values["retry_after_s"])
    return answer
