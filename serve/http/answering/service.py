"""Answers what the routes of the HTTP service ask, over a system that drives runs; knows no Ray."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from prometheus_client import CollectorRegistry
from pydantic import BaseModel, ConfigDict, Field

from actors.addresses import log_keeper
from runtime.errors import InputError, JeevesError, QuestionError, RunStateError, StateStorageError, UnknownNameError
from runtime.memory.sessions import MAX_SESSION_ID_CHARS
from runtime.pipeline.run_terms import RunMode
from runtime.primitives.ids import DEFAULT_SYSTEM, RunId
from runtime.queues.work_table import QueueStats
from runtime.run.envelope import Envelope
from runtime.store.options import StoreOptions
from runtime.store.queue_counts import queue_counts
from runtime.supervision.commands import ClientEvent
from runtime.supervision.replay import client_events_of, fold
from serve.answer_document import Ask, asked_in, document_of
from serve.capability_sections import Mode, earliest, lowered
from serve.http.access.caller_slots import CallerSlots
from serve.http.access.callers import Caller
from serve.http.answering.answering_runs import AnsweringRuns, Prepare, RunSystem, Slots, nothing
from serve.http.answering.http_metrics import BusMetrics, ModelMetrics, QueueMetrics, RunMetrics, ToolMetrics
from serve.http.answering.model_state import ModelState
from serve.http.answering.readiness import Readiness
from serve.http.answering.session_views import kept_session_id, open_session
from serve.http.connections.http_limits import DEFAULT_LIMITS, HttpLimits
from serve.http.documents.idempotency import fingerprint
from serve.http.documents.problems import RefusedError
from serve.http.documents.run_documents import no_such_run
from serve.http.documents.shown_paths import shown_paths
from serve.run_logs import no_such_event, stored_run
from serve.session_names import check_session_name
from serve.stage_outputs import OutputReader, stored_output

KEEPER = "service"

log = logging.getLogger(__name__)


class ServiceSpec(msgspec.Struct, frozen=True):
    """Configures the service, in plain data.

    `limits`: pipeline → the bounds that a caller may lower; `repositories`: name → absolute path, the default first;
    `store`: where the run logs are; `models`: the model file that agents reason with, if they do; `providers`: those
    beside the kernel's own that it may name; `hosts`: names of this service beside those of the loopback interface;
    `trusted_proxies`: addresses and networks whose X-Forwarded-For is believed; `system`: the name of the system that
    answers; `tokens_required`: callers without an access token are refused; `state_folders`: callers are not shown
    their paths, nor the store's; `modes`: pipeline → mode → what it stands for, for a question that names the mode;
    `products`: pipeline → who answers; `requests_per_caller`: questions and streams of one caller at once;
    `retention_days`: how long runs are kept after their end, None: without limit; `tools`: those of the capabilities.
    """

    default_pipeline: str
    limits: dict[str, tuple[str, ...]]
    repositories: dict[str, str]
    reasoner: str
    max_question_chars: int
    store: StoreOptions
    models: dict[str, Any] | None = None
    providers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    http: HttpLimits = DEFAULT_LIMITS
    system: str = DEFAULT_SYSTEM
    modes: dict[str, dict[str, Mode]] = {}
    products: dict[str, str] = {}
    requests_per_caller: int = DEFAULT_LIMITS.max_asked
    retention_days: float | None = None
    tools: tuple[str, ...] = ()
    tokens_required: bool = False
    state_folders: tuple[str, ...] = ()


# As `serve.session_names` has it.
SESSION_ID_PATTERN = r"^([ -~]*[ -,/-~-][ -~]*|\.{3,})$"


class ChatMessage(BaseModel):
    """Carries a question."""

    model_config = ConfigDict(extra="forbid", strict=True)

    message: str = Field(min_length=1, description="The question.")
    repo: str | None = Field(default=None, description="The name of a repository; default: the first one.")
    session_id: str | None = Field(
        default=None,
        json_schema_extra={"minLength": 1, "maxLength": MAX_SESSION_ID_CHARS, "pattern": SESSION_ID_PATTERN},
    )
    pipeline: str | None = None
    mode: str | None = Field(default=None, description="A mode of the pipeline's capability.")
    limits: dict[str, Annotated[int, Field(ge=0, le=2**53)]] = Field(
        default_factory=dict, description="Bounds to lower."
    )
    deadline_s: float | None = Field(default=None, gt=0, le=3_600)
    wait: bool = Field(default=False, description="Let the run wait if it raises a question.")
    stream: bool = Field(default=False, description="Answer with the events of the run, and the answer last.")
    outputs: bool = Field(default=False, description="Of a stream: the ends of stages come with their outputs.")
    run_mode: RunMode | None = Field(default=None, description="How the pipeline runs; default: as it is configured.")


def ask_of(message: ChatMessage, spec: ServiceSpec, caller: Caller) -> Ask:
    """Return the question of a message. Raises InputError for anything this service does not accept."""
    question = message.message.strip()
    if message.outputs and not message.stream:
        raise InputError("outputs: stages' outputs come with the events of a stream; set `stream`, or leave it out")
    if not question:
        raise QuestionError("the message is empty; send a question")
    if len(question) > spec.max_question_chars:
        raise QuestionError(
            f"the message has {len(question)} characters, at most {spec.max_question_chars} are allowed"
        )
    if message.session_id is not None:
        check_session_name(message.session_id)
    repo = _repository_of(message, spec)
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
        repo=spec.repositories[repo],
        repo_name=repo,
        pipeline=pipeline,
        session_id=None if message.session_id is None else kept_session_id(caller.user_id, message.session_id),
        user_id=caller.user_id,
        limits=message.limits if mode is None else lowered(mode.limits, message.limits),
        deadline_s=message.deadline_s if mode is None else earliest(mode.deadline_s, message.deadline_s),
        wait=message.wait,
        clarify=message.wait,
        run_mode=message.run_mode,
        mode=message.mode,
        product=spec.products.get(pipeline),
    )


def fingerprint_of(message: ChatMessage) -> str:
    """Return the fingerprint of a message: the same for an answer at once and a stream, with outputs or without."""
    return fingerprint(message.model_dump(mode="json", exclude={"stream", "outputs"}))


def session_of(message: ChatMessage, service: Service, caller: Caller, ask: Ask) -> Prepare:
    """Return what records the session of a message as the caller's."""
    if message.session_id is None or ask.session_id is None:
        return nothing
    return partial(open_session, service.runs, caller.user_id, message.session_id, ask.session_id)


def _repository_of(message: ChatMessage, spec: ServiceSpec) -> str:
    """Return the name of the repository of a message. Raises InputError for a path, and UnknownNameError.

    Both have the value `repo`, from which the library makes the RepositoryError of its other doors.
    """
    name = message.repo or next(iter(spec.repositories))
    if name in spec.repositories:
        return name
    known = ", ".join(spec.repositories)
    if "/" in name or "\\" in name or name in {".", ".."}:
        told = f"repo is a name and no path; GET /api/v1/repositories lists them: {known}"
        raise InputError(told, repo=name[:100])
    told = f"repository {name[:100]!r} is not registered here; registered: {known}"
    raise UnknownNameError(told, name=name[:100], repo=name[:100])


def _mode_of(message: ChatMessage, spec: ServiceSpec, pipeline: str) -> Mode | None:
    """Return the mode that a message names. Raises UnknownNameError and InputError."""
    if message.mode is None:
        return None
    modes = spec.modes.get(pipeline, {})
    if message.mode not in modes:
        known = ", ".join(name for name, each in modes.items() if each.pipeline in spec.limits) or "none"
        raise UnknownNameError(f"there is no mode '{message.mode}' here; there are: {known}", name=message.mode)
    mode = modes[message.mode]
    if mode.pipeline not in spec.limits:
        told = f"mode '{message.mode}' runs the pipeline '{mode.pipeline}', which this service does not keep ready"
        raise UnknownNameError(f"{told}; its settings name those in warm_pipelines", name=message.mode)
    if message.pipeline is not None and message.pipeline != mode.pipeline:
        raise InputError(f"mode '{message.mode}' runs the pipeline '{mode.pipeline}'; leave out '{message.pipeline}'")
    if mode.reasoner not in (None, spec.reasoner):
        raise InputError(f"mode '{message.mode}' reasons by {mode.reasoner}, this service by {spec.reasoner}")
    return mode


class Service:
    """Answers questions and shows runs."""

    def __init__(self, runs: RunSystem, spec: ServiceSpec) -> None:
        self.runs = runs
        self.spec = spec
        self.paths = shown_paths(spec.repositories, (spec.store.folder, *spec.state_folders))
        self._streams = Slots(spec.http.max_streams, "event streams")
        # Set once the door gives up what is still under way.
        self.closing = asyncio.Event()
        self._callers = CallerSlots(spec.requests_per_caller)
        self._registry = CollectorRegistry()
        self._run_metrics = RunMetrics(self._registry)
        self._bus_metrics = BusMetrics(self._registry)
        self._model_metrics = ModelMetrics(self._registry)
        self._tool_metrics = ToolMetrics(self._registry)
        self._queue_metrics = QueueMetrics(self._registry)
        self._models = None if spec.models is None else ModelState.open(spec.models, spec.providers)
        self.answering = AnsweringRuns(runs, spec.http)
        self._readiness = Readiness(runs, spec.store, log_keeper(KEEPER, spec.system))

    async def chat(
        self, message: ChatMessage, caller: Caller, key: str | None, on_run: Callable[[RunId], None]
    ) -> dict[str, Any]:
        """Answer a question; `on_run` is called once its run is on disk."""
        ask = ask_of(message, self.spec, caller)
        opened = session_of(message, self, caller, ask)
        return await self.answer(ask, caller, key, fingerprint_of(message), on_run, opened)

    async def answer(
        self,
        ask: Ask,
        caller: Caller,
        key: str | None,
        sent: str,
        on_run: Callable[[RunId], None],
        prepare: Prepare,
    ) -> dict[str, Any]:
        """Return the answer document of a question; `prepare` is done before a new run."""
        envelope = await self.settled(ask, caller, key, sent, on_run, prepare)
        document: dict[str, Any] = self.paths.value(document_of(ask, envelope, self.spec.reasoner))
        return document

    async def settled(
        self,
        ask: Ask,
        caller: Caller,
        key: str | None,
        sent: str,
        on_run: Callable[[RunId], None],
        prepare: Prepare,
    ) -> Envelope:
        """Return the envelope of a question's run once it is over or waits; as `answer` else."""
        with self._callers.slot(caller.user_id):
            return await self.answering.settled(ask, key, sent, on_run, prepare)

    @property
    def bounds(self) -> dict[str, dict[str, int]]:
        """The slots of this door that are taken, and all of them, by what they are for."""
        return {"questions": self.answering.use, "event_streams": self._streams.use}

    @property
    def readiness_checks(self) -> Readiness:
        """The checks of the parts of the system."""
        return self._readiness

    def stream_of(self, caller: Caller) -> Callable[[], None]:
        """Take a place for an event stream, and return what gives it back.

        Raises RateLimitedError and OverloadedError if there is none for this caller, or for anybody.
        """
        of_caller = self._callers.take(caller.user_id)
        try:
            of_all = self._streams.take()
        except JeevesError:
            of_caller()
            raise

        def give_back() -> None:
            of_caller()
            of_all()

        return give_back

    async def envelope(self, run_id: RunId, caller: Caller) -> Envelope:
        """Return the envelope of a run, of this system or as another one recorded it.

        Raises UnknownNameError, in the same words and by the same steps for a run that the caller may not see.
        """
        envelope = await self._driven_envelope(run_id, caller)
        if envelope is not None:
            return envelope
        try:
            run = await asyncio.to_thread(stored_run, self.spec.store, run_id, caller.may_see)
        except UnknownNameError as error:
            raise no_such_run(run_id) from error
        return fold(run.rules, run.events).envelope

    async def _driven_envelope(self, run_id: RunId, caller: Caller) -> Envelope | None:
        """Return the envelope of a run that this system drives, if the caller may see it."""
        try:
            envelope = await self.runs.envelope(run_id)
        except UnknownNameError:
            return None
        return envelope if caller.may_see(envelope.request.user_id) else None

    async def events(self, run_id: RunId, after_seq: int) -> tuple[list[ClientEvent], bool]:
        """Return the events of a run after `after_seq` so far, and whether it is over. Raises UnknownNameError."""
        try:
            return await self.runs.events(run_id, after_seq)
        except UnknownNameError:
            run = await asyncio.to_thread(stored_run, self.spec.store, run_id, _everyone)
            shown = [event for event in client_events_of(run.rules, run.events) if event.seq > after_seq]
            return shown, fold(run.rules, run.events).envelope.lifecycle == "terminated"

    async def check_event(self, run_id: RunId, seq: int) -> None:
        """Raise InputError if a run has no event with that number; 0 is before the first one."""
        if seq > 0 and not (await self.events(run_id, seq - 1))[0]:
            raise no_such_event(run_id, seq)

    async def watch(self, run_id: RunId, after_seq: int) -> AsyncGenerator[ClientEvent, None]:
        """Yield the events of a run to its end; of a run of another system, those that are recorded."""
        try:
            async for event in self.runs.watch(run_id, after_seq):
                yield event
        except UnknownNameError:
            for event in (await self.events(run_id, after_seq))[0]:
                yield event

    def outputs_of(self, run_id: RunId) -> OutputReader:
        """Return what adds the outputs of stages to the events of a run that its caller may see."""
        return OutputReader(self.spec.store, run_id, _everyone)

    async def stage_output(self, run_id: RunId, seq: int) -> dict[str, Any]:
        """Return the output of the stage whose end is an event of a run that its caller may see.

        Raises UnknownNameError if that event brings none.
        """
        output = await asyncio.to_thread(stored_output, self.spec.store, run_id, seq, _everyone)
        shown: dict[str, Any] = self.paths.value(output)
        return shown

    async def driven(self, run_id: RunId, caller: Caller) -> None:
        """Return if this system drives the run. Raises RunStateError if another one did, else as `envelope`."""
        if await self._driven_envelope(run_id, caller) is not None:
            return
        await self.envelope(run_id, caller)
        told = f"run {run_id} is not one of this service's: it can be read here, and changed where it is driven"
        raise RunStateError(told, run_id=run_id)

    def document(self, envelope: Envelope) -> dict[str, Any]:
        """Return the answer document of a run, whatever state it is in."""
        document = document_of(asked_in(envelope.request), envelope, self.spec.reasoner)
        shown: dict[str, Any] = self.paths.value(document)
        return shown

    async def readiness(self) -> dict[str, Any]:
        """Return that everything answers that a request needs. Raises RefusedError that names what does not."""
        faults = await self._readiness.faults()
        if faults:
            raise RefusedError(503, "not_ready", "; ".join(f"{part}: {fault}" for part, fault in faults.items()))
        told: dict[str, Any] = {"status": "ready", "runs_under_way": self._readiness.runs_under_way}
        if self._models is not None:
            told["models"] = said = await self._models.look()
            if without := self._models.roles_without(said):
                why = "; ".join(f"{name}: {state}" for name, state in said.items())
                raise RefusedError(503, "llm_down", f"no model answers for the roles {', '.join(without)} ({why})")
        return told

    async def update_metrics(self) -> CollectorRegistry:
        """Return the registry, with what is counted now."""
        self._run_metrics.update(await self.runs.run_totals())
        self._queue_metrics.update(await asyncio.to_thread(_queues, self.spec.store))
        try:
            self._bus_metrics.update(await self.runs.bus_stats())
        except JeevesError:
            # The metrics then show that it does not answer.
            self._bus_metrics.update(None)
        if self._models is not None:
            self._model_metrics.update(await self.runs.model_stats())
        self._tool_metrics.update(await self.runs.tool_health())
        return self._registry


def _queues(store: StoreOptions) -> list[QueueStats]:
    """Return the counts of the work queues; none if the store does not answer."""
    try:
        return list(asyncio.run(queue_counts(store)).values())
    except StateStorageError as error:
        log.info("queues.not_counted", extra={"reason": error.message})
        return []


def _everyone(_user_id: str) -> bool:
    """Return True: whether the caller may see a run was checked before its events are read."""
    return True
