"""Runs `jeeves doctor`: checks the installation, and names the command that fixes a problem."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from runtime.errors import JeevesError
from runtime.settings import Settings, load_settings, open_state_dir
from serve.cli.terminal import say_json, say_line

Verdict = Literal["ok", "missing", "failed"]

PACKAGES = ("ray", "msgspec", "pydantic", "tree-sitter", "tree-sitter-python", "prometheus-client")
OPTIONAL_PROGRAMS = {"git": "apt-get install git", "rg": "apt-get install ripgrep"}
MIN_PYTHON = (3, 11)


class Check(msgspec.Struct, frozen=True):
    """Records the result of one check. `needed` is False for optional parts."""

    name: str
    verdict: Verdict
    detail: str
    mend: str = ""
    needed: bool = True


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Check this installation; exit status 1 if something required is missing."""
    settings = load_settings(config)
    checks = [check for look in LOOKS for check in look(settings)]
    if as_json:
        say_json([msgspec.to_builtins(check) for check in checks])
    else:
        for check in checks:
            mend = f"  → {check.mend}" if check.mend and check.verdict != "ok" else ""
            say_line(f"{check.verdict:8}{check.name:24}{check.detail}{mend}")
    if any(check.needed and check.verdict != "ok" for check in checks):
        raise typer.Exit(1)


def _python(settings: Settings) -> Iterator[Check]:
    running = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info[:2] >= MIN_PYTHON
    yield Check("python", "ok" if good else "failed", running, "install Python 3.11, 3.12 or 3.13")


def _packages(settings: Settings) -> Iterator[Check]:
    for name in PACKAGES:
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "missing", "not installed", f"pip install {name}")


def _code(settings: Settings) -> Iterator[Check]:
    from actors.origin import check_origin

    try:
        check_origin()
    except JeevesError as error:
        yield Check("own code", "failed", error.message, "start jeeves from another folder")
    else:
        yield Check("own code", "ok", "runtime, actors and serve are those of this installation")


def _storage(settings: Settings) -> Iterator[Check]:
    try:
        open_state_dir(settings.state_dir)
    except JeevesError as error:
        yield Check("state folder", "failed", error.message)
    else:
        free_gib = shutil.disk_usage(settings.state_dir).free / 2**30
        yield Check("state folder", "ok", f"{settings.state_dir}, {free_gib:.1f} GiB free")


def _store(settings: Settings) -> Iterator[Check]:
    """Check that each existing part of the store can be read, and report the version of its schema."""
    from runtime.store.opening import part_state
    from runtime.store.options import store_options
    from runtime.store.parts import all_parts
    from serve.contributions import store_parts

    options = store_options(settings)
    try:
        parts = [part for part in all_parts(store_parts()) if part.shares is None]
    except JeevesError as error:
        yield Check("store", "failed", error.message, "name a part that is installed, or take the package away")
        return
    for part in parts:
        try:
            yield Check(f"store {part.name}", "ok", part_state(options, part))
        except JeevesError as error:
            yield Check(f"store {part.name}", "failed", error.message, "docs/store.md tells what each problem asks for")
            if error.values.get("problem") in ("away", "refused", None):
                return  # the same for all of them


def _pipelines(settings: Settings) -> Iterator[Check]:
    from serve.wiring import capability_spec, load_named_pipeline, pipeline_files

    for name in pipeline_files(settings):
        try:
            pipeline = load_named_pipeline(settings, name)
            spec = capability_spec(settings, pipeline)
        except JeevesError as error:
            yield Check(f"pipeline {name}", "failed", error.message, "jeeves validate FILE")
        else:
            yield Check(f"pipeline {name}", "ok", f"{len(pipeline.agents)} stages, {spec}")


def _models(settings: Settings) -> Iterator[Check]:
    """Check the deployments that roles of the model file use, without a request."""
    if settings.models.file is None:
        return
    from runtime.llm.client_opening import check_deployment
    from runtime.llm.provider import all_providers
    from serve.contributions import providers
    from serve.wiring import models_file

    try:
        known, models = all_providers(providers()), models_file(settings)
    except JeevesError as error:
        yield Check("models", "failed", error.message, "jeeves validate FILE")
        return
    used = {} if models is None else {name: models.deployments[name] for name in models.used_deployments()}
    for name, deployment in used.items():
        try:
            check_deployment(deployment, known)
        except JeevesError as error:
            yield Check(f"model {name}", "failed", error.message)
        else:
            yield Check(f"model {name}", "ok", known[deployment.backend].told(name, deployment).partition(": ")[2])


def _capabilities(settings: Settings) -> Iterator[Check]:
    from runtime.agents.capability import load_capability
    from serve.contributions import capability_named
    from serve.wiring import found_pipelines

    found = found_pipelines(settings)
    for name in settings.capabilities:
        try:
            capability = load_capability(capability_named(name), name)
        except JeevesError as error:
            mend = "pip install the package, or change `capabilities`"
            yield Check(f"capability {name}", "failed", error.message, mend)
            continue
        brought = [pipeline for pipeline, files in found.items() if any(file.capability == name for file in files)]
        lacking = [pipeline for pipeline in capability.pipelines if pipeline not in found]
        hidden = [pipeline for pipeline in brought if found[pipeline][0].capability is None]
        names = dict.fromkeys((*capability.pipelines, *brought))
        detail, mend = f"{len(names)} pipelines", ""
        if lacking:
            detail, mend = f"no file of pipeline {', '.join(lacking)}", "put it into pipelines/ of config_dir"
        elif hidden:
            detail = f"{found[hidden[0]][0].path} hides its pipeline {', '.join(hidden)}"
            mend = "rename the pipeline of the package, unless the other one is meant"
        yield Check(f"capability {name}", "failed" if lacking else "ok", detail, mend)


def _programs(settings: Settings) -> Iterator[Check]:
    for name, mend in OPTIONAL_PROGRAMS.items():
        found = shutil.which(name)
        yield Check(
            name, "ok" if found else "missing", found or "not found; jeeves works without it", mend, needed=False
        )


def _warm_system(settings: Settings) -> Iterator[Check]:
    from serve.runtimes.warm import read_record

    record = read_record(settings.state_dir)
    detail = f"up, process {record.pid}" if record else "not up; `ask` starts what it needs"
    yield Check("warm system", "ok" if record else "missing", detail, "jeeves up", needed=False)


LOOKS: tuple[Callable[[Settings], Iterator[Check]], ...] = (
    _python,
    _packages,
    _code,
    _storage,
    _store,
    _capabilities,
    _pipelines,
    _models,
    _programs,
    _warm_system,
)
