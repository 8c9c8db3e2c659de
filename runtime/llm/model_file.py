"""Model files (`configs/models/*.yaml`): which deployments of models there are, and which role uses which.

Read by the door, which lists every fault; agents get the same thing as plain data (`ModelsFile.model_dump`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from runtime.errors import SettingsError
from runtime.primitives.yaml_documents import Document, Fault, load_yaml, model_faults, raise_faults

DEFAULT_ROLE = "default"
# What vLLM reads first of a model's folder: one of them is there.
MODEL_CONFIGS = ("config.json", "params.json")

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class _Deployment(_Frozen):
    """What every deployment says. `max_model_len`: tokens of prompt and answer together;
    `concurrent`: calls at once.

    Without a `tokenizer` (a file or a folder) tokens are counted by bytes.
    """

    model: str = Field(min_length=1, max_length=500)
    max_model_len: int = Field(ge=256, le=10_000_000)
    tokenizer: str | None = None
    bytes_per_token: float = Field(default=1.0, ge=1, le=8, allow_inf_nan=False)
    concurrent: int = Field(default=32, ge=1, le=10_000)
    total_timeout_s: Seconds = 120


class OpenAIDeployment(_Deployment):
    """An endpoint that speaks the OpenAI chat protocol. The key is in a variable or a file, never in this one."""

    backend: Literal["openai"]
    base_url: str = Field(pattern=r"^https?://[^\s]+$", max_length=2_000)
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    api_key_file: str | None = None
    ca_file: str | None = None
    structured_output: Literal["json_schema", "json_object", "none"] = "json_schema"
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    connect_timeout_s: Seconds = 5
    silence_timeout_s: Seconds = 60

    @model_validator(mode="after")
    def _one_key(self) -> OpenAIDeployment:
        if self.api_key_env is not None and self.api_key_file is not None:
            raise PydanticCustomError("two_keys", "give api_key_env or api_key_file, not both")
        return self


class Replicas(_Frozen):
    """How many copies of an engine run: from `min` to `max`, one more when each has `ongoing_requests` in hand."""

    min: int = Field(default=1, ge=0, le=1_000)
    max: int = Field(default=1, ge=1, le=1_000)
    ongoing_requests: int = Field(default=32, ge=1, le=100_000)

    @model_validator(mode="after")
    def _in_order(self) -> Replicas:
        if self.min > self.max:
            raise PydanticCustomError("order", "min must not be above max")
        return self


class VllmDeployment(_Deployment):
    """vLLM on Ray Serve. `model`: a name to fetch or a folder; `accelerator` `cpu` runs without a GPU.

    `engine` goes to vLLM as it is.
    """

    backend: Literal["vllm"]
    accelerator: str = Field(min_length=1, max_length=64)
    tensor_parallel: int = Field(default=1, ge=1, le=64)
    cpus_per_replica: int = Field(default=1, ge=1, le=512)
    replicas: Replicas = Replicas()
    engine: dict[str, Any] = {}

    @model_validator(mode="after")
    def _a_cpu_is_one(self) -> VllmDeployment:
        if self.accelerator == "cpu" and self.tensor_parallel != 1:
            raise PydanticCustomError("cpu_parallel", "tensor_parallel is for GPUs; with accelerator cpu it is 1")
        reserved = sorted(self.engine.keys() & {"max_model_len", "tensor_parallel_size"})
        if reserved:
            raise PydanticCustomError("reserved", "engine must not repeat {keys}", {"keys": ", ".join(reserved)})
        return self


Deployment = Annotated[OpenAIDeployment | VllmDeployment, Field(discriminator="backend")]


class Role(_Frozen):
    """Which deployment a role uses, and which it falls back to, in order, when that cannot be used."""

    deployment: Name
    fallbacks: tuple[Name, ...] = ()
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False)
    max_tokens: int = Field(default=1_024, ge=1, le=1_000_000)


class ModelsFile(_Frozen):
    """A whole model file. A role that is not named uses the role `default`."""

    deployments: dict[Name, Deployment] = Field(min_length=1)
    roles: dict[Name, Role] = Field(min_length=1)

    def role(self, name: str) -> Role:
        """The role, or the default one."""
        return self.roles.get(name) or self.roles[DEFAULT_ROLE]


def load_models(path: Path, role_overrides: Mapping[str, str] | None = None) -> ModelsFile:
    """The model file at `path`, roles moved to other deployments by `role_overrides`. Raises DocumentFaults."""
    document = load_yaml(path)
    if not isinstance(document.data, dict):
        raise_faults([document.fault((), "not a model file: it must be a mapping with deployments and roles")])
    try:
        models = ModelsFile.model_validate(document.data)
    except ValidationError as error:
        raise_faults(model_faults(document, error))
        raise
    raise_faults(_faults(document, models))
    return _with_overrides(_with_absolute_paths(models), role_overrides or {}, path)


def _faults(document: Document, models: ModelsFile) -> Iterator[Fault]:
    known = ", ".join(models.deployments)
    if DEFAULT_ROLE not in models.roles:
        yield document.fault(("roles",), f"the role '{DEFAULT_ROLE}' is missing; other roles fall back to it")
    for name, deployment in models.deployments.items():
        for key, problem in _missing_files(deployment):
            yield document.fault(("deployments", name, key), problem)
    for name, role in models.roles.items():
        if role.deployment not in models.deployments:
            problem = f"no deployment is named '{role.deployment}'; there are: {known}"
            yield document.fault(("roles", name, "deployment"), problem)
        for number, fallback in enumerate(role.fallbacks):
            place = ("roles", name, "fallbacks", number)
            if fallback not in models.deployments:
                yield document.fault(place, f"no deployment is named '{fallback}'; there are: {known}")
            elif fallback == role.deployment or fallback in role.fallbacks[:number]:
                yield document.fault(place, f"'{fallback}' is tried before already")
        for used in dict.fromkeys((role.deployment, *role.fallbacks)):
            room = models.deployments[used].max_model_len if used in models.deployments else None
            if room is not None and role.max_tokens >= room:
                problem = f"{role.max_tokens} leave no room for a prompt: '{used}' takes {room}"
                yield document.fault(("roles", name, "max_tokens"), problem)


def _missing_files(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Key and problem of each path in a deployment that leads nowhere, or to something else."""
    for key in ("tokenizer", "ca_file"):
        path = getattr(deployment, key, None)
        if path is not None and not _absolute(path).exists():
            yield key, f"there is no {_absolute(path)}"
    if isinstance(deployment, VllmDeployment):
        folder = _absolute(deployment.model)
        if folder.is_dir() and not any((folder / name).is_file() for name in MODEL_CONFIGS):
            yield "model", f"the folder {folder} holds no model: there is no {' or '.join(MODEL_CONFIGS)} in it"
        elif not folder.is_dir() and deployment.model.startswith(("/", ".", "~")):
            yield "model", f"there is no folder {folder}"


def _absolute(path: str) -> Path:
    """A path of the file as it is from here: they count from the folder that jeeves was started in."""
    try:
        return Path(path).expanduser().resolve()
    except (RuntimeError, ValueError):  # a home of nobody, or a name that no file can have
        return Path(path)


def _with_absolute_paths(models: ModelsFile) -> ModelsFile:
    """Paths as every process has them, wherever it runs: workers do not start in the folder of whoever started them."""
    deployments = {}
    for name, deployment in models.deployments.items():
        paths = {key: getattr(deployment, key, None) for key in ("tokenizer", "ca_file", "api_key_file")}
        if isinstance(deployment, VllmDeployment) and _absolute(deployment.model).is_dir():
            paths["model"] = deployment.model
        absolute = {key: str(_absolute(path)) for key, path in paths.items() if path is not None}
        deployments[name] = deployment.model_copy(update=absolute)
    return models.model_copy(update={"deployments": deployments})


def _with_overrides(models: ModelsFile, overrides: Mapping[str, str], path: Path) -> ModelsFile:
    roles = dict(models.roles)
    for name, deployment in overrides.items():
        if deployment not in models.deployments:
            known = ", ".join(models.deployments)
            raise SettingsError(f"models.roles.{name}: {path} has no deployment '{deployment}'; it has {known}")
        roles[name] = models.role(name).model_copy(update={"deployment": deployment})
    return models.model_copy(update={"roles": roles})


def api_key(deployment: OpenAIDeployment, env: Mapping[str, str] | None = None) -> str | None:
    """The key of an endpoint, None where it needs none. Raises SettingsError when it is to have one and has not."""
    if deployment.api_key_env is not None:
        key = (os.environ if env is None else env).get(deployment.api_key_env, "").strip()
        where = f"the variable {deployment.api_key_env}"
    elif deployment.api_key_file is not None:
        where = f"the file {deployment.api_key_file}"
        try:
            key = Path(deployment.api_key_file).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise SettingsError(f"{where} with the key of {deployment.base_url} cannot be read: {error}") from error
    else:
        return None
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(f"{where} holds no usable key of {deployment.base_url}; put the key there")
    return key
