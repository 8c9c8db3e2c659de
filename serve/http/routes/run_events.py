"""Adds the routes of a run's events, and of the outputs of its stages.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

from typing import Annotated, Any

import msgspec
from fastapi import Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from serve.http.access.callers import Caller, caller_of
from serve.http.answering.service import Service
from serve.http.connections.event_stream import EVENT_STREAM, EventStream, error_event_of, formatted
from serve.http.documents.run_documents import PLAIN, PLAIN_FLAG, RUNS, checked_run_id, first_wanted
from serve.http.routes.openapi import answers_of

Asking = Annotated[Caller, Depends(caller_of)]


def add_run_events(api: FastAPI, service: Service) -> None:
    """Add the routes."""

    @api.get(RUNS + "/{run_id}/events", responses=answers_of("events", streams=True))
    async def events(
        run_id: str,
        request: Request,
        caller: Asking,
        after: Annotated[int | None, Query(ge=0, le=2**53), PLAIN] = None,
        accept: Annotated[str, Header()] = "",
        last_event_id: Annotated[str | None, Header()] = None,
        outputs: Annotated[bool, Query(description="The ends of stages come with their outputs."), PLAIN_FLAG] = False,
    ) -> Response:
        """Return the events of a run so far as JSON or, if text/event-stream is accepted, stream them to its end."""
        after_seq, known = first_wanted(after, last_event_id), checked_run_id(run_id)
        await service.envelope(known, caller)
        request.state.run_id = known
        found, is_over = await service.events(known, after_seq)
        if not found:
            await service.check_event(known, after_seq)
        if EVENT_STREAM in accept:
            give_back = service.stream_of(caller)
            followed = service.watch(known, after_seq)
            shown = service.outputs_of(known).with_outputs(followed) if outputs else followed
            parts = formatted(shown, service.paths)
            error_part = error_event_of(known, service.paths)
            return EventStream(parts, service.spec.http.stream_alive_s, give_back, error_part)
        if outputs:
            reader = service.outputs_of(known)
            found = [await reader.with_output(event) for event in found]
        return JSONResponse({"events": service.paths.value(msgspec.to_builtins(found)), "is_over": is_over})

    @api.get(RUNS + "/{run_id}/outputs/{seq}", responses=answers_of("view"))
    async def stage_output(
        run_id: str, seq: Annotated[int, Path(ge=1, le=2**53), PLAIN], request: Request, caller: Asking
    ) -> dict[str, Any]:
        """Return what the stage gave out whose end is that event of the run, whatever its size."""
        known = checked_run_id(run_id)
        await service.envelope(known, caller)
        request.state.run_id = known
        return await service.stage_output(known, seq)
