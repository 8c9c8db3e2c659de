"""Identifies who asks: the one place where an HTTP request becomes a principal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
from fastapi import Request

from runtime.errors import RateLimitedError
from runtime.hosting.limits.rate_limits import PAGES, RateState
from runtime.run.bearer_tokens import Scope, TokenRecord
from runtime.run.principal import Principal, may_control
from serve.http.access.admission import TOKEN_STATE
from serve.http.access.known_query import check_query
from serve.http.access.rate_fields import RATE_FIELDS_STATE, rate_fields
from serve.http.access.scopes import WITHOUT_TOKEN, check_scope
from serve.http.documents.idempotency import check_one_key
from serve.principals import Networks, of_http_client

# Routes that are counted as another endpoint of the settings. Forms of pages count as what they do; pages that are only
# looked at, and their streams, have rates of their own: whoever looks at several starts no work.
_COUNTED_AS = {
    "chat_completions": "chat",
    "model": "models",
    "session": "sessions",
    "delete_session": "sessions",
    "usage": "runs",
    "governance_health": "governance",
    "governance_tool": "governance",
    "answer": "run",
    "stage_output": "run",
    "resume": "answer",
    "answer_interrupt": "answer",
    "dashboard": PAGES,
    "dashboard_open": PAGES,
    "dashboard_log_out": PAGES,
    "dashboard_live": PAGES,
    "dashboard_system": PAGES,
    "dashboard_system_live": PAGES,
    "dashboard_run": PAGES,
    "dashboard_run_live": PAGES,
    "dashboard_decisions": PAGES,
    "dashboard_ask": "chat",
    "dashboard_cancel": "cancel",
    "dashboard_pause": "pause",
    "dashboard_resume": "answer",
    "dashboard_answer": "answer",
}


def counted_endpoint(route: str) -> str:
    """Return what requests of a route are counted as: an endpoint of `limits.rates_by_endpoint`, or `pages`."""
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

    `trusted` proxies tell another address. `count` raises RateLimitedError, else returns how far a principal is from
    its rate limits.
    """

    def __init__(self, trusted: Networks, count: Callable[[str, str], Awaitable[list[RateState]]]) -> None:
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
        await self._counted(request, principal.user_id, counted_endpoint(route))
        await check_query(request)
        check_one_key(request)
        return Caller(principal.user_id) if token is None else Caller(principal.user_id, token.scopes)

    async def _counted(self, request: Request, user_id: str, endpoint: str) -> None:
        """Count a request, and leave the fields of its answer that tell how many more are allowed."""
        try:
            states = await self._count(user_id, endpoint)
        except RateLimitedError as error:
            refused_at = msgspec.convert(error.values.get("rates", []), list[RateState])
            setattr(request.state, RATE_FIELDS_STATE, rate_fields(refused_at))
            raise
        setattr(request.state, RATE_FIELDS_STATE, rate_fields(states))


async def caller_of(request: Request) -> Caller:
    """Return who sent a request. Raises RateLimitedError."""
    callers: Callers = request.app.state.callers
    return await callers.caller(request)
