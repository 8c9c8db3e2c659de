"""Shows the dashboard's errors as pages, and leads whoever is not logged in to the login and back."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.http.dashboard.addresses import DASHBOARD, LOGIN, is_page, login_address, page_of_form, run_address
from serve.http.dashboard.page_admission import header
from serve.http.dashboard.page_frame import SAFETY_FIELDS, Frame, page
from serve.http.documents.problems import PROBLEM_JSON
from serve.run_fragments import line_of, told

_TITLES = {
    400: "This request cannot be read",
    401: "Log in",
    403: "This is not permitted",
    404: "There is no such page or run",
    409: "The run has moved on",
    422: "This cannot be used",
    429: "Too many requests",
    503: "The service cannot answer now",
}


def error_page(status: int, members: dict[str, Any]) -> str:
    """Return the page of a problem document."""
    title = _TITLES.get(status, "Something went wrong")
    run_id = members.get("run_id")
    back = f'<a class="button" href="{run_address(str(run_id))}">Back to the run</a>' if run_id else ""
    content = (
        f'<section class="narrow"><h1>{title}</h1><p dir="auto">{told(str(members.get("detail", "")))}</p>'
        f'<p class="dim">Status {status}, code {line_of(str(members.get("code", "")))}</p>'
        f'<p class="row">{back}<a class="button quiet" href="{DASHBOARD}">To the runs</a>'
        f'<a class="button quiet" href="{LOGIN}">Log in with another token</a></p></section>'
    )
    return page(title, content, Frame(), is_refusal=True)


def arrival_page(address: str) -> str:
    """Return the page that leads on to `address`, from here: a browser keeps the cookie from links of other sites."""
    content = f'<h1>Jeeves</h1><p><a class="button" href="{line_of(address)}">Go on to the dashboard</a></p>'
    refresh = f'<meta http-equiv="refresh" content="0;url={line_of(address)}"><title>'
    return page("Dashboard", content, Frame()).replace("<title>", refresh, 1)


class DashboardForm:
    """Wraps the service: answers at the dashboard's addresses are safe pages, whatever went wrong."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_page(scope["path"]):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Shown(scope, send))


class _Shown:
    """Sends answers, those that are problem documents as pages."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._problem: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": list(message["headers"])}
            headers = MutableHeaders(raw=message["headers"])
            for name, value in SAFETY_FIELDS.items():
                headers[name] = value
            if headers.get("content-type", "").startswith(PROBLEM_JSON) and not self._scope["path"].endswith("/live"):
                self._problem = message
                return
        elif self._problem is not None:
            message = await self._begin(self._problem, message)
            self._problem = None
        await self._send(message)

    async def _begin(self, start: Message, message: Message) -> Message:
        """Send the head of a page instead of a problem, and return its body; problems come in one piece."""
        members = json.loads(message.get("body") or b"{}")
        headers = MutableHeaders(raw=start["headers"])
        status, text = int(start["status"]), ""
        if status == HTTPStatus.UNAUTHORIZED and header(self._scope, b"authorization") is None:
            status, text = self._unauthorized(headers)
        text = text or error_page(status, members)
        body = b"" if self._scope["method"] == "HEAD" else text.encode()
        headers["content-type"] = "text/html; charset=utf-8"
        headers["cache-control"] = "no-store"
        headers["content-length"] = str(len(body))
        await self._send({**start, "status": status})
        return {**message, "body": body}

    def _unauthorized(self, headers: MutableHeaders) -> tuple[int, str]:
        """Return status and page for whoever has no session: on to the login, or from another site first to here."""
        del headers["www-authenticate"]
        is_read = self._scope["method"] in ("GET", "HEAD")
        query = self._scope["query_string"].decode("latin-1")
        address = self._scope["path"] + (f"?{query}" if query else "")
        if is_read and header(self._scope, b"sec-fetch-site") == "cross-site":
            return int(HTTPStatus.OK), arrival_page(address)
        back_to = address if is_read else page_of_form(self._scope["path"])
        headers["location"] = login_address(back_to, has_sent=not is_read)
        return int(HTTPStatus.SEE_OTHER), "<!doctype html><title>Log in</title>"
