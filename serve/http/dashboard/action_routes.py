"""Adds what the forms of the dashboard do: ask, cancel, pause, resume, answer; each leads to a page.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

from collections.abc import Mapping
from typing import Annotated, Any, cast

import msgspec
from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from runtime.errors import InputError
from runtime.primitives.hashing import content_hash
from runtime.primitives.ids import RunId
from serve.http.access.callers import Caller, caller_of
from serve.http.answering.service import ChatMessage, Service, ask_of, fingerprint_of, session_of
from serve.http.dashboard.addresses import ASK, DASHBOARD, RUNS, run_address, with_query
from serve.http.dashboard.login_routes import SEE_OTHER
from serve.http.dashboard.page_admission import FORM_TOKEN, SESSION_STATE, check_form_token
from serve.http.dashboard.page_sessions import PageSessions
from serve.http.dashboard.page_views import PageViews
from serve.http.dashboard.run_question import DATA, as_reviewed, changed_texts
from serve.http.documents.request_bodies import form_fields
from serve.http.documents.run_documents import AnswerBody, checked_run_id
from serve.run_control import answer_run, cancel_run, pause_run

MAX_REASON_CHARS = 4_000
KEY_CHARS = 40

Asking = Annotated[Caller, Depends(caller_of)]
_APPROVED = {"yes": True, "no": False}


def add_actions(api: FastAPI, views: PageViews, sessions: PageSessions) -> None:
    """Add the routes."""
    service = views.service

    async def checked_form(request: Request, caller: Asking) -> dict[str, str]:
        """Return the fields of a form of ours. Raises RefusedError for one of another page."""
        fields = form_fields(await request.body())
        session = getattr(request.state, SESSION_STATE, None)
        check_form_token(fields.pop(FORM_TOKEN, ""), sessions.form_token(session, caller.user_id))
        return fields

    Form = Annotated[dict[str, str], Depends(checked_form)]  # noqa: N806 (a type, of these sessions)

    async def steered(run_id: str, request: Request, caller: Asking, _fields: Form) -> RunId:
        known = checked_run_id(run_id)
        await service.driven(known, caller)
        request.state.run_id = known
        return known

    Steered = Annotated[RunId, Depends(steered)]  # noqa: N806 (a type, of this service)

    @api.post(ASK, name="dashboard_ask", include_in_schema=False)
    async def ask(fields: Form, caller: Asking) -> Response:
        message = message_of(fields)
        asked = ask_of(message, service.spec, caller)
        sent = fingerprint_of(message)
        # A form that is sent twice, by a second click or a reload, is one question.
        key = f"page-{fields.get('key', '')[:KEY_CHARS]}-{content_hash(sent.encode())}"
        give_back = service.stream_of(caller)
        try:
            opened = session_of(message, service, caller, asked)
            run_id = await service.answering.started(asked, key, sent, lambda _run: None, opened)
        finally:
            give_back()
        may_watch = bool({"watch", "operate"} & set(caller.scopes))
        return _on_to(run_address(run_id) if may_watch else with_query(DASHBOARD, started=run_id))

    @api.post(RUNS + "/{run_id}/cancel", name="dashboard_cancel", include_in_schema=False)
    async def cancel(run: Steered, fields: Form, caller: Asking) -> Response:
        await cancel_run(service.runs, run, caller.control_id, _reason(fields))
        return _on_to(run_address(run))

    @api.post(RUNS + "/{run_id}/pause", name="dashboard_pause", include_in_schema=False)
    async def pause(run: Steered, fields: Form, caller: Asking) -> Response:
        await pause_run(service.runs, run, caller.control_id, _reason(fields))
        return _on_to(run_address(run))

    @api.post(RUNS + "/{run_id}/resume", name="dashboard_resume", include_in_schema=False)
    async def resume(run: Steered, caller: Asking, _fields: Form) -> Response:
        await answer_run(service.runs, run, None, caller.control_id, AnswerBody().response())
        return _on_to(run_address(run))

    @api.post(RUNS + "/{run_id}/answer", name="dashboard_answer", include_in_schema=False)
    async def answer(run: Steered, fields: Form, caller: Asking) -> Response:
        body = answer_of(fields)
        if body.decision is not None:
            body = await _reviewed(service, run, body, texts_of(fields))
        await answer_run(service.runs, run, fields.get("interrupt", ""), caller.control_id, body.response())
        return _on_to(run_address(run))


async def _reviewed(service: Service, run: RunId, body: AnswerBody, texts: Mapping[str, str]) -> AnswerBody:
    """Return the answer to a review with the texts that are to go out.

    Raises InputError for a changed text that the decision would drop.
    """
    interrupt = (await service.runs.envelope(run)).interrupt
    if interrupt is not None:
        interrupt = msgspec.structs.replace(interrupt, data=service.paths.value(interrupt.data))
    if body.decision == "modify":
        return body.model_copy(update={"data": as_reviewed(interrupt, texts)})
    if changed := changed_texts(interrupt, texts):
        told = f"{', '.join(changed)} was changed, and '{body.decision}' would drop that; go back, and choose"
        raise InputError(f"{told} «Approve as changed», or undo the change")
    return body


def message_of(fields: Mapping[str, str]) -> ChatMessage:
    """Return the question of a form. Raises InputError."""
    given: dict[str, Any] = {"message": fields.get("question", ""), "wait": fields.get("wait") == "yes"}
    for field, name in (("repo", "repo"), ("pipeline", "pipeline"), ("session", "session_id")):
        if fields.get(field, "").strip():
            given[name] = fields[field].strip()
    try:
        return ChatMessage(**given)
    except ValidationError as error:
        raise InputError(f"question: {error.errors()[0]['msg']}") from error


def answer_of(fields: Mapping[str, str]) -> AnswerBody:
    """Return the answer of a form to the question of a run. Raises InputError."""
    decision = fields.get("decision")
    try:
        return AnswerBody(
            text=_lines_of(fields.get("text", "")),
            approved=_APPROVED.get(fields.get("approved", "")),
            decision=cast(Any, decision),
        )
    except ValidationError as error:
        raise InputError(f"answer: {error.errors()[0]['msg']}") from error


def texts_of(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a form that go out with an answer, by name."""
    return {name.removeprefix(DATA): _lines_of(text) for name, text in fields.items() if name.startswith(DATA)}


def _lines_of(text: str) -> str:
    """Return a text with line feeds alone; forms send carriage returns before them."""
    return text.replace("\r\n", "\n")


def _reason(fields: Mapping[str, str]) -> str:
    reason = fields.get("reason", "")
    if len(reason) > MAX_REASON_CHARS:
        raise InputError(f"reason: it has {len(reason)} characters, at most {MAX_REASON_CHARS} are allowed")
    return reason


def _on_to(address: str) -> Response:
    return RedirectResponse(address, SEE_OTHER)
