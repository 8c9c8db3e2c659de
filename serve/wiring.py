"""Assembles the runtime that answers, from settings, pipelines and capabilities; no other module does.

Capabilities are found by entry point (group `jeeves.capabilities`) and only those that the settings name are used; each
brings the pipelines and prompts in the folder `configs` of its package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from runtime.agents.capability import load_capability
from runtime.agents.stage_runner import MODEL_REASONER, Agent
from runtime.bus.queries import LocalQueries
from runtime.codebase.files.walk import WalkOptions
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.errors import SettingsError, UnknownNameError
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.client_opening import open_models
from runtime.llm.model_file import ModelsFile, load_models
from runtime.pipeline.config import PipelineConfig, as_wire
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings, shipped_config_dir
from runtime.store.opening import open_run_log, open_store, store_queries
from runtime.store.options import store_options
from runtime.store.parts import all_parts
from runtime.store.run_log import RunLog
from serve.contributions import capability_named, configs_of, is_own, providers, store_parts


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
            continue
        if folder is not None:
            folders[name] = folder
    return folders


def load_named_pipeline(settings: Settings, name: str) -> PipelineConfig:
    """Load and validate one pipeline. Raises UnknownNameError, SettingsError and DocumentFaults."""
    found = found_pipelines(settings)
    if name not in found:
        known = sorted(found)
        raise UnknownNameError(f"no pipeline is named '{name}'; known: {', '.join(known)}", name=name, known=known)
    file, *others = found[name]
    if file.capability is not None and others:
        both = " and ".join(str(each.path) for each in found[name])
        raise SettingsError(f"pipeline '{name}' is brought by several packages: {both}; enable one of them")
    config = load_pipeline(file.path)
    if config.name != name:
        raise SettingsError(f"{file.path} holds the pipeline '{config.name}'; name the file {config.name}.yaml")
    if file.capability is not None and config.capability_id != file.capability:
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


def index_options(settings: Settings) -> IndexOptions:
    """Return the options of code indexes: which files they may include."""
    section = settings.code_index
    return IndexOptions(
        WalkOptions(
            excludes=tuple(section.excludes),
            max_file_bytes=section.max_file_bytes,
            max_files=section.max_files,
            allow_secrets=section.allow_secrets,
        )
    )


def index_service(settings: Settings) -> IndexService:
    """Create the index service of this process."""
    return IndexService(settings.state_dir / "index", index_options(settings))


def agent_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that capabilities receive, as plain data."""
    section = settings.code_index
    vectors = str(settings.state_dir / "index" / "vectors.sqlite") if section.embeddings else None
    told: dict[str, Any] = {"allow_secrets": section.allow_secrets, "vectors": vectors}
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
    settings: Settings, pipeline: PipelineConfig, index: IndexService, log: RunLog | None = None
) -> LocalRunner:
    """Create a runner in this process for one pipeline; without a `log`, open one for it."""
    clock = SystemClock()
    queries = LocalQueries()
    queries.register(index.queries())
    stores = open_store(store_options(settings), clock)
    queries.register(store_queries(all_parts(store_parts()), stores.part))
    capability = load_capability(capability_spec(settings, pipeline), pipeline.capability_id)
    shared = agent_settings(settings)
    services = capability.open_services(shared)
    models, prompts = open_models(shared, capability.id, clock)
    agents = {
        agent.name: Agent(*(agent, capability, settings.reasoner, shared, clock, queries, services, models, prompts))
        for agent in pipeline.agents
    }
    log = log or open_run_log(store_options(settings), "local")
    return LocalRunner({pipeline.name: pipeline}, {pipeline.name: agents}, log, clock)


def system_parts(settings: Settings, pipelines: list[PipelineConfig]) -> dict[str, Any]:
    """Return the fields of `actors.system.SystemSpec`, without importing Ray."""
    walk = index_options(settings).walk
    specs = {pipeline.name: capability_spec(settings, pipeline) for pipeline in pipelines}
    names = {specs[pipeline.name]: pipeline.capability_id for pipeline in pipelines}
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
            }
        },
        "store": msgspec.to_builtins(store_options(settings)),
        "store_parts": store_parts(),
        "shards": settings.supervisor.shards,
        "heartbeat_s": settings.supervisor.heartbeat_s,
        "hangs_after_s": settings.supervisor.hangs_after_s,
        "limits": settings.limits.model_dump(exclude={"max_question_chars"}),
    }
