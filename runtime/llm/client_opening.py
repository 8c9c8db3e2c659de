"""Opens what a model file describes: counters, backends and the client of a process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.bus.queries import QueryClient
from runtime.errors import SettingsError
from runtime.llm.client import ModelClient
from runtime.llm.deployment import Deployment
from runtime.llm.model_file import ModelsFile, read_models
from runtime.llm.places import LocalPlaces, Places, SharedPlaces
from runtime.llm.prompts import PromptRegistry
from runtime.llm.protocol import ModelBackend
from runtime.llm.provider import Opening, Providers, all_providers
from runtime.llm.tokens import ByteCounter, TokenCounter, TokenizerCounter
from runtime.primitives.clock import Clock


def open_client(
    models: ModelsFile,
    clock: Clock,
    providers: Providers,
    has_cluster: bool = False,
    env: Mapping[str, str] | None = None,
    queries: QueryClient | None = None,
) -> ModelClient:
    """Open a client for the deployments that roles use. `has_cluster`: true in a process of Ray's.

    With `queries`, concurrent calls of a deployment are limited over all processes whose queries have one handler.

    Raises SettingsError for a missing key, tokenizer or cluster.
    """
    env = os.environ if env is None else env
    backends: dict[str, ModelBackend] = {}
    for name in models.used_deployments():
        deployment = models.deployments[name]
        provider = providers[deployment.backend]
        if provider.needs_cluster and not has_cluster:
            raise SettingsError(
                f"deployment '{name}' is {provider.title}, which a process without Ray cannot reach; "
                "set ray.mode to attach or local, or name an OpenAI-compatible endpoint"
            )
        backends[name] = provider.open(Opening(name, deployment, counter_of(deployment), clock, env))
    concurrent = {name: models.deployments[name].concurrent for name in backends}
    places: Places = LocalPlaces(concurrent)
    if queries is not None:
        of_all = {name for name in backends if not providers[models.deployments[name].backend].limits_itself}
        shared = {name: number for name, number in concurrent.items() if name in of_all}
        places = SharedPlaces(shared, places, queries, clock)
    return ModelClient(models, backends, clock, places=places)


def open_models(
    settings: Mapping[str, Any],
    capability: str,
    clock: Clock,
    has_cluster: bool = False,
    queries: QueryClient | None = None,
) -> tuple[ModelClient | None, PromptRegistry | None]:
    """Open the client and the prompts for agents of a capability; (None, None) if the settings have no models.

    `settings` is the part that agents get: `models`, `config_folders`, `package_folders` (capability → folder that its
    package brings) and the contributed `providers`.
    """
    told = settings.get("models")
    if told is None:
        return None, None
    brought = settings.get("package_folders", {}).get(capability)
    folders = [*settings["config_folders"], *([brought] if brought else [])]
    prompts = PromptRegistry.open((Path(folder) for folder in folders), capability)
    providers = all_providers(settings.get("providers", ()))
    return open_client(read_models(told, providers), clock, providers, has_cluster, queries=queries), prompts


def counter_of(deployment: Deployment) -> TokenCounter:
    """Return a counter that uses the deployment's tokenizer, or bytes if it has none. Raises SettingsError."""
    place = deployment.tokenizer_place()
    return ByteCounter(deployment.bytes_per_token) if place is None else TokenizerCounter.open(place)


def check_deployment(deployment: Deployment, providers: Providers, env: Mapping[str, str] | None = None) -> None:
    """Raise SettingsError if a deployment cannot be used from here: a package, a key or a tokenizer is missing."""
    provider = providers[deployment.backend]
    counter_of(deployment)
    provider.check(deployment, os.environ if env is None else env)
    provider.check_needs()
