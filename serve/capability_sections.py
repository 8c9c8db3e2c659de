"""Reads and checks the settings of each capability, and chooses the mode of a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import ValidationError

from runtime.agents.capability import Capability, load_capability
from runtime.errors import InputError, SettingsError, UnknownNameError
from runtime.primitives.yaml_documents import Fault, raise_faults
from runtime.run.bounds import known_limits
from runtime.settings import CapabilitySection, Settings, merged_sections, read_section
from serve.contributions import capability_named
from serve.pipeline_files import capability_folders, load_named_pipeline, pipeline_files


def capability_section(settings: Settings, name: str) -> CapabilitySection:
    """Return the section of a capability: that of the settings over the file `capabilities/NAME.yaml`.

    The file is looked for as a pipeline is: in `config_dir`, among the shipped ones, in the package. Raises
    DocumentFaults.
    """
    files = (folder / "capabilities" / f"{name}.yaml" for folder in capability_folders(settings, name))
    file = next((path for path in files if path.is_file()), None)
    shipped = CapabilitySection() if file is None else read_section(file)
    return merged_sections(shipped, settings.capability_settings.get(name, CapabilitySection()))


def check_section(settings: Settings, capability: Capability) -> None:
    """Raise DocumentFaults, with file, line and key, for a section that does not fit its capability."""
    raise_faults(faults_of_section(settings, capability))


def faults_of_section(settings: Settings, capability: Capability) -> list[Fault]:
    """Return the faults of the section of a capability, with file, line and key.

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
    return faults


def section_faults(settings: Settings) -> list[Fault]:
    """Return the faults of the sections of all enabled capabilities; one that cannot be loaded is left out."""
    faults: list[Fault] = []
    for name in settings.capabilities:
        if name not in settings.capability_settings:
            continue
        try:
            capability = load_capability(capability_named(name), name)
        except SettingsError:
            continue  # reported where the capability is needed
        faults += faults_of_section(settings, capability)
    return faults


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
