"""Reads model files (`configs/models/*.yaml`): the deployments of models, and the roles that use them.

The front end reads the file and lists every fault; agents get it as plain data (`ModelsFile.model_dump`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, PlainValidator, SerializeAsAny, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from runtime.errors import SettingsError
from runtime.llm.deployment import Deployment, Frozen
from runtime.llm.provider import Providers, all_providers
from runtime.primitives.yaml_documents import Document, Fault, load_yaml, model_faults, raise_faults

DEFAULT_ROLE = "default"

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Given = TypeVar("Given", bound=Deployment)


def _validate_by_provider(value: Any, info: ValidationInfo) -> Deployment:
    """Validate a deployment by the settings of the provider that its `backend` names."""
    if isinstance(value, Deployment):
        return value
    providers: Providers = info.context or all_providers()
    named = value.get("backend") if isinstance(value, Mapping) else None
    if not isinstance(named, str) or named not in providers:
        known = ", ".join(f"'{name}'" for name in providers)
        raise PydanticCustomError("backend", "backend must be one of {known}", {"known": known})
    settings: type[Deployment] = providers[named].settings
    return settings.model_validate(value)


class Role(Frozen):
    """Names the deployment that a role uses, and its fallbacks, in order, when that cannot be used."""

    deployment: Name
    fallbacks: tuple[Name, ...] = ()
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    max_tokens: int = Field(default=1_024, ge=1, le=1_000_000)


class ModelsFile(Frozen):
    """Holds a whole model file. Roles that it does not name use the role `default`."""

    deployments: dict[Name, Annotated[SerializeAsAny[Deployment], PlainValidator(_validate_by_provider)]] = Field(
        min_length=1
    )
    roles: dict[Name, Role] = Field(min_length=1)

    def role(self, name: str) -> Role:
        """Return the role of that name, or the default one."""
        return self.roles.get(name) or self.roles[DEFAULT_ROLE]

    def used_deployments(self) -> Iterator[str]:
        """Yield the deployments that roles name, each once, in the order of the file."""
        named = {name for role in self.roles.values() for name in (role.deployment, *role.fallbacks)}
        return (name for name in self.deployments if name in named)

    def used_of(self, settings: type[Given]) -> dict[str, Given]:
        """Return the deployments with these settings that roles name."""
        used = {name: self.deployments[name] for name in self.used_deployments()}
        return {name: deployment for name, deployment in used.items() if isinstance(deployment, settings)}


def read_models(told: Mapping[str, Any], providers: Providers) -> ModelsFile:
    """Read a model file from the plain data that `ModelsFile.model_dump` made."""
    return ModelsFile.model_validate(told, context=providers)


def load_models(
    path: Path, role_overrides: Mapping[str, str] | None = None, contributed: Iterable[str] = ()
) -> ModelsFile:
    """Read the model file at `path`; `role_overrides` moves roles to other deployments.

    `contributed`: providers beside the kernel's own, as "module:NAME". Raises DocumentFaults and SettingsError.
    """
    document = load_yaml(path)
    if not isinstance(document.data, dict):
        raise_faults([document.fault((), "not a model file: it must be a mapping with deployments and roles")])
    try:
        models = ModelsFile.model_validate(document.data, context=all_providers(contributed))
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
        for key, problem in deployment.missing_files():
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


def _with_absolute_paths(models: ModelsFile) -> ModelsFile:
    deployments = {name: deployment.with_absolute_paths() for name, deployment in models.deployments.items()}
    return models.model_copy(update={"deployments": deployments})


def _with_overrides(models: ModelsFile, overrides: Mapping[str, str], path: Path) -> ModelsFile:
    roles = dict(models.roles)
    for name, deployment in overrides.items():
        if deployment not in models.deployments:
            known = ", ".join(models.deployments)
            raise SettingsError(f"models.roles.{name}: {path} has no deployment '{deployment}'; it has {known}")
        roles[name] = models.role(name).model_copy(update={"deployment": deployment})
    return models.model_copy(update={"roles": roles})
