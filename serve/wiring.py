"""Assembles the runtime that answers, from settings, pipelines and capabilities; no other module does."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import msgspec

from actors.lease_thread import LeaseThread
from actors.log_owner import LogOwner, never_wait
from actors.placement import Placement
from actors.tracing.trace_export import TraceOptions, export_traces
from runtime.agents.capability import load_capability, services_of
from runtime.agents.stage_runner import MODEL_REASONER, Agent
from runtime.bus.queries import LocalQueries
from runtime.codebase.files.walk import WalkOptions
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.codebase.semantics.embedding_process import embedding_process
from runtime.errors import UnknownNameError
from runtime.hosting.limits.limits_service import Limits
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.client_opening import open_models
from runtime.llm.model_file import ModelsFile, load_models
from runtime.memory.run_metrics import RUN_METRICS
from runtime.pipeline.config import PipelineConfig, as_wire
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address
from runtime.primitives.money import micro_of
from runtime.settings import Settings
from runtime.store.opening import open_store, store_queries
from runtime.store.options import store_options
from runtime.store.parts import all_parts
from serve.capability_sections import capability_section, check_section
from serve.contributions import CHANGE_SESSIONS, providers, store_parts
from serve.model_times import with_model_times
from serve.pipeline_files import capability_spec, config_folders, package_folders

IN_PROCESS = Address("process")
CHANGE_CONTRACT = Path(__file__).resolve().parents[1] / "configs" / "contracts" / "code_change.yaml"
LOCAL_LOGS = 65


def index_options(settings: Settings) -> IndexOptions:
    """Return the options of code indexes: which files they may include."""
    section = settings.code_index
    return IndexOptions(
        WalkOptions(
            excludes=tuple(section.excludes),
            max_file_bytes=section.max_file_bytes,
            max_files=section.max_files,
            allow_secrets=section.allow_secrets,
        ),
        timeout_s=section.timeout_s,
        memory_bytes=section.memory_bytes,
        embeds=section.embeddings,
        vector_store=section.vector_store,
    )


def index_service(settings: Settings, *, embeds: bool = True) -> IndexService:
    """Create the index service of this process; with `embeds`, it has vectors made behind refreshes if settings do."""
    folder, options = settings.state_dir / "index", index_options(settings)
    embedding = embedding_process(folder, embeds=embeds and options.embeds, store=options.vector_store)
    return IndexService(folder, options, embedding)


def agent_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that capabilities receive, as plain data."""
    section = settings.code_index
    vectors = str(settings.state_dir / "index" / "vectors.sqlite") if section.embeddings else None
    sections = {name: capability_section(settings, name) for name in settings.capabilities}
    told: dict[str, Any] = {
        "allow_secrets": section.allow_secrets,
        "state_dir": str(settings.state_dir),
        "vectors": vectors,
        "vector_store": section.vector_store,
        "question_patience_s": section.question_patience_s,
        "capability_settings": {
            name: each.model_dump(mode="json", exclude_unset=True) for name, each in sections.items()
        },
    }
    if settings.reasoner == MODEL_REASONER:
        models = models_file(settings)
        told["models"] = None if models is None else models.model_dump(mode="json")
        told["providers"] = list(providers())
        told["journal_models"] = settings.models.journal
        told["config_folders"] = [str(folder) for folder in config_folders(settings)]
        told["package_folders"] = {name: str(folder) for name, folder in package_folders(settings).items()}
    return told


def change_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings of a host of sessions of changes, as plain data."""
    return {
        "state_dir": str(settings.state_dir),
        "contract": str(CHANGE_CONTRACT),
        **settings.code_change.model_dump(mode="json"),
    }


def warm_services(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the services on the bus of a warm system, by "module:NAME", with their settings."""
    return {CHANGE_SESSIONS: change_settings(settings)}


def models_file(settings: Settings) -> ModelsFile | None:
    """Return the model file that the settings name, or None. Raises UnknownNameError and DocumentFaults."""
    named = settings.models.file
    if named is None:
        return None
    path = Path(named).expanduser()
    if not path.is_file():
        if len(path.parts) > 1:
            problem = f"there is no model file {path}; give the path of one, or a name in configs/models such as openai"
            raise UnknownNameError(problem, name=named)
        path = settings.config_path(f"models/{named.removesuffix('.yaml')}.yaml")
    return load_models(path.resolve(), settings.models.roles, providers())


def _models_used(settings: Settings) -> ModelsFile | None:
    return models_file(settings) if settings.reasoner == MODEL_REASONER else None


def bus_middleware(settings: Settings) -> tuple[dict[str, Any], ...]:
    """Return the middleware of the bus in the form that `runtime.bus.builtin_middleware.build_chain` takes."""
    breaker = settings.bus.breaker
    options: dict[str, dict[str, Any]] = {
        "circuit_breaker": {
            "failure_threshold": breaker.failure_threshold,
            "reset_timeout_s": breaker.reset_timeout_s,
            "excluded": list(breaker.excluded_types),
        }
    }
    return tuple({"use": name, **options.get(name, {})} for name in settings.bus.middleware)


def local_runner(
    settings: Settings, pipeline: PipelineConfig, index: IndexService, owner: LogOwner | None = None
) -> LocalRunner:
    """Create a runner in this process for one pipeline; without the `owner` of a log, acquire one for it.

    The log is owned until the runner is closed: no other system adopts its runs while this process lives.
    """
    export_traces(trace_options(settings), "in-process")
    clock = SystemClock()
    pipeline = with_model_times(pipeline, _models_used(settings))
    queries = LocalQueries()
    queries.register(index.queries())
    stores = open_store(store_options(settings), clock)
    queries.register(store_queries(all_parts(store_parts()), stores.part))
    capability = load_capability(capability_spec(settings, pipeline), pipeline.capability_id)
    shared = agent_settings(settings)
    check_section(settings, capability)
    services = services_of(capability, shared)
    models, prompts = open_models(shared, capability.id, clock)
    agents = {
        agent.name: Agent(*(agent, capability, settings.reasoner, shared, clock, queries, services, models, prompts))
        for agent in pipeline.agents
    }
    owner = owner or local_log_owner(settings)
    released = LeaseThread(owner).close
    limits = limits_of(settings)
    return LocalRunner(
        *({pipeline.name: pipeline}, {pipeline.name: agents}, owner.log, clock, limits.of_runs(), limits.limiter()),
        epoch=owner.epoch,
        on_closed=released,
        calls_models=settings.reasoner == MODEL_REASONER,
        keep_metrics=stores.part(RUN_METRICS).add,
    )


def local_log_owner(settings: Settings, *names: str) -> LogOwner:
    """Acquire a run log for this process: one of `names`, or the first free one of those for runs without Ray.

    Raises OwnedError if every one has a live owner.
    """
    process_id = f"{os.getpid()}-{secrets.token_hex(4)}"
    given = names or ("local", *(f"local-{slot}" for slot in range(2, LOCAL_LOGS)))
    options = store_options(settings)
    return LogOwner(IN_PROCESS, process_id, options, given, SystemClock(), never_wait, prefers_clean=not names)


def trace_options(settings: Settings) -> TraceOptions:
    """Return where spans are sent, and of how many runs."""
    return TraceOptions(**settings.traces.model_dump())


def limits_of(settings: Settings) -> Limits:
    """Return the rates and quotas of the settings."""
    told = settings.limits.model_dump(exclude={"max_question_chars"})
    costs = {name: told["quotas"][name] for name in ("cost_per_day", "run_cost")}
    told["quotas"] |= {name: None if cost is None else micro_of(cost) for name, cost in costs.items()}
    return msgspec.convert(told, Limits)


def system_parts(settings: Settings, pipelines: list[PipelineConfig]) -> dict[str, Any]:
    """Return the fields of `actors.system.SystemSpec`, without importing Ray."""
    indexing = index_options(settings)
    walk = indexing.walk
    specs = {pipeline.name: capability_spec(settings, pipeline) for pipeline in pipelines}
    names = {specs[pipeline.name]: pipeline.capability_id for pipeline in pipelines}
    for spec, name in names.items():
        if name in settings.capability_settings:
            # Faults are told here, with file and line, before any actor starts.
            check_section(settings, load_capability(spec, name))
    return {
        "pipelines": [_wire_of(settings, pipeline) for pipeline in pipelines],
        "capabilities": specs,
        "reasoner": settings.reasoner,
        "settings": {**agent_settings(settings), "capability_names": names},
        "state_dir": str(settings.state_dir),
        "middleware": bus_middleware(settings),
        "links": settings.bus.links,
        "index_options": {
            "walk": {
                "excludes": walk.excludes,
                "max_file_bytes": walk.max_file_bytes,
                "max_files": walk.max_files,
                "allow_secrets": walk.allow_secrets,
            },
            "timeout_s": indexing.timeout_s,
            "memory_bytes": indexing.memory_bytes,
            "embeds": indexing.embeds,
            "vector_store": indexing.vector_store,
        },
        "store": msgspec.to_builtins(store_options(settings)),
        "store_parts": store_parts(),
        "shards": settings.supervisor.shards,
        "placement": Placement(settings.agents.placement, settings.supervisor.placement, settings.ray.nodes),
        "heartbeat_s": settings.supervisor.heartbeat_s,
        "hangs_after_s": settings.supervisor.hangs_after_s,
        "abandoned_after_s": settings.supervisor.abandoned_after_s,
        "limits": msgspec.to_builtins(limits_of(settings)),
    }


def _wire_of(settings: Settings, pipeline: PipelineConfig) -> dict[str, Any]:
    """Return the wire form of a pipeline, with the times that models need and the settings' number of replicas."""
    wire = as_wire(with_model_times(pipeline, _models_used(settings)))
    says = {agent.name for agent in pipeline.agents if "replicas" in agent.model_fields_set}
    replicas = settings.agents.replicas
    return {
        **wire,
        "agents": [agent if agent["name"] in says else {**agent, "replicas": replicas} for agent in wire["agents"]],
    }
