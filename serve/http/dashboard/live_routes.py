"""Adds the streams that keep open pages up to date: each event replaces a part of the page by id.

    form    {token, viewer}     the value that forms of the page carry, and who sees it
    alive   {within_s}          the stream is well, and says something again within so many seconds
    put     {id, html}          replace the content of an element
    row     {id, html}          replace a row of the list
    first   {html, most}        put a row first, and keep at most so many
    over    {}                  nothing will change any more
    ended   {status, …}         the members of the problem that ended the stream

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Query, Request, Response

from runtime.primitives.ids import RunId
from serve.http.access.callers import Caller, caller_of
from serve.http.connections.event_stream import EventStream
from serve.http.dashboard.addresses import LIVE, RUNS, SYSTEM_LIVE
from serve.http.dashboard.page_frame import Frame
from serve.http.dashboard.page_views import PageViews
from serve.http.dashboard.run_list_page import (
    EARLIER,
    earlier_link,
    health_strip,
    list_digest,
    now_section,
    row_id,
    row_of,
    run_table,
)
from serve.http.dashboard.run_rows import MAX_ROWS, ROWS, Row, State, Wanted
from serve.http.dashboard.run_view_page import run_parts
from serve.http.dashboard.system_page import system_parts
from serve.http.documents.problems import members_of
from serve.http.documents.run_documents import PLAIN, checked_run_id

# A list is looked at this often. A run is shown when something happens to it, at most once in `RUN_GAP_S`.
LIST_GAP_S = 0.5
SYSTEM_GAP_S = 2.0
RUN_GAP_S = 0.25
# Without an event a run is shown again after this time: how long it has been running.
RUN_IDLE_S = 5.0
RETRY_MS = 2_000

Asking = Annotated[Caller, Depends(caller_of)]
Callers = Literal["own", "all"]


def add_live(api: FastAPI, views: PageViews) -> None:
    """Add the routes."""

    @api.get(LIVE, name="dashboard_live", include_in_schema=False)
    async def live(
        request: Request,
        caller: Asking,
        state: State = "all",
        callers: Callers = "own",
        limit: Annotated[int, Query(ge=1, le=MAX_ROWS), PLAIN] = ROWS,
        known: Annotated[str, Query(max_length=64)] = "",
    ) -> Response:
        wanted = Wanted(state, callers == "all", limit)
        # Raises here, before the stream begins, what the caller may not see.
        rows = await asyncio.to_thread(views.rows.rows, caller, wanted)
        shown = ShownRows(wanted, known)
        return _stream(views, caller, list_changes(views, caller, wanted, views.frame(request, caller), rows, shown))

    @api.get(SYSTEM_LIVE, name="dashboard_system_live", include_in_schema=False)
    async def system_live(request: Request, caller: Asking) -> Response:
        return _stream(views, caller, system_changes(views, views.frame(request, caller)))

    @api.get(RUNS + "/{run_id}/live", name="dashboard_run_live", include_in_schema=False)
    async def run_live(run_id: str, request: Request, caller: Asking) -> Response:
        known = checked_run_id(run_id)
        await views.service.envelope(known, caller)
        request.state.run_id = known
        return _stream(views, caller, run_changes(views, known, caller, views.frame(request, caller)))


def _stream(views: PageViews, caller: Caller, parts: AsyncGenerator[str, None]) -> EventStream:
    paths = views.service.paths

    def error_part(error: Exception) -> str:
        return event("ended", paths.value(members_of(error)))

    alive_s = views.service.spec.http.stream_alive_s
    alive = event("alive", {"within_s": alive_s})
    return EventStream(_begun_with(alive, parts), alive_s, views.service.stream_of(caller), error_part, alive)


async def _begun_with(first: str, parts: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    yield first
    async with aclosing(parts):
        async for part in parts:
            yield part


def event(name: str, data: dict[str, Any]) -> str:
    """Return a server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _opening(frame: Frame) -> str:
    """Return how a stream begins: after a restart of the service the forms of an open page need its value."""
    return f"retry: {RETRY_MS}\n\n{event('form', {'token': frame.form_token, 'viewer': frame.viewer})}"


class Shown:
    """Keeps what a page shows, and tells what of it has changed."""

    def __init__(self) -> None:
        self._parts: dict[str, str] = {}

    def changed(self, parts: dict[str, str]) -> list[str]:
        """Return the events that bring a page up to date."""
        events = [
            event("put", {"id": name, "html": html}) for name, html in parts.items() if self._parts.get(name) != html
        ]
        self._parts |= parts
        return events


class ShownRows:
    """Keeps the rows that a page shows, newest first. `known`: the digest of the list that it was loaded with."""

    def __init__(self, wanted: Wanted, known: str = "") -> None:
        self._wanted = wanted
        self._known = known
        self._ids: list[str] = []
        self._html: dict[str, str] = {}

    def changed(self, rows: list[Row]) -> list[str]:
        """Return the events that bring the list up to date: row by row if it only grew, else as a whole."""
        ids = [row_id(row.run) for row in rows]
        html = {name: row_of(row, self._wanted.everybody) for name, row in zip(ids, rows, strict=True)}
        if html == self._html and ids == self._ids:
            return []
        if self._known and self._known == list_digest(run_table(rows, self._wanted)):
            self._ids, self._html, self._known = ids, html, ""
            return []
        self._known = ""
        before, self._ids = self._ids, ids
        former, self._html = self._html, html
        new = next((at for at, name in enumerate(ids) if name in former), len(ids))
        has_only_grown = bool(before) and [*ids[:new], *before][: self._wanted.limit] == ids
        if not has_only_grown:
            return [event("put", {"id": "list", "html": run_table(rows, self._wanted)})]
        grown = [event("first", {"html": html[name], "most": self._wanted.limit}) for name in reversed(ids[:new])]
        if grown and len(ids) == self._wanted.limit:
            grown.append(event("put", {"id": EARLIER, "html": earlier_link(rows, self._wanted)}))
        return grown + [
            event("row", {"id": name, "html": html[name]}) for name in ids[new:] if html[name] != former.get(name)
        ]


async def list_changes(
    views: PageViews, caller: Caller, wanted: Wanted, frame: Frame, rows: list[Row], shown_rows: ShownRows
) -> AsyncGenerator[str, None]:
    """Yield what changes on the first page; `rows` are those of now."""
    shown = Shown()
    yield _opening(frame)
    while True:
        now, has_more = await views.now(caller, wanted.everybody)
        system = await views.system()
        parts = {
            "health": health_strip(system.health, frame),
            "now": now_section(now, has_more, views.now_ms()),
        }
        for each in (*shown_rows.changed(rows), *shown.changed(parts)):
            yield each
        await asyncio.sleep(LIST_GAP_S)
        rows = await asyncio.to_thread(views.rows.rows, caller, wanted)


async def system_changes(views: PageViews, frame: Frame) -> AsyncGenerator[str, None]:
    """Yield what changes on the page of the system."""
    shown = Shown()
    yield _opening(frame)
    while True:
        for each in shown.changed(system_parts(await views.system())):
            yield each
        await asyncio.sleep(SYSTEM_GAP_S)


async def run_changes(views: PageViews, run_id: RunId, caller: Caller, frame: Frame) -> AsyncGenerator[str, None]:
    """Yield what changes on the page of a run, to its end."""
    shown = Shown()
    yield _opening(frame)
    async with _happenings(views, run_id) as happened:
        while True:
            happened.clear()
            view = await views.run(run_id, caller)
            for each in shown.changed(run_parts(view, frame)):
                yield each
            if view.envelope.lifecycle == "terminated":
                yield event("over", {})
                return
            await asyncio.sleep(RUN_GAP_S)
            try:
                async with asyncio.timeout(RUN_IDLE_S):
                    await happened.wait()
            except TimeoutError:
                continue  # the page says how long the run has been running


@asynccontextmanager
async def _happenings(views: PageViews, run_id: RunId) -> AsyncIterator[asyncio.Event]:
    """Give what is set whenever something happens to a run. A watch that breaks is the caller's only by its pauses."""
    happened = asyncio.Event()

    async def watch() -> None:
        async for _ in views.service.watch(run_id, 0):
            happened.set()
        happened.set()

    watching = asyncio.ensure_future(watch())
    try:
        yield happened
    finally:
        watching.cancel()
        await asyncio.wait({watching})
        if not watching.cancelled():
            # The view of the run raises the same fault; here it is only marked as seen.
            watching.exception()
