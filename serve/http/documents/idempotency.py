"""Refuses two idempotency keys, or one of another request; `serve.run_keys` finds runs by keys."""

from __future__ import annotations

import fastapi

from runtime.run.envelope import Request
from serve.http.documents.problems import RefusedError
from serve.run_keys import KEY_HEADER as KEY_HEADER
from serve.run_keys import fingerprint as fingerprint
from serve.run_keys import run_id_of_key as run_id_of_key


def check_same(request: Request, sent: str) -> None:
    """Raise RefusedError if the run of a key was started by another body than the one with fingerprint `sent`."""
    if request.request_id != sent:
        detail = f"this {KEY_HEADER} stands for another request already; send a new key with a new body"
        raise RefusedError(422, "idempotency_key", detail)


def check_one_key(request: fastapi.Request) -> None:
    """Raise RefusedError for a request with several keys: each stands for a run of its own."""
    keys = request.headers.getlist(KEY_HEADER)
    if len(keys) > 1:
        raise RefusedError(400, "bad_request", f"send one {KEY_HEADER} header, not {len(keys)}")
