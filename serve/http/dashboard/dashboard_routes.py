"""Adds the pages of the dashboard: runs, one run, its decisions, and the system.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

import asyncio
from typing import Annotated, Literal

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.responses import RedirectResponse

from serve.asked_runs import shortened
from serve.http.access.callers import Caller, caller_of
from serve.http.access.token_check import TokenCheck
from serve.http.answering.service import Service
from serve.http.dashboard.action_routes import add_actions
from serve.http.dashboard.addresses import DASHBOARD, LIVE, OPEN, RUNS, SYSTEM, SYSTEM_LIVE, run_address, with_query
from serve.http.dashboard.live_routes import add_live
from serve.http.dashboard.login_routes import SEE_OTHER, add_login
from serve.http.dashboard.page_frame import Frame, page, page_response
from serve.http.dashboard.page_sessions import PageSessions
from serve.http.dashboard.page_views import PageViews
from serve.http.dashboard.run_list_page import (
    ask_form,
    health_strip,
    list_digest,
    list_query,
    list_section,
    now_section,
    run_table,
)
from serve.http.dashboard.run_rows import MAX_ROWS, ROWS, State, Wanted
from serve.http.dashboard.run_view_page import decisions_content, run_content, run_parts
from serve.http.dashboard.system_page import system_content, system_parts
from serve.http.documents.run_documents import PLAIN, checked_run_id, is_run_id, place_of_page
from serve.run_fragments import told

Asking = Annotated[Caller, Depends(caller_of)]
Callers = Literal["own", "all"]


def add_dashboard(api: FastAPI, service: Service, check: TokenCheck, sessions: PageSessions) -> None:
    """Add the routes."""
    views = PageViews(service, sessions)
    add_login(api, check, sessions)
    add_live(api, views)
    add_actions(api, views, sessions)
    _add_lists(api, views)
    _add_runs(api, views)


def _add_lists(api: FastAPI, views: PageViews) -> None:
    @api.get(DASHBOARD, name="dashboard", include_in_schema=False)
    async def runs(
        request: Request,
        caller: Asking,
        state: State = "all",
        callers: Callers = "own",
        limit: Annotated[int, Query(ge=1, le=MAX_ROWS), PLAIN] = ROWS,
        before: str | None = None,
        started: str = "",
    ) -> Response:
        frame = views.frame(request, caller)
        wanted = Wanted(state, callers == "all", limit, place_of_page(before))
        content, digest = await _overview(views, caller, wanted, frame, started)
        live = "" if before or not digest else with_query(LIVE, **list_query(wanted), known=digest)
        return page_response(page("Runs", content, frame, at=DASHBOARD, live=live))

    @api.get(SYSTEM, name="dashboard_system", include_in_schema=False)
    async def system(request: Request, caller: Asking) -> Response:
        parts = system_parts(await views.system())
        return page_response(
            page("System", system_content(parts), views.frame(request, caller), at=SYSTEM, live=SYSTEM_LIVE)
        )

    @api.get(OPEN, name="dashboard_open", include_in_schema=False)
    async def open_run(caller: Asking, run: Annotated[str, Query(max_length=200)] = "") -> Response:
        run_id = checked_run_id(run.strip())
        await views.service.envelope(run_id, caller)
        return RedirectResponse(run_address(run_id), SEE_OTHER)


async def _overview(views: PageViews, caller: Caller, wanted: Wanted, frame: Frame, started: str) -> tuple[str, str]:
    """Return the content of the first page, as far as the caller may see it, and the digest of its list, if any."""
    parts = ['<h1 class="hidden">Runs</h1>']
    if is_run_id(started):
        parts.append(f'<p class="notice" role="status">Run {told(started)} has begun.</p>')
    asks = ask_form(views.asked, frame) if frame.may("ask") else ""
    if not frame.may("watch", "operate"):
        return "".join([*parts, asks, '<p class="dim">To see runs takes a token with the scope watch.</p>']), ""
    system, rows, (now, has_more) = await asyncio.gather(
        views.system(), asyncio.to_thread(views.rows.rows, caller, wanted), views.now(caller, wanted.everybody)
    )
    parts.append(f'<div id="health">{health_strip(system.health, frame)}</div>')
    parts.append(
        '<section aria-labelledby="now-title"><h2 id="now-title">Now</h2>'
        f'<div id="now">{now_section(now, has_more, views.now_ms())}</div></section>'
    )
    table = run_table(rows, wanted)
    return "".join([*parts, asks, list_section(table, wanted, frame)]), list_digest(table)


def _add_runs(api: FastAPI, views: PageViews) -> None:
    @api.get(RUNS + "/{run_id}", name="dashboard_run", include_in_schema=False)
    async def run(run_id: str, request: Request, caller: Asking) -> Response:
        view = await views.run(checked_run_id(run_id), caller)
        request.state.run_id = view.envelope.run_id
        frame = views.frame(request, caller)
        is_over = view.envelope.lifecycle == "terminated"
        live = "" if is_over else run_address(view.envelope.run_id, "live")
        title = shortened(view.envelope.request.raw_input, 80) or view.envelope.run_id
        return page_response(page(title, run_content(view, run_parts(view, frame)), frame, live=live))

    @api.get(RUNS + "/{run_id}/decisions", name="dashboard_decisions", include_in_schema=False)
    async def decisions(
        run_id: str, request: Request, caller: Asking, first: Annotated[int, Query(ge=0, le=10**9), PLAIN] = 0
    ) -> Response:
        known = checked_run_id(run_id)
        question, reasons = await views.decisions(known, caller)
        request.state.run_id = known
        content = decisions_content(known, shortened(question), reasons, first)
        return page_response(page("Decisions", content, views.frame(request, caller)))
