"""Adds the route that shows what a caller's runs have used, and an operator what everybody's have.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

import asyncio
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query

from runtime.memory.sessions import check_session_id
from runtime.primitives.clock import SystemClock
from serve.http.access.callers import Caller, caller_of
from serve.http.answering.service import Service
from serve.http.answering.session_views import kept_session_id, told_session_ids
from serve.http.documents.run_documents import PLAIN
from serve.http.routes.openapi import answers_of
from serve.usage import HOUR_MS, by_principal, summed, used_runs

USAGE = "/api/v1/usage"
MAX_HOURS = 24 * 366

Asking = Annotated[Caller, Depends(caller_of)]


def add_usage(api: FastAPI, service: Service) -> None:
    """Add the route."""
    clock = SystemClock()

    @api.get(USAGE, responses=answers_of("list"))
    async def usage(
        caller: Asking,
        hours: Annotated[int, Query(ge=1, le=MAX_HOURS, description="Count runs that began since then."), PLAIN] = 24,
        session_id: Annotated[str | None, Query(description="Count only the runs of this session.")] = None,
    ) -> dict[str, Any]:
        """Return what the caller's runs have used: calls, tokens and cost; for an operator, that of each principal too.

        The cost is a decimal number in a string, in the currency of the prices of the model file.
        """
        if session_id is not None:
            check_session_id(session_id)
        since_ms = clock.now_ms() - hours * HOUR_MS
        own = await asyncio.to_thread(used_runs, service.spec.store, since_ms, caller.user_id)
        if session_id is not None:
            told_ids = await told_session_ids(service.runs, (run.session_id for run in own))
            # As it is kept, too: a session that was deleted has no other name.
            known_as = {session_id, kept_session_id(caller.user_id, session_id)}
            own = [run for run in own if known_as & {run.session_id, told_ids.get(run.session_id)}]
        told: dict[str, Any] = {"since_ms": since_ms, "user_id": caller.user_id, **summed(own).document()}
        if session_id is not None:
            return {**told, "session_id": session_id}
        if "operate" in caller.scopes:
            of_all = by_principal(await asyncio.to_thread(used_runs, service.spec.store, since_ms))
            told["by_principal"] = [{"user_id": name, **each.document()} for name, each in of_all.items()]
        return told
