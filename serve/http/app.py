"""Serves a running system over HTTP, with a FastAPI ingress on Ray Serve.

POST /api/v1/chat/messages returns the same document as `jeeves ask --json`; the endpoints below /api/v1/runs show,
cancel, answer and fork runs; GET /health checks the replica, GET /ready the system behind it, and GET /metrics is for
Prometheus. Errors are problem+json.

Annotations are evaluated here (no `from __future__`): FastAPI reads them from the methods after Ray Serve has rewrapped
them, when names can no longer be resolved.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from pydantic import BaseModel, ConfigDict, Field
from ray import serve as ray_serve
from starlette.exceptions import HTTPException as StarletteHTTPException

from actors.actor_logs import configure_actor_logs
from actors.origin import check_origin
from actors.system import attach_system
from runtime.errors import InputError, JeevesError, UnknownNameError
from runtime.memory.sessions import check_session_id
from runtime.pipeline.config import RunMode
from runtime.primitives.ids import DEFAULT_SYSTEM, RunId
from runtime.run.envelope import Envelope
from runtime.store.options import StoreOptions
from serve.answer_document import Ask, asked_in, document_of
from serve.http.caller_slots import CallerSlots
from serve.http.http_metrics import BusMetrics, ModelMetrics, RequestMetrics, ToolMetrics
from serve.http.model_state import ModelState
from serve.http.problems import problem, problem_of
from serve.http.run_documents import EVENT_STREAM, MAX_LISTED, AnswerBody, CancelBody, ForkBody, first_wanted, stream
from serve.principals import of_http_client, trusted_networks
from serve.replica_port import keep_to_the_node
from serve.run_control import answer_run, cancel_run, permitted_run
from serve.run_logs import newest_runs
from serve.runtimes.ray_runtime import RayRuntime
from serve.wiring import Mode, earliest, lowered

MAX_BODY_BYTES = 1_000_000
MAX_ONGOING_REQUESTS = 64

api = FastAPI(title="Jeeves", version="1", description="Questions about code, answered with checked citations.")


class ServiceSpec(msgspec.Struct, frozen=True):
    """Configures a replica, in plain data.

    `limits`: pipeline → the bounds that a caller may lower; `repositories`: absolute paths that callers may name;
    `store`: where the run logs are; `system`: the name of the system that answers; `models`: the model file that agents
    reason with, if they do;
    `providers`: those beside the kernel's own that it may name; `trusted_proxies`: addresses and networks whose
    X-Forwarded-For is believed; `modes`: pipeline → mode → the fields of `Mode` for a question that names none;
    `products`: pipeline → who answers; `requests_per_caller`: answered at once by this replica.
    """

    default_pipeline: str
    limits: dict[str, tuple[str, ...]]
    repositories: tuple[str, ...]
    reasoner: str
    max_question_chars: int
    store: StoreOptions
    system: str = DEFAULT_SYSTEM
    models: dict[str, Any] | None = None
    providers: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    modes: dict[str, dict[str, Mode]] = {}
    products: dict[str, str] = {}
    requests_per_caller: int = MAX_ONGOING_REQUESTS


class ChatMessage(BaseModel):
    """Carries a question."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(min_length=1, description="The question.")
    repo: str | None = Field(default=None, description="A registered repository; default: the first one.")
    session_id: str | None = None
    pipeline: str | None = None
    mode: str | None = Field(default=None, description="A mode of the pipeline's capability.")
    limits: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict, description="Bounds to lower.")
    deadline_s: float | None = Field(default=None, gt=0, le=3_600)
    wait: bool = Field(default=False, description="Let the run wait if it raises a question.")
    run_mode: RunMode | None = Field(default=None, description="How the pipeline runs; default: as it is configured.")


def ask_of(message: ChatMessage, spec: ServiceSpec, user_id: str) -> Ask:
    """Return the question of a message. Raises InputError for anything this service does not accept."""
    question = message.message.strip()
    if not question:
        raise InputError("the message is empty; send a question")
    if len(question) > spec.max_question_chars:
        raise InputError(f"the message has {len(question)} characters, at most {spec.max_question_chars} are allowed")
    if message.session_id is not None:
        check_session_id(message.session_id)
    repo = message.repo or spec.repositories[0]
    if repo not in spec.repositories:
        known = ", ".join(spec.repositories)
        raise UnknownNameError(f"repository '{repo}' is not registered here; registered: {known}", name=repo)
    pipeline = message.pipeline or spec.default_pipeline
    mode = _mode_of(message, spec, pipeline)
    if mode is not None:
        pipeline = mode.pipeline
    if pipeline not in spec.limits:
        raise UnknownNameError(f"no pipeline is named '{pipeline}'; known: {', '.join(spec.limits)}", name=pipeline)
    unknown = sorted(set(message.limits) - set(spec.limits[pipeline]))
    if unknown:
        known = ", ".join(spec.limits[pipeline])
        raise InputError(f"limits: there is no {', '.join(unknown)}; the pipeline '{pipeline}' has {known}")
    return Ask(
        question=question,
        repo=repo,
        pipeline=pipeline,
        session_id=message.session_id,
        user_id=user_id,
        limits=message.limits if mode is None else lowered(mode.limits, message.limits),
        deadline_s=message.deadline_s if mode is None else earliest(mode.deadline_s, message.deadline_s),
        wait=message.wait,
        clarify=message.wait,
        run_mode=message.run_mode,
        mode=message.mode,
        product=spec.products.get(pipeline),
    )


def _mode_of(message: ChatMessage, spec: ServiceSpec, pipeline: str) -> Mode | None:
    """Return the mode that a message names. Raises UnknownNameError and InputError."""
    if message.mode is None:
        return None
    modes = spec.modes.get(pipeline, {})
    if message.mode not in modes:
        known = ", ".join(modes) or "none"
        raise UnknownNameError(f"there is no mode '{message.mode}' here; there are: {known}", name=message.mode)
    mode = modes[message.mode]
    if message.pipeline is not None and message.pipeline != mode.pipeline:
        raise InputError(f"mode '{message.mode}' runs the pipeline '{mode.pipeline}'; leave out '{message.pipeline}'")
    if mode.reasoner not in (None, spec.reasoner):
        raise InputError(f"mode '{message.mode}' reasons by {mode.reasoner}, this service by {spec.reasoner}")
    return mode


@api.exception_handler(RequestValidationError)
async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    places = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()]
    return problem(422, "bad_input", "; ".join(places))


@api.exception_handler(JeevesError)
async def _failed(request: Request, error: JeevesError) -> JSONResponse:
    return problem_of(error)


@api.exception_handler(StarletteHTTPException)
async def _refused(request: Request, error: StarletteHTTPException) -> JSONResponse:
    title = HTTPStatus(error.status_code).phrase
    return problem(error.status_code, title.lower().replace(" ", "_"), str(error.detail))


@api.exception_handler(Exception)
async def _broken(request: Request, error: Exception) -> JSONResponse:
    return problem(500, "internal", f"this is a bug: {type(error).__name__}; the service's log says more")


@api.middleware("http")
async def _bounded_body(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    length = request.headers.get("content-length")
    if request.method == "POST" and (length is None or not length.isdigit()):
        return problem(411, "length_required", "send the body with a Content-Length")
    if length is not None and length.isdigit() and int(length) > MAX_BODY_BYTES:
        return problem(413, "body_too_large", f"the body has {length} bytes, at most {MAX_BODY_BYTES} are allowed")
    return await call_next(request)


@ray_serve.deployment(name="jeeves-http", ray_actor_options={"num_cpus": 0}, max_ongoing_requests=MAX_ONGOING_REQUESTS)
@ray_serve.ingress(api)
class ChatService:
    """Serves requests as one replica of the HTTP service."""

    def __init__(self, spec: dict[str, Any]) -> None:
        check_origin()
        configure_actor_logs("http")
        keep_to_the_node()
        self._spec = msgspec.convert(spec, ServiceSpec)
        self._system = attach_system(self._spec.system)
        self._runtime = RayRuntime(self._system, self._spec.reasoner, cluster=None)
        self._slots = CallerSlots(self._spec.requests_per_caller)
        self._trusted = trusted_networks(self._spec.trusted_proxies)
        self._metrics = RequestMetrics(CollectorRegistry())
        self._bus_metrics = BusMetrics(self._metrics.registry)
        self._model_metrics = ModelMetrics(self._metrics.registry)
        self._tool_metrics = ToolMetrics(self._metrics.registry)
        self._models = None if self._spec.models is None else ModelState.open(self._spec.models, self._spec.providers)

    @api.post("/api/v1/chat/messages")
    async def chat(self, message: ChatMessage, request: Request) -> dict[str, Any]:
        """Answer a question about a registered repository."""
        started_s = time.perf_counter()
        user_id = await self._caller(request, "chat")
        with self._slots.slot(user_id), self._metrics.in_flight():
            document = await self._runtime.ask(ask_of(message, self._spec, user_id))
        self._metrics.answered(document, time.perf_counter() - started_s)
        return document

    @api.get("/api/v1/runs")
    async def runs(
        self, request: Request, limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 20
    ) -> list[dict[str, Any]]:
        """Return the caller's newest runs, newest first."""
        user_id = await self._caller(request, "runs")
        found = await asyncio.to_thread(newest_runs, self._spec.store, limit, user_id)
        return [msgspec.to_builtins(run) for run in found]

    @api.get("/api/v1/runs/{run_id}")
    async def run(self, run_id: str, request: Request) -> Response:
        """Return the current envelope of a run."""
        envelope = await permitted_run(self._system, RunId(run_id), await self._caller(request, "run"))
        return Response(msgspec.json.encode(envelope), media_type="application/json")

    @api.get("/api/v1/runs/{run_id}/events")
    async def events(
        self,
        run_id: str,
        request: Request,
        after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
        accept: Annotated[str, Header()] = "",
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """Return the events of a run so far as JSON or, if text/event-stream is accepted, stream them to its end."""
        after_seq = first_wanted(after, last_event_id)
        user_id = await self._caller(request, "events")
        await permitted_run(self._system, RunId(run_id), user_id)
        found, is_over = await self._system.events(RunId(run_id), after_seq)
        if EVENT_STREAM in accept:
            self._slots.check(user_id)
            events = self._slots.held(user_id, stream(self._system, RunId(run_id), after_seq))
            return StreamingResponse(events, media_type=EVENT_STREAM)
        return JSONResponse({"events": msgspec.to_builtins(found), "is_over": is_over})

    @api.post("/api/v1/runs/{run_id}/cancel")
    async def cancel(self, run_id: str, request: Request, body: CancelBody | None = None) -> dict[str, Any]:
        """Cancel a run; results of finished stages are kept."""
        reason = body.reason if body else ""
        return self._told(await cancel_run(self._system, RunId(run_id), await self._caller(request, "cancel"), reason))

    @api.post("/api/v1/runs/{run_id}/interrupts/{interrupt_id}")
    async def answer(self, run_id: str, interrupt_id: str, body: AnswerBody, request: Request) -> dict[str, Any]:
        """Answer the question that a run waits for, and resume the run."""
        user_id = await self._caller(request, "answer")
        await answer_run(self._system, RunId(run_id), interrupt_id, user_id, body.response())
        return self._told(await self._system.envelope(RunId(run_id)))

    @api.post("/api/v1/runs/{run_id}/fork", status_code=201)
    async def fork(self, run_id: str, body: ForkBody, request: Request) -> dict[str, Any]:
        """Fork a run: copy its history up to an event, and continue independently."""
        await permitted_run(self._system, RunId(run_id), await self._caller(request, "fork"))
        forked = await self._system.fork(RunId(run_id), body.at)
        return self._told(await self._system.envelope(forked))

    async def _caller(self, request: Request, endpoint: str) -> str:
        """Return the principal that a request is made by, and count the request. Raises RateLimitedError."""
        host = None if request.client is None else request.client.host
        user_id = of_http_client(host, request.headers.getlist("x-forwarded-for"), self._trusted).user_id
        await self._system.take(user_id, endpoint)
        return user_id

    def _told(self, envelope: Envelope) -> dict[str, Any]:
        return document_of(asked_in(envelope.request), envelope, self._spec.reasoner)

    @api.get("/health")
    async def health(self) -> dict[str, str]:
        """Report that this replica is alive."""
        return {"status": "alive"}

    @api.get("/ready")
    async def ready(self) -> JSONResponse:
        """Report whether the system behind this replica answers, and a model for each role of the model file."""
        try:
            running = await self._runtime.system.running()
            await self._runtime.system.bus_stats()
        except JeevesError as error:
            return problem(503, error.code, error.message)
        told: dict[str, Any] = {"status": "ready", "runs_under_way": running}
        if self._models is not None:
            told["models"] = said = await self._models.look()
            if without := self._models.roles_without(said):
                why = "; ".join(f"{name}: {state}" for name, state in said.items())
                return problem(503, "llm_down", f"no model answers for the roles {', '.join(without)} ({why})")
        return JSONResponse(told)

    @api.get("/metrics")
    async def metrics(self) -> Response:
        """Return metrics for Prometheus; those of the bus while it answers, those of models if models are used."""
        try:
            self._bus_metrics.update(await self._runtime.system.bus_stats())
        except JeevesError:
            # The metrics then show that it does not answer.
            self._bus_metrics.update(None)
        if self._models is not None:
            self._model_metrics.update(await self._system.model_stats())
        self._tool_metrics.update(await self._system.tool_health())
        return Response(generate_latest(self._metrics.registry), media_type=CONTENT_TYPE_LATEST)
