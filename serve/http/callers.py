"""Identifies who asks: the one place where an HTTP request becomes a principal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fastapi import Request

from serve.principals import Networks, of_http_client

# Routes that are counted as another endpoint of the settings.
_COUNTED_AS = {
    "chat_completions": "chat",
    "model": "models",
    "answer": "run",
    "resume": "answer",
    "answer_interrupt": "answer",
}


class Caller(NamedTuple):
    """Identifies a principal. `user_id` is the user of the runs that it starts."""

    user_id: str


class Callers:
    """Identifies callers by address; `trusted` proxies tell another one. `count` raises RateLimitedError."""

    def __init__(self, trusted: Networks, count: Callable[[str, str], Awaitable[None]]) -> None:
        self._trusted = trusted
        self._count = count

    async def caller(self, request: Request) -> Caller:
        """Return who sent a request, and count it against the rates of its endpoint."""
        host = None if request.client is None else request.client.host
        principal = of_http_client(host, request.headers.getlist("x-forwarded-for"), self._trusted)
        route = str(request.scope["route"].name)
        await self._count(principal.user_id, _COUNTED_AS.get(route, route))
        return Caller(principal.user_id)


async def caller_of(request: Request) -> Caller:
    """Return who sent a request. Raises RateLimitedError."""
    callers: Callers = request.app.state.callers
    return await callers.caller(request)
