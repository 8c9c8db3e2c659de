"""Formats errors as RFC 9457 problem details (problem+json), with our error code and the HTTP status."""

from __future__ import annotations

from fastapi.responses import JSONResponse

from runtime.errors import (
    InputError,
    InterruptError,
    JeevesError,
    NotPermittedError,
    RateLimitedError,
    RunStateError,
    UnknownNameError,
)

PROBLEM_JSON = "application/problem+json"

# First match wins: subclasses of InputError come before it. Errors that are not the caller's fault are a 503.
_STATUS_OF_ERROR: tuple[tuple[type[JeevesError], int], ...] = (
    (RateLimitedError, 429),
    (NotPermittedError, 403),
    (UnknownNameError, 404),
    (InterruptError, 409),
    (RunStateError, 409),
    (InputError, 422),
)


def problem(status: int, code: str, detail: str) -> JSONResponse:
    """Return a problem document with that status."""
    body = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code, "detail": detail}
    return JSONResponse(body, status_code=status, media_type=PROBLEM_JSON)


def problem_of(error: JeevesError) -> JSONResponse:
    """Return the problem document of a JeevesError, with Retry-After in seconds if the error has `retry_after_s`."""
    status = next((status for kind, status in _STATUS_OF_ERROR if isinstance(error, kind)), 503)
    answer = problem(status, error.code, error.message)
    if "retry_after_s" in error.values:
        answer.headers["Retry-After"] = str(error.values["retry_after_s"])
    return answer
