"""Adds the routes of a caller's sessions: the list of them, one with its turns, and its deletion.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, FastAPI, Query, Response
from fastapi.responses import JSONResponse

from serve.http.access.callers import Caller, caller_of
from serve.http.answering.service import Service
from serve.http.answering.session_views import sessions_of
from serve.http.documents.run_documents import PLAIN
from serve.http.routes.openapi import answers_of

SESSIONS = "/api/v1/chat/sessions"
MAX_LISTED = 500
MAX_TURNS = 100

Asking = Annotated[Caller, Depends(caller_of)]

# An id may hold a slash. No line feed matches here: a path with one is left to the route before.
NAMED_WITH_SLASH = SESSIONS + "/{session_id:path}"


def add_sessions(api: FastAPI, service: Service) -> None:
    """Add the routes."""
    views = sessions_of(service.runs, service.spec.store, service.spec.retention_days)

    @api.get(SESSIONS, responses=answers_of("list"))
    async def sessions(
        caller: Asking,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED), PLAIN] = 20,
        before: Annotated[str | None, Query(description="From the Link header of the page before.")] = None,
    ) -> Response:
        """List the caller's sessions, the newest first; the Link header leads to the next page."""
        found, following = await views.listed(caller.user_id, limit, before)
        answer = JSONResponse(found)
        if following is not None:
            answer.headers["Link"] = f'<{SESSIONS}?limit={limit}&before={quote(following, safe="~")}>; rel="next"'
        return answer

    @api.get(SESSIONS + "/{session_id}", responses=answers_of("session"))
    @api.get(NAMED_WITH_SLASH, include_in_schema=False)
    async def session(
        session_id: str, caller: Asking, limit: Annotated[int, Query(ge=1, le=MAX_TURNS), PLAIN] = 20
    ) -> dict[str, Any]:
        """Show the newest turns of a session, the oldest of them first."""
        shown: dict[str, Any] = service.paths.value(await views.shown(caller.user_id, session_id, limit))
        return shown

    @api.delete(SESSIONS + "/{session_id}", responses=answers_of("delete"))
    @api.delete(NAMED_WITH_SLASH, include_in_schema=False)
    async def delete_session(session_id: str, caller: Asking) -> dict[str, Any]:
        """Delete the turns and the state of a session, and the remembered answers that came of it."""
        return await views.delete(caller.user_id, session_id)
