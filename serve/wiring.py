"""Assembles the runtime that answers, from settings, pipelines and capabilities; no other module does.

Capabilities are found by entry point (group `jeeves.capabilities`) and only those that the settings name are used; each
brings the pipelines and prompts in the folder `configs` of its package.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from actors.lease_thread import LeaseThread
from actors.log_owner import LogOwner, never_wait
from runtime.agents.capability import Capability, load_capability, services_of
from runtime.agents.stage_runner import MODEL_REASONER, Agent
from runtime.bus.queries import LocalQueries
from runtime.codebase.files.walk import WalkOptions
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.codebase.semantics.embedding_process import embedding_process
from runtime.errors import InputError, SettingsError, UnknownNameError
from runtime.hosting.limits_service import Limits
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.client_opening import open_models
from runtime.llm.model_file import ModelsFile, load_models
from runtime.pipeline.config import PipelineConfig, as_wire
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address
from runtime.primitives.yaml_documents import Fault, raise_faults
from runtime.run.bounds import known_limits
from runtime.settings import CapabilitySection, Settings, merged_sections, read_section, shipped_config_dir
from runtime.store.opening import open_store, store_queries
from runtime.store.options import store_options
from runtime.store.parts import all_parts
from serve.contributions import capability_named, configs_of, is_own, providers, store_parts

IN_PROCESS = Address("process")
LOCAL_LOGS = 65


class PipelineFile(NamedTuple):
    """Locates the file of a pipeline; `capability`: the one whose package brings it, None for any other file."""

    path: Path
    capability: str | None = None


def found_pipelines(settings: Settings) -> dict[str, list[PipelineFile]]:
    """Return the files of each pipeline by name, in order of precedence.

    A file in `config_dir` precedes a shipped one, and that precedes one of a package.
    """
    found: dict[str, list[PipelineFile]] = {}
    for folder in config_folders(settings):
        for path in sorted((folder / "pipelines").glob("*.yaml")):
            found.setdefault(path.stem, []).append(PipelineFile(path))
    for capability, folder in package_folders(settings).items():
        for path in sorted((folder / "pipelines").glob("*.yaml")):
            found.setdefault(path.stem, []).append(PipelineFile(path, capability))
    return found


def pipeline_files(settings: Settings) -> dict[str, Path]:
    """Return the file of each pipeline by name."""
    return {name: files[0].path for name, files in found_pipelines(settings).items()}


def package_folders(settings: Settings) -> dict[str, Path]:
    """Return the folder of configuration of each enabled capability whose package has one.

    Capabilities that are not installed, or declared twice, bring nothing: that is a fault where one of them is used.
    """
    folders: dict[str, Path] = {}
    for name in settings.capabilities:
        if is_own(name):
            continue
        try:
            folder = configs_of(capability_named(name))
        except SettingsError:
            continue  # reported where the capability is used
        if folder is not None:
            folders[name] = folder
    return folders


def load_named_pipeline(settings: Settings, name: str) -> PipelineConfig:
    """Load and validate one pipeline. Raises UnknownNameError, SettingsError and DocumentFaults."""
    found = found_pipelines(settings)
    if name not in found:
        known = sorted(found)
        raise UnknownNameError(f"no pipeline is named '{name}'; known: {', '.join(known)}", name=name, known=known)
    file = found[name][0]
    # One package may bring several capabilities, with one folder for all of them.
    same = [each.capability for each in found[name] if each.path == file.path]
    if file.capability is not None and len(same) < len(found[name]):
        both = " and ".join(str(each.path) for each in found[name])
        raise SettingsError(f"pipeline '{name}' is brought by several packages: {both}; enable one of them")
    config = load_pipeline(file.path)
    if config.name != name:
        raise SettingsError(f"{file.path} holds the pipeline '{config.name}'; name the file {config.name}.yaml")
    if file.capability is not None and config.capability_id not in same:
        raise SettingsError(
            f"{file.path} names the capability '{config.capability_id}', but belongs to the package of "
            f"'{file.capability}'; a package's pipelines use its own capability"
        )
    return config


def warm_pipeline_names(settings: Settings) -> tuple[str, ...]:
    """Return the pipelines that a long-lived system keeps ready: the default one, and those that the settings add."""
    return tuple(dict.fromkeys((settings.default_pipeline, *settings.warm_pipelines)))


def capability_spec(settings: Settings, pipeline: PipelineConfig) -> str:
    """Return the "module:NAME" of the capability that `pipeline` needs. Raises SettingsError."""
    wanted = pipeline.capability_id
    if wanted not in settings.capabilities:
        listed = ", ".join(settings.capabilities)
        raise SettingsError(f"pipeline '{pipeline.name}' needs capability '{wanted}'; the settings enable {listed}")
    return capability_named(wanted)


def capability_section(settings: Settings, name: str) -> CapabilitySection:
    """Return the section of a capability: that of the settings over the file `capabilities/NAME.yaml`.

    The file is looked for as a pipeline is: in `config_dir`, among the shipped ones, in the package. Raises
    DocumentFaults.
    """
    brought = package_folders(settings).get(name)
    folders = [*config_folders(settings), *([brought] if brought else [])]
    files = (folder / "capabilities" / f"{name}.yaml" for folder in folders)
    file = next((path for path in files if path.is_file()), None)
    shipped = CapabilitySection() if file is None else read_section(file)
    return merged_sections(shipped, settings.capability_settings.get(name, CapabilitySection()))


def check_section(settings: Settings, capability: Capability) -> None:
    """Raise DocumentFaults, with file, line and key, for a section that does not fit its capability.

    These are faults of its own settings, and names of tools and agents that it does not have.
    """
    path, section = ("capability_settings", capability.id), capability_section(settings, capability.id)
    faults: list[Fault] = []
    if capability.settings is not None:
        try:
            capability.settings.model_validate(section.domain)
        except ValidationError as error:
            faults += settings.faults_below((*path, "domain"), error)
    elif section.domain:
        faults.append(settings.fault_at((*path, "domain"), f"capability '{capability.id}' has no settings of its own"))
    names = (("allowed_tools", section.allowed_tools or (), capability.tools.names()),)
    for key, given, known in (*names, ("agents", tuple(section.agents), tuple(capability.agents))):
        if unknown := sorted(set(given) - set(known)):
            problem = f"capability '{capability.id}' has no {', '.join(unknown)}; it has {', '.join(sorted(known))}"
            faults.append(settings.fault_at((*path, key), problem))
    for agent, chosen in section.agents.items():
        shipped = capability.agents[agent].profile.thresholds if agent in capability.agents else chosen.thresholds
        if unknown := sorted(set(chosen.thresholds) - set(shipped)):
            problem = f"agent '{agent}' has no {', '.join(unknown)}; it has {', '.join(sorted(shipped)) or 'none'}"
            faults.append(settings.fault_at((*path, "agents", agent, "thresholds"), problem))
    known_pipelines = pipeline_files(settings)
    for name, mode in section.modes.items():
        if mode.pipeline is not None and mode.pipeline not in known_pipelines:
            problem = f"no pipeline is named '{mode.pipeline}'; known: {', '.join(sorted(known_pipelines))}"
            faults.append(settings.fault_at((*path, "modes", name, "pipeline"), problem))
    raise_faults(faults)


def check_sections(settings: Settings) -> None:
    """Check the section of each enabled capability, as `check_section` does; one that cannot be loaded is left out."""
    for name in settings.capabilities:
        if name not in settings.capability_settings:
            continue
        try:
            capability = load_capability(capability_named(name), name)
        except SettingsError:
            continue  # reported where the capability is needed
        check_section(settings, capability)


class Mode(NamedTuple):
    """Holds how a question is asked: what a mode of its capability chooses, with what its caller chose."""

    pipeline: str
    limits: dict[str, int]
    deadline_s: float | None
    reasoner: str | None = None
    product: str | None = None


def mode_named(
    settings: Settings,
    name: str | None,
    pipeline: str | None = None,
    limits: Mapping[str, int] | None = None,
    deadline_s: float | None = None,
) -> Mode:
    """Return how a question is asked in mode `name`, or in none; a caller's bounds and the mode's can both only lower.

    Raises UnknownNameError, InputError if the caller names another pipeline than the mode, and SettingsError.
    """
    asked = pipeline or settings.default_pipeline
    config = load_named_pipeline(settings, asked)
    section = capability_section(settings, config.capability_id)
    if name is None:
        return Mode(asked, dict(limits or {}), deadline_s, None, section.product_name)
    if name not in section.modes:
        known = sorted(section.modes)
        told = f"capability '{config.capability_id}' has no mode '{name}'; it has {', '.join(known) or 'none'}"
        raise UnknownNameError(told, name=name, known=known)
    mode = section.modes[name]
    if pipeline is not None and mode.pipeline not in (None, pipeline):
        raise InputError(f"mode '{name}' runs the pipeline '{mode.pipeline}'; leave out '{pipeline}'")
    chosen = load_named_pipeline(settings, mode.pipeline or asked)
    if chosen.capability_id != config.capability_id:
        raise SettingsError(f"mode '{name}' of '{config.capability_id}' names a pipeline of '{chosen.capability_id}'")
    if unknown := sorted(set(mode.limits) - set(known_limits(chosen))):
        bounds = ", ".join(known_limits(chosen))
        raise SettingsError(f"mode '{name}': there is no bound {', '.join(unknown)}; '{chosen.name}' has {bounds}")
    bounded, deadline = lowered(mode.limits, limits or {}), earliest(mode.deadline_s, deadline_s)
    return Mode(chosen.name, bounded, deadline, mode.reasoner, section.product_name)


def modes_of(settings: Settings, pipeline: str) -> dict[str, Mode]:
    """Return the modes in which questions to a pipeline can be asked, by name, each as `mode_named` returns it."""
    section = capability_section(settings, load_named_pipeline(settings, pipeline).capability_id)
    return {name: mode_named(settings, name, mode.pipeline or pipeline) for name, mode in section.modes.items()}


def lowered(limits: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """Return the lower of two limits for each bound."""
    names = [*limits, *(name for name in others if name not in limits)]
    return {name: min(each[name] for each in (limits, others) if name in each) for name in names}


def earliest(*deadlines_s: float | None) -> float | None:
    """Return the shortest of the deadlines that are given."""
    return min((each for each in deadlines_s if each is not None), default=None)


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
    )


def index_service(settings: Settings, *, embeds: bool = True) -> IndexService:
    """Create the index service of this process; with `embeds`, it has vectors made behind refreshes if settings do."""
    folder, options = settings.state_dir / "index", index_options(settings)
    return IndexService(folder, options, embedding_process(folder, embeds=embeds and options.embeds))


def agent_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that capabilities receive, as plain data."""
    section = settings.code_index
    vectors = str(settings.state_dir / "index" / "vectors.sqlite") if section.embeddings else None
    sections = {name: capability_section(settings, name) for name in settings.capabilities}
    told: dict[str, Any] = {
        "allow_secrets": section.allow_secrets,
        "vectors": vectors,
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


def config_folders(settings: Settings) -> list[Path]:
    """Return the folders that are searched for configuration, in order of precedence."""
    return [folder for folder in (settings.config_dir, shipped_config_dir()) if folder is not None]


def prompt_folders(settings: Settings, capability: str) -> list[Path]:
    """Return the folders that are searched for prompts of a capability, in order of precedence."""
    brought = package_folders(settings).get(capability)
    return [*config_folders(settings), *([brought] if brought else [])]


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
    clock = SystemClock()
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
    )


def local_log_owner(settings: Settings, *names: str) -> LogOwner:
    """Acquire a run log for this process: one of `names`, or the first free one of those for runs without Ray.

    Raises OwnedError if every one has a live owner.
    """
    process_id = f"{os.getpid()}-{secrets.token_hex(4)}"
    given = names or ("local", *(f"local-{slot}" for slot in range(2, LOCAL_LOGS)))
    options = store_options(settings)
    return LogOwner(IN_PROCESS, process_id, options, given, SystemClock(), never_wait, prefers_clean=not names)


def limits_of(settings: Settings) -> Limits:
    """Return the rates and quotas of the settings."""
    return msgspec.convert(settings.limits.model_dump(exclude={"max_question_chars"}), Limits)


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
        "pipelines": [as_wire(pipeline) for pipeline in pipelines],
        "capabilities": specs,
        "reasoner": settings.reasoner,
        "settings": {**agent_settings(settings), "capability_names": names},
        "state_dir": str(settings.state_dir),
        "middleware": bus_middleware(settings),
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
        },
        "store": msgspec.to_builtins(store_options(settings)),
        "store_parts": store_parts(),
        "shards": settings.supervisor.shards,
        "heartbeat_s": settings.supervisor.heartbeat_s,
        "hangs_after_s": settings.supervisor.hangs_after_s,
        "limits": msgspec.to_builtins(limits_of(settings)),
    }
