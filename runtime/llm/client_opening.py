"""Opens what a model file describes: counters, backends and the client of a process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runtime.errors import SettingsError
from runtime.llm.client import ModelClient
from runtime.llm.model_file import ModelsFile, OpenAIDeployment, VllmDeployment, api_key
from runtime.llm.openai_client import OpenAIBackend
from runtime.llm.prompts import PromptRegistry
from runtime.llm.protocol import ModelBackend
from runtime.llm.tokens import ByteCounter, TokenCounter, TokenizerCounter
from runtime.primitives.clock import Clock

OpenVllm = Callable[[str, VllmDeployment, TokenCounter], ModelBackend]


def open_client(
    models: ModelsFile, clock: Clock, open_vllm: OpenVllm | None = None, env: Mapping[str, str] | None = None
) -> ModelClient:
    """A client for every deployment that some role uses. `open_vllm`: how this process reaches vLLM, None: not at all.

    Raises SettingsError for a key, a tokenizer or a way to vLLM that is missing.
    """
    env = os.environ if env is None else env
    backends: dict[str, ModelBackend] = {}
    for name in used_deployments(models):
        deployment = models.deployments[name]
        if isinstance(deployment, OpenAIDeployment):
            key = api_key(deployment, env)
            backends[name] = OpenAIBackend(deployment, counter_of(deployment), key, clock)
        elif open_vllm is None:
            raise SettingsError(
                f"deployment '{name}' is vLLM on Ray Serve, which a process without Ray cannot reach; "
                "set ray.mode to attach or local, or name an OpenAI-compatible endpoint"
            )
        else:
            backends[name] = open_vllm(name, deployment, counter_of(deployment))
    return ModelClient(models, backends, clock)


def open_models(
    settings: Mapping[str, Any], capability: str, clock: Clock, open_vllm: OpenVllm | None = None
) -> tuple[ModelClient | None, PromptRegistry | None]:
    """The client and the prompts for agents of a capability, from what they are told of the settings (`models` and
    `config_folders`); None and None for agents that reason by rules."""
    told = settings.get("models")
    if told is None:
        return None, None
    prompts = PromptRegistry.open((Path(folder) for folder in settings["config_folders"]), capability)
    return open_client(ModelsFile.model_validate(told), clock, open_vllm), prompts


def used_deployments(models: ModelsFile) -> Iterator[str]:
    """The deployments that roles name, each once, in the order of the file."""
    named = {name for role in models.roles.values() for name in (role.deployment, *role.fallbacks)}
    return (name for name in models.deployments if name in named)


def counter_of(deployment: OpenAIDeployment | VllmDeployment) -> TokenCounter:
    """Counts by the tokenizer of a deployment, or by bytes where none is at hand. Raises SettingsError."""
    if deployment.tokenizer is not None:
        return TokenizerCounter.open(Path(deployment.tokenizer).expanduser())
    folder = Path(deployment.model).expanduser()
    if isinstance(deployment, VllmDeployment) and (folder / "tokenizer.json").is_file():
        return TokenizerCounter.open(folder)
    return ByteCounter(deployment.bytes_per_token)
