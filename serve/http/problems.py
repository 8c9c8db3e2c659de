"""Errors as RFC 9457 (problem+json) has them, with our code beside the HTTP status."""

from __future__ import annotations

from fastapi.responses import JSONResponse

from runtime.errors import (
    InputError,
    InterruptError,
    JeevesError,
    RateLimitedError,
    RunStateError,
    UnknownNameError,
)

PROBLEM_JSON = "application/problem+json"

# First match wins: the narrow kinds of InputError stand before it. What is not the caller's fault is a 503.
_STATUS_OF_ERROR: tuple[tuple[type[JeevesError], int], ...] = (
    (RateLimitedError, 429),
    (UnknownNameError, 404),
    (InterruptError, 409),
    (RunStateError, 409),
    (InputError, 422),
)


def problem(status: int, code: str, detail: str) -> JSONResponse:
    """A problem document with that status."""
    body = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code, "detail": detail}
    return JSONResponse(body, status_code=status, media_type=PROBLEM_JSON)


def problem_of(error: JeevesError) -> JSONResponse:
    """The problem that an error of ours is; who asks too often is told when to come back (Retry-After, seconds)."""
    status = next((status for kind, status in _STATUS_OF_ERROR if isinstance(error, kind)), 503)
    answer = problem(status, error.code, error.message)
    if "retry_after_s" in error.values:
        answer.headers["Retry-After"] = str(error.values["retry_after_s"])
    return answer
