"""Runs `jeeves validate`: reports all faults in configuration, with file, line and key.

Checks pipelines, settings, model files, contracts and prompts, given as files or by name. A pipeline is
valid if all that it names is there as well: capability, agents, tools, prompts, model roles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from runtime.contracts.loading import load_contract
from runtime.errors import DocumentFaults, JeevesError
from runtime.llm.model_file import load_models
from runtime.llm.prompts import read_prompt
from runtime.llm.provider import all_providers
from runtime.pipeline.loading import examine, load_pipeline
from runtime.primitives.yaml_documents import Document, Fault, KeyPath, load_yaml, raise_faults
from runtime.settings import Settings, load_settings
from serve.capability_sections import section_faults
from serve.cli.inputs import with_models
from serve.cli.output.pipeline_graph import mermaid
from serve.cli.output.terminal import counted, say, say_json, warn_line
from serve.contributions import capabilities, providers
from serve.llm.resources import described
from serve.pipeline_files import capability_spec, config_folders, load_named_pipeline, package_folders, pipeline_files
from serve.pipeline_names import problems_of_names

# Without these nothing can be told of the other names.
_NAMING = frozenset({("name",), ("capability",)})
_SUFFIXES = (".yaml", ".yml", ".md")
DSN = "JEEVES_STORE__DSN"
# Where a file is only checked, the secret need not be there.
ANY_DSN = "postgresql://localhost/jeeves"


class Valid(msgspec.Struct, frozen=True):
    """Describes a document without faults: its kind, what it is in words, further lines, and a graph if asked for."""

    kind: str
    told: str
    details: tuple[str, ...] = ()
    graph: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """Reports on one document that was named on the command line."""

    source: str
    valid: bool
    kind: str = ""
    told: str = ""
    details: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def validate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|NAME...",
            help="Pipelines, settings, model files, contracts (YAML), prompts (Markdown): files, or names of these.",
        ),
    ],
    graph: Annotated[bool, typer.Option("--graph", help="Print each pipeline as a Mermaid flowchart.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one verdict for each document as JSON.")] = False,
    models: Annotated[str | None, typer.Option(help="Model file that has the roles of the pipelines.")] = None,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file to check names with.")] = None,
) -> None:
    """Check files and report all faults at once; exit status 2 if there are any."""
    settings = load_settings(config)
    if models is not None:
        settings = with_models(settings, settings.reasoner, models)
    verdicts: list[Verdict] = []
    for source in sources:
        for file in _files_of(settings, source):
            verdict, drawn = _verdict(settings, file, graph)
            verdicts.append(verdict)
            if not as_json and verdict.valid:
                say(drawn or _text(verdict))
    if as_json:
        say_json(msgspec.to_builtins(verdicts))
    else:
        for fault in (fault for verdict in verdicts for fault in verdict.faults):
            warn_line(fault)
    if not all(verdict.valid for verdict in verdicts):
        raise typer.Exit(2)


def _text(verdict: Verdict) -> str:
    return f"{verdict.source}: {verdict.told}, valid\n" + "".join(f"  {line}\n" for line in verdict.details)


def _verdict(settings: Settings, file: Path, graph: bool) -> tuple[Verdict, str | None]:
    try:
        found = _checked(settings, file, graph)
    except DocumentFaults as error:
        return Verdict(str(file), False, faults=tuple(map(str, error.values["faults"]))), None
    except JeevesError as error:
        return Verdict(str(file), False, faults=(f"{file}: {error.message}",)), None
    return Verdict(str(file), True, found.kind, found.told, found.details), found.graph


def _files_of(settings: Settings, source: str) -> list[Path]:
    """Return the file that `source` is, or those of the pipeline, model file and prompts of that name."""
    path = Path(source)
    if path.exists() or path.suffix in _SUFFIXES or len(path.parts) > 1:
        return [path]
    folders = [*config_folders(settings), *package_folders(settings).values()]
    models = [folder / "models" / f"{source}.yaml" for folder in folders]
    found = [pipeline_files(settings)[source]] if source in pipeline_files(settings) else []
    found += [file for file in models if file.is_file()][:1]
    name, _, version = source.partition("@")
    prompts = f"prompts/*/{name}.{version or '*'}.md"
    found += sorted(file for folder in folders for file in folder.glob(prompts)) if name.isidentifier() else []
    return found or [path]  # reading it reports that it is not there


def _checked(settings: Settings, file: Path, graph: bool) -> Valid:
    """Return what a file holds. Raises DocumentFaults with all of its faults, and JeevesError."""
    if file.suffix == ".md":
        return Valid("prompt", f"prompt {read_prompt(file).label}")
    if not file.exists() and file.suffix not in _SUFFIXES and len(file.parts) == 1:
        known = ", ".join(sorted(pipeline_files(settings)))
        problem = f"neither a file nor the name of a pipeline, model file or prompt; pipelines: {known}"
        raise_faults([Fault(str(file), None, "", problem)])
    data = load_yaml(file).data
    return next(check for fits, check in _KINDS if fits(data))(settings, file, graph)


def _model_file(_settings: Settings, file: Path, _graph: bool) -> Valid:
    models = load_models(file, contributed=providers())
    lines = tuple(described(models, all_providers(providers())))
    told = f"{counted(len(models.deployments), 'model')}, {counted(len(models.roles), 'role')}"
    return Valid("models", told, lines)


def _contract(_settings: Settings, file: Path, _graph: bool) -> Valid:
    contract = load_contract(file)
    checks = [f"{key}: {check.name}" for key in contract.order for check in contract.phases[key].checks]
    told = f"contract '{contract.name}', {counted(len(contract.phases), 'phase')}, {counted(len(checks), 'check')}"
    return Valid("contract", told, tuple(checks))


def _pipeline(settings: Settings, file: Path, graph: bool) -> Valid:
    """Check a pipeline; for a graph, its own structure alone, so that one can be drawn before its agents exist."""
    if graph:
        pipeline = load_pipeline(file)
        return Valid("pipeline", pipeline.name, graph=mermaid(pipeline))
    found = examine(load_yaml(file))
    names = [] if found.config is None or found.refused & _NAMING else problems_of_names(settings, found.config)
    more = [found.document.fault(path, problem) for path, problem in names if path not in found.refused]
    raise_faults([*found.faults, *more])
    assert found.config is not None  # else there are faults
    return Valid("pipeline", f"pipeline '{found.config.name}', {counted(len(found.config.agents), 'stage')}")


def _settings(_settings_in_use: Settings, file: Path, _graph: bool) -> Valid:
    document = load_yaml(file)
    settings = load_settings(file, env={"HOME": str(Path.home()), **_secret_of_store(document)})
    problems = [document.fault(path, problem) for path, problem in _problems_of_settings(settings)]
    raise_faults([*problems, *section_faults(settings)])
    return Valid("settings", "settings")


def _secret_of_store(document: Document) -> dict[str, str]:
    """Return the variable with the secret of a store that is on a server, which stands in no file."""
    store = document.data.get("store") if isinstance(document.data, dict) else None
    is_on_server = isinstance(store, dict) and store.get("backend") == "postgres" and not store.get("dsn")
    return {DSN: os.environ.get(DSN) or ANY_DSN} if is_on_server else {}


def _problems_of_settings(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield a problem for each capability, pipeline and model file that the settings name and nothing has."""
    installed = capabilities()
    for number, name in enumerate(settings.capabilities):
        if name not in installed:
            yield ("capabilities", number), f"no capability '{name}' is installed; there are: {', '.join(installed)}"
    named: list[tuple[KeyPath, str]] = [(("default_pipeline",), settings.default_pipeline)]
    named += [(("warm_pipelines", number), name) for number, name in enumerate(settings.warm_pipelines)]
    for path, name in named:
        try:
            capability_spec(settings, load_named_pipeline(settings, name))
        except JeevesError as error:
            yield path, error.message
    try:
        with_models(settings, settings.reasoner, None)
    except JeevesError as error:
        yield ("models", "file"), error.message


def _has_agents(data: dict[str, Any]) -> bool:
    return "agents" in data and not isinstance(data["agents"], dict)


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Settings, Path, bool], Valid]], ...] = (
    (lambda data: isinstance(data, dict) and "deployments" in data, _model_file),
    (lambda data: isinstance(data, dict) and ("phases" in data or "gate_levels" in data), _contract),
    (lambda data: isinstance(data, dict) and ("name" in data or _has_agents(data)), _pipeline),
    (lambda data: True, _settings),
)
