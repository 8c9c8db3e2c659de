"""Serves a running system over HTTP: the routes, as an ASGI application that knows no Ray.

POST /api/v1/chat/messages returns the same document as `jeeves ask --json`; the endpoints below /api/v1/runs show,
pause, resume, cancel, answer and fork runs; GET /health checks this process, GET /ready the system behind it, and
GET /metrics is for Prometheus. Errors are problem+json. What the OpenAPI document names as answers of a route is what
the route gives.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from functions inside a function.
"""

from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from itertools import chain
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Scope

from runtime.errors import JeevesError, RunStateError
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from serve.http.access.admission import TokenAdmission, routes_of
from serve.http.access.callers import Caller, Callers, caller_of
from serve.http.access.known_query import check_query
from serve.http.access.listed_runs import OF_PRINCIPAL
from serve.http.access.token_check import token_check
from serve.http.answering.run_views import run_list, run_view
from serve.http.answering.service import ChatMessage, Service
from serve.http.chat_completions.completion_routes import add_chat_completions
from serve.http.chat_completions.openai_errors import OpenAiForm
from serve.http.connections.gate import Gate
from serve.http.dashboard.addresses import is_page
from serve.http.dashboard.dashboard_routes import add_dashboard
from serve.http.dashboard.page_admission import PageAdmission
from serve.http.dashboard.page_errors import DashboardForm
from serve.http.dashboard.page_sessions import PageSessions
from serve.http.documents.problems import RefusedError, bug_detail, fault_sentence, problem, problem_of
from serve.http.documents.run_documents import (
    MAX_LISTED,
    PLAIN,
    RUNS,
    AnswerBody,
    ForkBody,
    ReasonBody,
    checked_run_id,
    last_event,
    page_after,
    place_of_page,
)
from serve.http.routes.chat_stream import chat_stream
from serve.http.routes.governance import add_governance
from serve.http.routes.openapi import (
    ANSWERED,
    answers_of,
    with_bounds,
    with_patterns,
    with_security,
    without_unused_answers,
)
from serve.http.routes.run_events import add_run_events
from serve.http.routes.sessions import add_sessions
from serve.http.routes.usage import add_usage
from serve.principals import trusted_networks
from serve.run_control import answer_run, cancel_run, pause_run

Asking = Annotated[Caller, Depends(caller_of)]


def http_app(service: Service) -> ASGIApp:
    """Return the application over a service, behind its gate."""
    api = FastAPI(
        title="Jeeves",
        version="1",
        description="Questions about code, answered with checked citations. " + ANSWERED,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    api.state.callers = Callers(trusted_networks(service.spec.trusted_proxies), service.runs.take)
    _handle_errors(api)
    _add_chat(api, service)
    _add_repositories(api, service)
    _add_run_views(api, service)
    add_run_events(api, service)
    _add_run_control(api, service)
    _add_probes(api, service)
    add_chat_completions(api, service)
    add_sessions(api, service)
    add_governance(api, service)
    add_usage(api, service)
    check = token_check(service.spec.store, service.spec.tokens_required)
    sessions = PageSessions(SystemClock().now_ms)
    add_dashboard(api, service, check, sessions)

    _describe_when_asked(api, service)

    def methods_of(scope: Scope) -> Sequence[str]:
        return methods_at(api, scope["path"])

    admission = PageAdmission(TokenAdmission(api, check), check, sessions)
    limits, shown = service.spec.http, service.paths.problem
    gate = Gate(api, limits, service.spec.hosts, methods_of, admission, shown, service.closing, takes_form)
    return DashboardForm(OpenAiForm(gate))


def _describe_when_asked(api: FastAPI, service: Service) -> None:
    """Put our own answers into the OpenAPI document, once it is asked for: few callers do, and each start would pay."""
    of_fastapi, spec = api.openapi, service.spec

    @cache
    def described() -> dict[str, Any]:
        document = of_fastapi()
        without_unused_answers(document)
        with_patterns(document)
        with_bounds(document, chain.from_iterable(spec.limits.values()), spec.max_question_chars)
        with_security(document, routes_of(api), spec.tokens_required)
        return document

    api.openapi = described  # type: ignore[method-assign] # as FastAPI has it done


def takes_form(scope: Scope) -> bool:
    """Return True for requests that carry a form: those of our pages."""
    return is_page(scope["path"])


def methods_at(api: FastAPI, path: str) -> list[str]:
    """Return the methods of the routes at a path, HEAD and OPTIONS included; empty if there is no such path."""
    found: set[str] = set()
    for route in api.routes:
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and pattern.match(path):
            found |= getattr(route, "methods", None) or set()
    if not found:
        return []
    return sorted(found | {"OPTIONS"} | ({"HEAD"} if "GET" in found else set()))


def _run_of(request: Request) -> str | None:
    run_id: str | None = getattr(request.state, "run_id", None)
    return run_id


def _handle_errors(api: FastAPI) -> None:
    @api.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, "bad_input", fault_sentence(error), _run_of(request))

    @api.exception_handler(RefusedError)
    async def _refused(request: Request, error: RefusedError) -> JSONResponse:
        return error.response(_run_of(request))

    @api.exception_handler(JeevesError)
    async def _failed(request: Request, error: JeevesError) -> JSONResponse:
        request.state.run_id = run_id = error.values.get("run_id") or _run_of(request)
        return problem_of(error, run_id)

    @api.exception_handler(StarletteHTTPException)
    async def _not_routed(request: Request, error: StarletteHTTPException) -> JSONResponse:
        title = HTTPStatus(error.status_code).phrase
        answer = problem(error.status_code, title.lower().replace(" ", "_"), str(error.detail), _run_of(request))
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            answer.headers["Allow"] = ", ".join(methods_at(api, request.url.path))
        return answer

    @api.exception_handler(Exception)
    async def _broken(request: Request, error: Exception) -> JSONResponse:
        return problem(500, "internal", bug_detail(error), _run_of(request))


def _add_chat(api: FastAPI, service: Service) -> None:
    @api.post("/api/v1/chat/messages", response_model=dict[str, Any], responses=answers_of("chat", streams=True))
    async def chat(
        message: ChatMessage,
        request: Request,
        caller: Asking,
        idempotency_key: Annotated[str | None, Header(description="The same key gives the same run.")] = None,
        last_event_id: Annotated[str | None, Header(description="Resume a stream after this event.")] = None,
    ) -> Any:
        """Answer a question about a registered repository. The run goes on if the connection breaks.

        With `stream`, the events of the run follow as server-sent events, and its answer document last.
        """

        def on_run(run_id: RunId) -> None:
            request.state.run_id = run_id

        resumed_after = last_event(last_event_id)
        if message.stream:
            return await chat_stream(service, message, caller, idempotency_key, resumed_after, on_run)
        return await service.chat(message, caller, idempotency_key, on_run)


def _add_repositories(api: FastAPI, service: Service) -> None:
    @api.get("/api/v1/repositories", responses=answers_of("repositories"))
    async def repositories(caller: Asking) -> list[dict[str, Any]]:
        """Return the repositories that can be asked about, by name; the default one is the first."""
        return [{"name": name, "is_default": not number} for number, name in enumerate(service.spec.repositories)]


def _add_run_views(api: FastAPI, service: Service) -> None:
    @api.get(RUNS, responses=answers_of("list"))
    async def runs(
        caller: Asking,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED), PLAIN] = 20,
        before: Annotated[str | None, Query(description="From the Link header of the page before.")] = None,
        principal: Annotated[str | None, Query(description=OF_PRINCIPAL)] = None,
    ) -> Response:
        """Return the caller's newest runs, newest first; the Link header leads to the next page."""
        found = await run_list(service, caller, limit, principal, place_of_page(before))
        answer = Response(msgspec.json.encode(found), media_type="application/json")
        following = page_after(found, limit)
        if following is not None:
            others = "" if principal is None else f"&principal={quote(principal, safe=':')}"
            answer.headers["Link"] = f'<{RUNS}?limit={limit}&before={following}{others}>; rel="next"'
        return answer

    @api.get(RUNS + "/{run_id}", responses=answers_of("view"))
    async def run(run_id: str, request: Request, caller: Asking) -> Response:
        """Return the current envelope of a run."""
        envelope, shown = await run_view(service, caller, checked_run_id(run_id))
        request.state.run_id = envelope.run_id
        return JSONResponse(shown)

    @api.get(RUNS + "/{run_id}/answer", responses=answers_of("answer"))
    async def answer(run_id: str, request: Request, caller: Asking) -> dict[str, Any]:
        """Return the answer document of a run that is over, or that waits for a person."""
        envelope = await service.envelope(checked_run_id(run_id), caller)
        request.state.run_id = envelope.run_id
        if envelope.lifecycle not in ("terminated", "waiting"):
            raise RunStateError(f"run {run_id} is {envelope.lifecycle}: it has no answer yet", run_id=run_id)
        return service.document(envelope)


def _add_run_control(api: FastAPI, service: Service) -> None:
    async def driven_here(run_id: str, request: Request, caller: Asking) -> RunId:
        known = checked_run_id(run_id)
        await service.driven(known, caller)
        request.state.run_id = known
        return known

    Driven = Annotated[RunId, Depends(driven_here)]  # noqa: N806 (a type, of this service)

    @api.post(RUNS + "/{run_id}/cancel", responses=answers_of("control"))
    async def cancel(run: Driven, caller: Asking, body: ReasonBody | None = None) -> dict[str, Any]:
        """Cancel a run; results of finished stages are kept."""
        reason = body.reason if body else ""
        return service.document(await cancel_run(service.runs, run, caller.control_id, reason))

    @api.post(RUNS + "/{run_id}/pause", responses=answers_of("control"))
    async def pause(run: Driven, caller: Asking, body: ReasonBody | None = None) -> dict[str, Any]:
        """Pause a run at its next step, until it is resumed."""
        reason = body.reason if body else ""
        return service.document(await pause_run(service.runs, run, caller.control_id, reason))

    @api.post(RUNS + "/{run_id}/resume", responses=answers_of("control"))
    async def resume(run: Driven, caller: Asking, body: AnswerBody | None = None) -> dict[str, Any]:
        """Resume a run that is paused or waits for a person, with the answer that it needs."""
        await answer_run(service.runs, run, None, caller.control_id, (body or AnswerBody()).response())
        return service.document(await service.runs.envelope(run))

    @api.post(RUNS + "/{run_id}/interrupts/{interrupt_id}", responses=answers_of("control"))
    async def answer_interrupt(run: Driven, interrupt_id: str, body: AnswerBody, caller: Asking) -> dict[str, Any]:
        """Answer the question that a run waits for, and resume the run."""
        await answer_run(service.runs, run, interrupt_id, caller.control_id, body.response())
        return service.document(await service.runs.envelope(run))

    @api.post(RUNS + "/{run_id}/fork", status_code=201, responses=answers_of("control", created=True))
    async def fork(run: Driven, body: ForkBody, request: Request) -> dict[str, Any]:
        """Fork a run: copy its history up to an event, and continue independently."""
        forked = await service.runs.fork(run, body.at)
        request.state.run_id = forked
        return service.document(await service.runs.envelope(forked))


def _add_probes(api: FastAPI, service: Service) -> None:
    known = [Depends(check_query)]

    @api.get("/openapi.json", name="openapi", include_in_schema=False, dependencies=known)
    async def document() -> JSONResponse:
        return JSONResponse(api.openapi())

    @api.get("/health", responses=answers_of("health"), dependencies=known)
    async def health() -> dict[str, str]:
        """Report that this process is alive."""
        return {"status": "alive"}

    @api.get("/ready", responses=answers_of("ready"), dependencies=known)
    async def ready() -> dict[str, Any]:
        """Report whether all that a request needs answers: supervisor, bus, agents, store, and the models in use."""
        return await service.readiness()

    @api.get("/metrics", response_class=PlainTextResponse, responses=answers_of("metrics"), dependencies=known)
    async def metrics() -> Response:
        """Return metrics for Prometheus; those of the bus while it answers, those of models if models are used."""
        return Response(generate_latest(await service.update_metrics()), media_type=CONTENT_TYPE_LATEST)
