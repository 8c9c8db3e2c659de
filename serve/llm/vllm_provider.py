"""Provides models by vLLM on Ray Serve in the same cluster, reached by their deployment handles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from actors.model_handle import handle_backend
from runtime.errors import SettingsError
from runtime.llm.deployment import Deployment, Frozen, absolute
from runtime.llm.model_file import ModelsFile
from runtime.llm.protocol import ModelBackend
from runtime.llm.provider import Opening, Provider

# What vLLM reads first of a model's folder: one of them is there.
MODEL_CONFIGS = ("config.json", "params.json")
CPU = "cpu"

# How Ray binds a bundle to nodes of a kind of GPU without using that kind up.
SHARE_OF_KIND = 0.001


class Replicas(Frozen):
    """Bounds the copies of an engine: from `min` to `max`, one more when each has `ongoing_requests` in progress."""

    min: int = Field(default=1, ge=0, le=1_000)
    max: int = Field(default=1, ge=1, le=1_000)
    ongoing_requests: int = Field(default=32, ge=1, le=100_000)

    @model_validator(mode="after")
    def _in_order(self) -> Replicas:
        if self.min > self.max:
            raise PydanticCustomError("order", "min must not be above max")
        return self


class VllmDeployment(Deployment):
    """Holds the settings of vLLM. `model`: a name to fetch or a folder; `accelerator` `cpu` runs without a GPU.

    `engine` is passed to vLLM unchanged.
    """

    backend: Literal["vllm"]
    accelerator: str = Field(min_length=1, max_length=64)
    tensor_parallel: int = Field(default=1, ge=1, le=64)
    cpus_per_replica: int = Field(default=1, ge=1, le=512)
    replicas: Replicas = Replicas()
    engine: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _a_cpu_is_one(self) -> VllmDeployment:
        if self.accelerator == CPU and self.tensor_parallel != 1:
            raise PydanticCustomError("cpu_parallel", "tensor_parallel is for GPUs; with accelerator cpu it is 1")
        reserved = sorted(self.engine.keys() & {"max_model_len", "tensor_parallel_size"})
        if reserved:
            raise PydanticCustomError("reserved", "engine must not repeat {keys}", {"keys": ", ".join(reserved)})
        return self

    def missing_files(self) -> Iterator[tuple[str, str]]:
        """Yield the wrong paths of every deployment, and a model that should be a folder and is none."""
        yield from super().missing_files()
        folder = absolute(self.model)
        if folder.is_dir() and not any((folder / name).is_file() for name in MODEL_CONFIGS):
            yield "model", f"the folder {folder} holds no model: there is no {' or '.join(MODEL_CONFIGS)} in it"
        elif not folder.is_dir() and self.model.startswith(("/", ".", "~")):
            yield "model", f"there is no folder {folder}"

    def with_absolute_paths(self) -> Self:
        """Make the model's path absolute as well, if it is a folder."""
        moved = super().with_absolute_paths()
        folder = absolute(self.model)
        return moved.model_copy(update={"model": str(folder)}) if folder.is_dir() else moved

    def tokenizer_place(self) -> Path | None:
        """Return the tokenizer that is configured, or the one in the model's folder."""
        folder = Path(self.model).expanduser()
        return super().tokenizer_place() or (folder if (folder / "tokenizer.json").is_file() else None)


def bundles(deployment: VllmDeployment) -> list[dict[str, float]]:
    """Return the resource bundles of one replica, one per worker; the first one also hosts the replica."""
    if deployment.accelerator == CPU:
        return [{"CPU": float(deployment.cpus_per_replica)}]
    worker = {"GPU": 1.0, f"accelerator_type:{deployment.accelerator}": SHARE_OF_KIND}
    first = {**worker, "CPU": float(deployment.cpus_per_replica)}
    return [first, *({**worker} for _ in range(deployment.tensor_parallel - 1))]


def _told(name: str, deployment: VllmDeployment) -> str:
    counts = deployment.replicas
    replicas = f"{counts.min} to {counts.max} replicas" if counts.min < counts.max else f"{counts.max} replicas"
    if counts.min == counts.max == 1:
        replicas = "1 replica"
    asked = ("{" + ", ".join(f"{key}: {value:g}" for key, value in each.items()) + "}" for each in bundles(deployment))
    return f"{name}: {deployment.model}, {replicas}, each {' + '.join(asked)}"


def _open(opening: Opening[VllmDeployment]) -> ModelBackend:
    return handle_backend(opening.name, opening.deployment, opening.counter)


def _deploy(models: ModelsFile) -> object:
    try:
        from serve.llm.model_server import deploy
    except ImportError as error:
        raise SettingsError(
            f"vLLM cannot be imported here ({error}); install the extra 'gpu', or use the environment of `make llm-env`"
        ) from error
    return deploy(models)


PROVIDER = Provider(
    name="vllm",
    title="vLLM on Ray Serve",
    settings=VllmDeployment,
    open=_open,
    told=_told,
    needs_cluster=True,
    limits_itself=True,
    deploy=_deploy,
)
