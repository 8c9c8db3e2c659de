"""Maps errors to gRPC statuses by a table, from the problem that the HTTP door would answer with.

Both doors refuse in the same words: `serve.http.documents.problems` makes the members of a problem from an error of the
one tree, and here its code, else its HTTP status, gives the gRPC status. A failed call has two further forms of it:
the details of the status, in plain words, and `grpc-status-details-bin`, a google.rpc.Status with one Problem in it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import grpc

from serve.grpc.v1 import jeeves_pb2

DETAILS_KEY = "grpc-status-details-bin"

# All metadata of an answer have some 8 KiB; what is longer is cut, since a client would lose the status with it.
MAX_MESSAGE_BYTES = 600
MAX_DETAIL_BYTES = 1_500
MAX_VALUES_BYTES = 1_000

STATUS_OF_HTTP: dict[int, grpc.StatusCode] = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    409: grpc.StatusCode.FAILED_PRECONDITION,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    422: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}

# Clients send a call that was UNAVAILABLE again by themselves: these stay as they are until an operator has acted.
STATUS_OF_CODE: dict[str, grpc.StatusCode] = dict.fromkeys(
    ("capability", "foreign_code", "machine", "newer_version", "port_taken", "version_mismatch"),
    grpc.StatusCode.INTERNAL,
) | {"idempotency_key": grpc.StatusCode.ALREADY_EXISTS}


class Failure(NamedTuple):
    """Holds what a failed call ends with."""

    code: grpc.StatusCode
    message: str
    problem: jeeves_pb2.Problem

    def details(self) -> bytes:
        """Return the google.rpc.Status of the failure."""
        status = jeeves_pb2.Status(code=self.code.value[0], message=self.message)
        status.details.add().Pack(self.problem)
        return bytes(status.SerializeToString())


def failure_of(members: dict[str, Any]) -> Failure:
    """Return the failure of the members of a problem document."""
    status, code, detail = int(members["status"]), str(members["code"]), str(members["detail"])
    problem = jeeves_pb2.Problem(http_status=status, code=code, detail=cut(detail, MAX_DETAIL_BYTES))
    if members.get("run_id") is not None:
        problem.run_id = cut(str(members["run_id"]), MAX_MESSAGE_BYTES)
    values = json.dumps(members.get("values", {}))
    if members.get("values") and len(values) <= MAX_VALUES_BYTES:
        problem.values_json = values
    found = STATUS_OF_CODE.get(code) or STATUS_OF_HTTP.get(status, grpc.StatusCode.UNKNOWN)
    return Failure(found, cut(detail, MAX_MESSAGE_BYTES), problem)


def cut(text: str, most_bytes: int) -> str:
    """Return a text with at most so many bytes in UTF-8, with `…` at its end if it was longer."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return encoded.decode()
    return encoded[: most_bytes - len("…".encode())].decode("utf-8", "ignore") + "…"
