"""Names the answers of each kind of route in the OpenAPI document: those that can come, and no other."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from pydantic import BaseModel

from runtime.memory.sessions import MAX_SESSION_ID_CHARS
from serve.http.access.listed_runs import PRINCIPAL_PATTERN
from serve.http.access.scopes import OPEN_ROUTES, scopes_of_route
from serve.http.documents.problems import PROBLEM_JSON

BEARER = "access_token"
_TOKEN = "A token of `jeeves token create`; needed beyond loopback, and where `http.tokens_required` is set."


class Problem(BaseModel):
    """Describes an error as RFC 9457 has it.

    `run_id`: the run that it concerns, if there is one. `values`: what `detail` speaks of, for programs.
    """

    type: str
    title: str
    status: int
    code: str
    detail: str
    run_id: str | None = None
    values: dict[str, Any] | None = None


class OpenAiError(BaseModel):
    """Describes an error as OpenAI's API has it; `param`: the field that it is about."""

    message: str
    type: str
    param: str | None
    code: str
    run_id: str | None = None


class OpenAiErrors(BaseModel):
    """Carries an error below /v1."""

    error: OpenAiError


# Parameters that are texts: (where, name) or (path, name) → form.
_PATTERNS = {
    ("path", "run_id"): "^[0-9A-Za-z._:-]{1,100}$",
    ("/api/v1/runs", "before"): "^[0-9]{1,15}~[0-9A-Za-z._:-]{1,100}$",
    ("/api/v1/runs", "principal"): PRINCIPAL_PATTERN,
    # Of printable characters, which no pattern tells.
    ("/api/v1/usage", "session_id"): f"^.{{1,{MAX_SESSION_ID_CHARS}}}$",
    ("/api/v1/chat/sessions", "before"): "^[0-9]{1,15}~[!-~]{1,128}$",
    ("header", "last-event-id"): "^[0-9]{1,15}$",
    ("header", "idempotency-key"): "^[ -~]{1,255}$",
}

# A name, and neither a path nor `.` nor `..`; empty: the default one.
NO_PATH = r"^([^/\\]*[^./\\][^/\\]*|\.{3,}|)$"

# Of a stream, the schema is that of each event.
_EVENT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["data"],
}

_MEANINGS = {
    400: "No HTTP/1.1 request, no JSON, or not one Host.",
    401: "There is no access token, or it is not accepted; see WWW-Authenticate.",
    403: "The page of another site asks (Origin), or the token lacks a scope.",
    404: "There is nothing of that name.",
    408: "The head or the body was not here in time.",
    409: "The state of the run does not allow it.",
    411: "A body needs a Content-Length.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    421: "The Host is none of this service.",
    422: "The input cannot be used, or the Idempotency-Key stands for another request.",
    429: "Too many requests; see Retry-After.",
    431: "The head of the request is too large.",
    500: "A bug; the service's log says more.",
    503: "Something that the request needs does not answer, or is full.",
    504: "The run takes long; it goes on, and can be asked for by its id.",
}
_BELOW_V1 = (400, 403, 408, 421, 431, 500)
_ANY = (*_BELOW_V1, 422)
_UNCOUNTED_STATUSES = (*_ANY, 401, 503)
_SEEN = (*_UNCOUNTED_STATUSES, 429)
_SEEN_BELOW_V1 = (*_BELOW_V1, 401, 429, 503)
_WITH_BODY = (*_SEEN, 411, 413, 415)
_KINDS: dict[str, tuple[int, ...]] = {
    "chat": (*_WITH_BODY, 404, 504),
    "list": _SEEN,
    "repositories": _SEEN,
    "view": (*_SEEN, 404, 409),
    "answer": (*_SEEN, 404, 409),
    "events": (*_SEEN, 404, 409),
    "control": (*_WITH_BODY, 404, 409),
    "completion": (*_SEEN_BELOW_V1, 404, 411, 413, 415, 504),
    "session": (*_SEEN, 404),
    "delete": (*_SEEN, 404, 409),
    "governance": _SEEN,
    "tool": (*_SEEN, 404),
    "models": _SEEN_BELOW_V1,
    "model": (*_SEEN_BELOW_V1, 404),
    "health": _ANY,
    "ready": (*_ANY, 503),
    "metrics": _UNCOUNTED_STATUSES,
}
# Their errors have the form of OpenAI's API, but for those that come before the path is known.
_OPENAI_KINDS = frozenset({"completion", "models", "model"})
_EARLY = frozenset({408, 431})
_TEXT = {"type": "string"}
_EVENT = {"type": "object", "properties": {"data": _TEXT, "event": _TEXT, "id": _TEXT}, "required": ["data"]}
_RUN_ID = {"Jeeves-Run-Id": {"description": "The run, once there is one.", "schema": {"type": "string"}}}
_RATES = {
    "RateLimit-Policy": {
        "description": "The rate limits of the caller; q: requests, w: window in seconds.",
        "schema": {"type": "string"},
    },
    "RateLimit": {
        "description": "The nearest of them; r: requests left, t: seconds until there are more.",
        "schema": {"type": "string"},
    },
}
_RETRY = {"Retry-After": {"description": "Seconds until the next try.", "schema": {"type": "string"}}}
_UNCOUNTED = frozenset({"health", "ready", "metrics"})

ANSWERED = (
    "A path that is not named here is a 404, a method that it does not have a 405 with Allow; HEAD is answered as GET"
    " without a body, OPTIONS with Allow. Every error is application/problem+json."
)


def answers_of(kind: str, created: bool = False, streams: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return what FastAPI takes for the answers of a route of that kind, the good one first.

    `streams`: it answers with server-sent events, too.
    """
    fields = _RUN_ID if kind in _UNCOUNTED else {**_RUN_ID, **_RATES}
    good: dict[str, Any] = {"description": "Created." if created else "The answer.", "headers": fields}
    if streams:
        good["content"] = {"text/event-stream": {"schema": _EVENT}}
    about = {PROBLEM_JSON: {"schema": deepcopy(_schema_of(Problem))}}
    others = {"application/json": {"schema": deepcopy(_schema_of(OpenAiErrors))}} if kind in _OPENAI_KINDS else about
    problems: dict[int | str, dict[str, Any]] = {
        status: {
            "description": _MEANINGS[status],
            "headers": {**fields, **_RETRY} if status in (429, 503) else fields,
            "content": others if status not in _EARLY else about,
        }
        for status in sorted(_KINDS[kind])
    }
    return {201 if created else 200: good, **problems}


@functools.cache
def _schema_of(document: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a document; each route takes a copy."""
    return document.model_json_schema()


def with_security(document: dict[str, Any], routes: Mapping[tuple[str, str], str], is_required: bool) -> None:
    """Describe the access token, and which of its scopes open each operation; `routes`: (path, method) → name."""
    document["components"]["securitySchemes"] = {BEARER: {"type": "http", "scheme": "bearer", "description": _TOKEN}}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = routes[path, method.upper()]
            if name in OPEN_ROUTES:
                operation["security"] = []
                continue
            operation["security"] = [{BEARER: []}] if is_required else [{BEARER: []}, {}]
            scopes = " or ".join(f"`{scope}`" for scope in scopes_of_route(name))
            operation["description"] = f"{operation.get('description', '')} Scope: {scopes}.".strip()


def with_patterns(document: dict[str, Any]) -> None:
    """Describe the form of parameters that are texts, as the service reads them."""
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                places = ((path, parameter["name"]), (parameter["in"], parameter["name"]))
                pattern = next((_PATTERNS[place] for place in places if place in _PATTERNS), None)
                if pattern is not None:
                    parameter["schema"] = {"type": "string", "pattern": pattern}


def with_bounds(document: dict[str, Any], bounds: Iterable[str], max_question_chars: int) -> None:
    """Describe the length of a question, and the bounds that it may lower; a pipeline may have fewer of them."""
    members = document["components"]["schemas"]["ChatMessage"]["properties"]
    members["message"] |= {"pattern": r"\S", "maxLength": max_question_chars}
    members["repo"]["anyOf"][0] |= {"pattern": NO_PATH}
    members["session_id"]["anyOf"][0] |= {"minLength": 1, "maxLength": MAX_SESSION_ID_CHARS}
    limits = members["limits"]
    value = limits.pop("additionalProperties")
    limits |= {"properties": dict.fromkeys(sorted(set(bounds)), value), "additionalProperties": False}


def without_unused_answers(document: dict[str, Any]) -> None:
    """Remove the answers that FastAPI adds by itself: a path takes any text, and errors have a form of ours."""
    for path in document["paths"].values():
        for operation in path.values():
            told = operation["responses"].get("422", {})
            if PROBLEM_JSON not in told.get("content", {}):
                operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
