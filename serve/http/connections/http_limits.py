"""Defines how much and for how long a client may use the HTTP service."""

from __future__ import annotations

import msgspec


class HttpLimits(msgspec.Struct, frozen=True):
    """Bounds connections, requests and answers; sizes and counts are inclusive.

    `max_connections`: beyond it the connection closes that has waited longest without a whole request. `max_asked`:
    questions whose answer is awaited at once; `max_streams`: event streams open at once. `answer_timeout_s`: how long
    a caller waits for a run, which continues afterwards. `stream_alive_s`: an idle event stream shows a sign of life.
    `grpc_stream_s`: how long a stream over gRPC lasts at most.
    `linger_s`, `linger_bytes`: how much more is read, and thrown away, of a request that was refused; a client that is
    still sending would otherwise lose the answer. `drain_s`, `drain_bytes`: the same of a body that is too large, of a
    caller that was admitted: many clients read no answer before they have sent all of it.
    """

    head_timeout_s: float = 10.0
    body_timeout_s: float = 30.0
    write_timeout_s: float = 30.0
    keep_alive_s: float = 30.0
    answer_timeout_s: float = 900.0
    stream_alive_s: float = 15.0
    grpc_stream_s: float = 600.0
    linger_s: float = 1.0
    linger_bytes: int = 4_000_000
    drain_s: float = 20.0
    drain_bytes: int = 128_000_000
    max_head_bytes: int = 32 * 1024
    max_headers: int = 100
    max_body_bytes: int = 1_000_000
    max_json_depth: int = 64
    max_connections: int = 1_000
    max_asked: int = 256
    max_streams: int = 256


DEFAULT_LIMITS = HttpLimits()
