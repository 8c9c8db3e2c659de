"""Identifies who asks: the one place where an HTTP request becomes a principal."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import Request

from serve.principals import of_http_client


class Caller(NamedTuple):
    """Identifies a principal. `user_id` is the user of the runs that it starts."""

    user_id: str


def caller_of(request: Request) -> Caller:
    """Return who sent a request, by its address; `trusted` of the application are proxies that tell another one."""
    host = None if request.client is None else request.client.host
    forwarded = request.headers.getlist("x-forwarded-for")
    return Caller(of_http_client(host, forwarded, request.app.state.trusted).user_id)
