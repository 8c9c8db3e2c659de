"""Finds configuration by precedence: in the settings' folder, the shipped one, those of packages.

Capabilities are found by entry point (group `jeeves.capabilities`) and only those that the settings name are used; each
brings the pipelines and prompts in the folder `configs` of its package.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from runtime.errors import SettingsError, UnknownNameError
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.loading import load_pipeline
from runtime.settings import Settings, shipped_config_dir
from serve.contributions import capability_named, configs_of, is_own


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


def config_folders(settings: Settings) -> list[Path]:
    """Return the folders that are searched for configuration, in order of precedence."""
    return [folder for folder in (settings.config_dir, shipped_config_dir()) if folder is not None]


def capability_folders(settings: Settings, capability: str) -> list[Path]:
    """Return the folders that are searched for prompts and settings of a capability, in order of precedence."""
    brought = package_folders(settings).get(capability)
    return [*config_folders(settings), *([brought] if brought else [])]
