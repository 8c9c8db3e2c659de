"""Provides models at endpoints that speak the OpenAI chat protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from runtime.errors import SettingsError
from runtime.llm.deployment import Deployment, Seconds
from runtime.llm.protocol import ModelBackend
from runtime.llm.provider import Needs, Opening, Provider
from runtime.llm.structured import StructuredOutput
from runtime.primitives.text_files import read_text_file


class OpenAIDeployment(Deployment):
    """Holds the settings of an endpoint. Its key is in a variable or a file, never in the model file."""

    MUST_EXIST: ClassVar[tuple[str, ...]] = ("tokenizer", "ca_file")
    PATHS: ClassVar[tuple[str, ...]] = ("tokenizer", "ca_file", "api_key_file")

    backend: Literal["openai"]
    base_url: str = Field(pattern=r"^https?://[^\s]+$", max_length=2_000)
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    api_key_file: str | None = None
    ca_file: str | None = None
    structured_output: StructuredOutput = "json_schema"
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    connect_timeout_s: Seconds = 5
    silence_timeout_s: Seconds = 60

    @model_validator(mode="after")
    def _one_key(self) -> OpenAIDeployment:
        if self.api_key_env is not None and self.api_key_file is not None:
            raise PydanticCustomError("two_keys", "give api_key_env or api_key_file, not both")
        return self


def api_key(deployment: OpenAIDeployment, env: Mapping[str, str] | None = None) -> str | None:
    """Return the key of an endpoint, None if it needs none. Raises SettingsError if a configured key is missing."""
    if deployment.api_key_env is not None:
        key = (os.environ if env is None else env).get(deployment.api_key_env, "").strip()
        where = f"the variable {deployment.api_key_env}"
    elif deployment.api_key_file is not None:
        where = f"the file {deployment.api_key_file}"
        try:
            key = read_text_file(Path(deployment.api_key_file).expanduser()).strip()
        except (OSError, ValueError) as error:
            raise SettingsError(f"{where} with the key of {deployment.base_url} cannot be read: {error}") from error
    else:
        return None
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(f"{where} holds no usable key of {deployment.base_url}; put the key there")
    return key


# The client is imported where it is used: questions without a model do not need it.


def _open(opening: Opening[OpenAIDeployment]) -> ModelBackend:
    from runtime.llm.openai_client import OpenAIBackend

    deployment = opening.deployment
    key = None if opening.env is None else api_key(deployment, opening.env)
    return OpenAIBackend(deployment, opening.counter, key, opening.clock)


def _check(deployment: OpenAIDeployment, env: Mapping[str, str]) -> None:
    from runtime.llm.openai_client import trusting

    api_key(deployment, env)
    if deployment.ca_file is not None:
        trusting(deployment.ca_file)


PROVIDER = Provider(
    name="openai",
    title="an OpenAI-compatible endpoint",
    settings=OpenAIDeployment,
    open=_open,
    told=lambda name, deployment: f"{name}: {deployment.model} at {deployment.base_url}",
    check=_check,
    needs=Needs("aiohttp", "llm"),
)
