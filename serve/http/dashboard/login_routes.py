"""Adds the pages by which a browser logs in and out, and what all pages load: style, script, icon.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.responses import RedirectResponse

from serve.http.access.callers import Caller, caller_of
from serve.http.access.known_query import check_query
from serve.http.access.token_check import TokenCheck
from serve.http.dashboard.addresses import DASHBOARD, LOGIN, LOGOUT, own_page, with_query
from serve.http.dashboard.assets import asset_at
from serve.http.dashboard.page_admission import FORM_TOKEN, SESSION_STATE, check_form_token, header, session_cookie
from serve.http.dashboard.page_frame import Frame, page, page_response
from serve.http.dashboard.page_sessions import PageSessions, cookie_name
from serve.http.documents.problems import RefusedError
from serve.http.documents.request_bodies import form_fields
from serve.run_fragments import line_of, told

SEE_OTHER = 303
KEPT_FOR_EVER = "public, max-age=31536000, immutable"

Asking = Annotated[Caller, Depends(caller_of)]


def add_login(api: FastAPI, check: TokenCheck, sessions: PageSessions) -> None:
    """Add the routes."""

    @api.get(f"{DASHBOARD}/assets/{{name}}", name="dashboard_asset", include_in_schema=False)
    async def asset(name: str, request: Request) -> Response:
        found = asset_at(request.url.path)
        if found is None:
            raise RefusedError(404, "not_found", f"there is no {name[:100]!r}; load the page again")
        return Response(found.body, media_type=found.media_type, headers={"cache-control": KEPT_FOR_EVER})

    @api.get(LOGIN, name="dashboard_login", include_in_schema=False, dependencies=[Depends(check_query)])
    async def login(
        request: Request,
        to: Annotated[str, Query()] = DASHBOARD,
        unsent: Literal["yes"] | None = None,
        without: Literal["yes"] | None = None,
    ) -> Response:
        ended = await _ended(request, check, sessions)
        if without:
            return _on_without(own_page(to), request, has_ended=bool(ended))
        said = [ended or "The session has ended."] if ended or unsent else []
        said += ["What you sent was not carried out."] if unsent else []
        return page_response(login_page(own_page(to), check.are_required, " ".join(said)))

    @api.post(LOGIN, name="dashboard_log_in", include_in_schema=False, dependencies=[Depends(check_query)])
    async def log_in(request: Request) -> Response:
        fields = form_fields(await request.body())
        to = own_page(fields.get("to", ""))
        try:
            token = await check.presented(fields.get("token", "").strip().encode())
        except RefusedError as refused:
            status = 422 if refused.status == 401 else refused.status
            return page_response(
                login_page(to, check.are_required, f"The token is not accepted: {refused.detail}."), status
            )
        former = sessions.find(session_cookie(request.scope) or "")
        if former is not None:
            sessions.end(former)
        answer = RedirectResponse(to, SEE_OTHER, {"cache-control": "no-store"})
        answer.set_cookie(
            _cookie_of(request),
            sessions.open(token),
            path=DASHBOARD,
            httponly=True,
            samesite="strict",
            secure=(header(request.scope, b"origin") or "").lower().startswith("https://"),
        )
        return answer

    @api.post(LOGOUT, name="dashboard_log_out", include_in_schema=False)
    async def log_out(request: Request, caller: Asking) -> Response:
        session = getattr(request.state, SESSION_STATE, None)
        given = form_fields(await request.body()).get(FORM_TOKEN, "")
        check_form_token(given, sessions.form_token(session, caller.user_id))
        if session is not None:
            sessions.end(session)
        answer = RedirectResponse(LOGIN, SEE_OTHER)
        _drop_cookie(answer, request)
        return answer


def login_page(to: str, is_required: bool, fault: str = "") -> str:
    """Return the page that asks for an access token and leads to `to`."""
    said = f'<p class="notice bad" role="alert" id="fault">{told(fault)}</p>' if fault else ""
    on = line_of(with_query(LOGIN, to=to, without="yes"))
    without = "" if is_required else f'<p><a href="{on}">Go on without a token</a></p>'
    content = (
        f'<section class="narrow"><h1>Log in</h1>{said}<form method="post" action="{LOGIN}" class="stack">'
        f'<input type="hidden" name="to" value="{line_of(to)}">'
        '<label for="token">Access token</label>'
        f'<input id="token" name="token" type="password" required autocomplete="current-password" spellcheck="false"'
        f"{' aria-describedby=fault' if fault else ''}>"
        '<button>Log in</button></form><p class="dim"><code>jeeves token create NAME</code> makes a token. This browser'
        f" stays logged in for 12 hours, or until the token ends.</p>{without}</section>"
    )
    return page("Log in", content, Frame())


def _on_without(to: str, request: Request, *, has_ended: bool) -> Response:
    """Lead on to a page, without the cookie of a session that has ended.

    Only here is it dropped: by it other tabs of this browser are led to the login, and not taken for somebody else.
    """
    answer = RedirectResponse(to, SEE_OTHER, {"cache-control": "no-store"})
    if has_ended:
        _drop_cookie(answer, request)
    return answer


async def _ended(request: Request, check: TokenCheck, sessions: PageSessions) -> str:
    """Return why the session of a cookie has ended; empty if it has not, or there is no cookie."""
    value = session_cookie(request.scope)
    if value is None:
        return ""
    session = sessions.find(value)
    if session is None:
        return "The session has ended."
    try:
        await check.known(session.token_id)
    except RefusedError as refused:
        if refused.status != HTTPStatus.UNAUTHORIZED:
            return ""
        # It opens nothing any more, and is kept until its time: each of its tabs is told why.
        return f"The session has ended: {refused.detail}."
    return ""


def _cookie_of(request: Request) -> str:
    return cookie_name(request.headers.get("host", ""))


def _drop_cookie(answer: Response, request: Request) -> None:
    answer.delete_cookie(_cookie_of(request), path=DASHBOARD, httponly=True, samesite="strict")
