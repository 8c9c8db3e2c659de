"""Declares providers of models: model files, clients, checks and deployment follow from a declaration.

Each module of `runtime.llm.providers` defines a `PROVIDER` of the kernel; others are contributed by name
("module:NAME"). How to add one: docs/guides/add-a-provider.md.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from runtime.errors import SettingsError
from runtime.llm import providers
from runtime.llm.deployment import Deployment
from runtime.llm.protocol import ModelBackend
from runtime.llm.tokens import TokenCounter
from runtime.primitives.clock import Clock
from runtime.primitives.declared import declared

if TYPE_CHECKING:
    from runtime.llm.model_file import ModelsFile

Given = TypeVar("Given", bound=Deployment)


class Opening(msgspec.Struct, Generic[Given], frozen=True):
    """Carries the arguments of `Provider.open`. `env` holds keys; None: the backend is only checked, without a key."""

    name: str
    deployment: Given
    counter: TokenCounter
    clock: Clock
    env: Mapping[str, str] | None = None


class Needs(msgspec.Struct, frozen=True):
    """Names a package that a provider depends on: a module of it, and the extra of jeeves that installs it."""

    module: str
    extra: str


class Provider(msgspec.Struct, Generic[Given], frozen=True):
    """Declares one provider. `name` is the `backend` of its deployments in a model file, `title` their name in errors.

    `open` returns the backend of a deployment and does not connect yet. `check` raises SettingsError if a deployment
    cannot be used as configured, for example without its key. `told` describes a deployment in one line. With
    `needs_cluster` only Ray's processes can reach it; with `limits_itself` its server keeps `concurrent`, so that
    clients need not count their calls together; `deploy` starts the deployments that roles use on the connected
    cluster and raises ClusterError and SettingsError.
    """

    name: str
    title: str
    settings: type[Given]
    open: Callable[[Opening[Given]], ModelBackend]
    told: Callable[[str, Given], str]
    check: Callable[[Given, Mapping[str, str]], None] = lambda deployment, env: None
    needs: Needs | None = None
    needs_cluster: bool = False
    limits_itself: bool = False
    deploy: Callable[[ModelsFile], object] | None = None

    def check_needs(self) -> None:
        """Raise SettingsError that names the extra to install if the package is missing."""
        if self.needs is not None and importlib.util.find_spec(self.needs.module) is None:
            extra = self.needs.extra
            raise SettingsError(f"{self.title} needs the extra '{extra}': pip install 'jeeves[{extra}]'")


Providers = Mapping[str, Provider[Any]]


def all_providers(contributed: Iterable[str] = ()) -> Providers:
    """Return the kernel's providers and those that are named as "module:NAME", by name.

    Raises SettingsError for a name without a provider, and for two providers of the same name.
    """
    own = sorted(module.name for module in pkgutil.iter_modules(providers.__path__))
    found: dict[str, Provider[Any]] = {}
    for spec in (*(f"{providers.__name__}.{name}:PROVIDER" for name in own), *contributed):
        provider = declared(spec, Provider, "provider")
        if provider.name in found:
            raise SettingsError(f"two providers are named '{provider.name}'; '{spec}' needs a name of its own")
        found[provider.name] = provider
    return found
