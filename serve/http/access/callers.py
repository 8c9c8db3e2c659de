"""Identifies who asks: the one place where an HTTP request becomes a principal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fastapi import Request

from runtime.run.bearer_tokens import Scope, TokenRecord
from runtime.run.principal import Principal, may_control
from serve.http.access.admission import TOKEN_STATE
from serve.http.access.scopes import WITHOUT_TOKEN, check_scope
from serve.principals import Networks, of_http_client

# Routes that are counted as another endpoint of the settings.
_COUNTED_AS = {
    "chat_completions": "chat",
    "model": "models",
    "session": "sessions",
    "delete_session": "sessions",
    "usage": "runs",
    "governance_health": "governance",
    "governance_tool": "governance",
    "answer": "run",
    "resume": "answer",
    "answer_interrupt": "answer",
}


def counted_endpoint(route: str) -> str:
    """Return the endpoint of `limits.rates_by_endpoint` that requests of a route are counted as."""
    return _COUNTED_AS.get(route, route)


class Caller(NamedTuple):
    """Identifies a principal. `user_id` is the user of the runs that it starts; `scopes`: those of its access token."""

    user_id: str
    scopes: tuple[Scope, ...] = WITHOUT_TOKEN

    @property
    def control_id(self) -> str:
        """The principal as which it sees and controls runs: with the scope `operate`, an operator."""
        if "operate" not in self.scopes:
            return self.user_id
        return Principal("operator", self.user_id.partition(":")[2]).user_id

    def may_see(self, owner_id: str) -> bool:
        """Return True if it sees and controls the runs of `owner_id`."""
        return may_control(self.control_id, owner_id)


class Callers:
    """Identifies callers by the token that they were admitted with, else by address.

    `trusted` proxies tell another address. `count` raises RateLimitedError.
    """

    def __init__(self, trusted: Networks, count: Callable[[str, str], Awaitable[None]]) -> None:
        self._trusted = trusted
        self._count = count

    async def caller(self, request: Request) -> Caller:
        """Return who sent a request, and count it against the rates of its endpoint.

        The gate has checked token and scope; the scope is checked again for routes that the gate did not find.
        """
        token: TokenRecord | None = getattr(request.state, TOKEN_STATE, None)
        route = str(request.scope["route"].name)
        check_scope(token, route)
        host = None if request.client is None else request.client.host
        name = None if token is None else token.name
        principal = of_http_client(host, request.headers.getlist("x-forwarded-for"), self._trusted, name)
        await self._count(principal.user_id, counted_endpoint(route))
        return Caller(principal.user_id) if token is None else Caller(principal.user_id, token.scopes)


async def caller_of(request: Request) -> Caller:
    """Return who sent a request. Raises RateLimitedError."""
    callers: Callers = request.app.state.callers
    return await callers.caller(request)
