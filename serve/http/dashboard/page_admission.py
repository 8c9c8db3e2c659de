"""Admits requests to the dashboard's pages by the cookie of a session; all others as their token says.

A cookie opens nothing but pages: the routes for programs never read one, so that no other site's page can use it
there. A form is accepted from our own pages alone: by what the browser says of its origin, and by the value that each
form carries.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import Scope

from runtime.run.bearer_tokens import TokenRecord
from serve.http.access.admission import TOKEN_STATE, TokenAdmission, route_at
from serve.http.access.scopes import OPEN_ROUTES, check_scope
from serve.http.access.token_check import TokenCheck
from serve.http.dashboard.addresses import is_page
from serve.http.dashboard.page_sessions import PageSession, PageSessions, cookie_name
from serve.http.documents.problems import RefusedError

SESSION_STATE = "page_session"
FORM_TOKEN = "form_token"

_CLOSE = {"connection": "close"}


class _LoggedIn(NamedTuple):
    """Holds what a page was admitted with."""

    token: TokenRecord
    session: PageSession


class PageAdmission:
    """Admits requests to pages, and leaves all others to the admission by token."""

    def __init__(self, tokens: TokenAdmission, check: TokenCheck, sessions: PageSessions) -> None:
        self._tokens = tokens
        self._check = check
        self._sessions = sessions

    async def admit(self, scope: Scope) -> TokenRecord | _LoggedIn | None:
        """Return the token of a request, and the session if it came with one. Raises RefusedError."""
        if not is_page(scope["path"]):
            return await self._tokens.admit(scope)
        if scope["method"] == "POST":
            check_sender(scope)
        route = route_at(self._tokens.api, scope)
        if route in OPEN_ROUTES:
            return None
        if header(scope, b"authorization") is not None:
            return await self._tokens.admit(scope)
        value = session_cookie(scope)
        if value is None:
            if self._check.are_required or _comes_from_elsewhere(scope):
                raise _no_session("log in with an access token")
            return await self._tokens.admit(scope)
        session = self._sessions.find(value)
        if session is None:
            raise _no_session("the session has ended; log in again")
        token = await self._check.known(session.token_id)
        if route is not None:
            check_scope(token, route)
        state = scope.setdefault("state", {})
        state[TOKEN_STATE], state[SESSION_STATE] = token, session
        return _LoggedIn(token, session)

    async def until_ended(self, admitted: TokenRecord | _LoggedIn) -> RefusedError:
        """Return once a token is no longer accepted, or a session has ended."""
        if not isinstance(admitted, _LoggedIn):
            return await self._tokens.until_ended(admitted)
        session_ended = asyncio.ensure_future(self._sessions.until_ended(admitted.session))
        token_ended = asyncio.ensure_future(self._tokens.until_ended(admitted.token))
        try:
            await asyncio.wait({session_ended, token_ended}, return_when=asyncio.FIRST_COMPLETED)
            return token_ended.result() if token_ended.done() else _no_session("the session has ended; log in again")
        finally:
            session_ended.cancel()
            token_ended.cancel()


def check_sender(scope: Scope) -> None:
    """Raise RefusedError unless a form was sent from a page of ours; the gate has compared the Origin.

    Browsers that send neither Sec-Fetch-Site nor Origin send a Referer, since our pages ask for one.
    """
    site = header(scope, b"sec-fetch-site")
    if site is not None:
        is_ours = site in ("same-origin", "none")
    elif header(scope, b"origin") is not None:
        is_ours = True
    else:
        referer = urlsplit(header(scope, b"referer") or "")
        is_ours = referer.netloc.lower() == (header(scope, b"host") or "").lower() != ""
    if not is_ours:
        raise RefusedError(403, "foreign_origin", "forms are accepted from the pages of this service alone", _CLOSE)


def check_form_token(given: str, expected: str) -> None:
    """Raise RefusedError unless a form carries the value that its page was given."""
    if not hmac.compare_digest(given.encode(), expected.encode()):
        detail = "this form is of an earlier session; go back, load the page again, and send it from there"
        raise RefusedError(403, "foreign_form", detail)


def session_cookie(scope: Scope) -> str | None:
    """Return the value of the session's cookie."""
    name = cookie_name(header(scope, b"host") or "")
    for part in (header(scope, b"cookie") or "").split(";"):
        each, _, value = part.strip().partition("=")
        if each == name:
            return value
    return None


def header(scope: Scope, name: bytes) -> str | None:
    """Return the first header of a name, given in small letters."""
    return next((value.decode("latin-1") for each, value in scope["headers"] if each == name), None)


def _comes_from_elsewhere(scope: Scope) -> bool:
    """Return True for a link on another site: the browser left out the cookie, which it may have."""
    return scope["method"] == "GET" and header(scope, b"sec-fetch-site") == "cross-site"


def _no_session(detail: str) -> RefusedError:
    return RefusedError(401, "no_session", detail, {"www-authenticate": 'Bearer realm="jeeves"', **_CLOSE})
