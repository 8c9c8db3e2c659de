"""Refuses a request whose Idempotency-Key stands for another; `serve.run_keys` finds runs by keys."""

from __future__ import annotations

from runtime.run.envelope import Request
from serve.http.problems import RefusedError
from serve.run_keys import KEY_HEADER as KEY_HEADER
from serve.run_keys import fingerprint as fingerprint
from serve.run_keys import run_id_of_key as run_id_of_key


def check_same(request: Request, sent: str) -> None:
    """Raise RefusedError if the run of a key was started by another body than the one with fingerprint `sent`."""
    if request.request_id != sent:
        detail = f"this {KEY_HEADER} stands for another request already; send a new key with a new body"
        raise RefusedError(422, "idempotency_key", detail)
