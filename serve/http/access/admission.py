"""Admits requests by access token and route, for the gate."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import Scope

from runtime.run.bearer_tokens import TokenRecord
from serve.http.access.scopes import OPEN_ROUTES, check_scope
from serve.http.access.token_check import TokenCheck, ended_token
from serve.http.documents.problems import RefusedError

TOKEN_STATE = "access_token"


class TokenAdmission:
    """Admits requests to the routes of an application, and leaves the token in the state of the request."""

    def __init__(self, api: FastAPI, check: TokenCheck) -> None:
        self.api = api
        self._check = check

    async def admit(self, scope: Scope) -> TokenRecord | None:
        """Return the token of a request, if it has one. Raises RefusedError."""
        route = route_at(self.api, scope)
        if route in OPEN_ROUTES:
            return None
        token = await self._check.token_of(scope)
        if route is not None:
            check_scope(token, route)
        scope.setdefault("state", {})[TOKEN_STATE] = token
        return token

    async def until_ended(self, admitted: TokenRecord) -> RefusedError:
        """Return once a token is no longer accepted."""
        await self._check.until_invalid(admitted)
        return ended_token(admitted)


def routes_of(api: FastAPI) -> dict[tuple[str, str], str]:
    """Return the names of the routes by path, as it is written, and method."""
    return {
        (str(getattr(route, "path_format", "")), method): str(getattr(route, "name", ""))
        for route in api.routes
        for method in getattr(route, "methods", None) or ()
    }


def route_at(api: FastAPI, scope: Scope) -> str | None:
    """Return the name of the route that answers a request; None if none does."""
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    for route in api.routes:
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and pattern.match(scope["path"]) and method in (getattr(route, "methods", None) or ()):
            return str(route.name)  # type: ignore[attr-defined]
    return None
