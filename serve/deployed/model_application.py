"""Builds one deployment of a model file as an application of Ray Serve.

It is for `serve deploy` and RayService. Agents find it by its name: the application of the
deployment `main` is called `model-main`.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from runtime.errors import UnknownNameError
from runtime.llm.model_file import ModelsFile
from runtime.settings import load_settings
from serve.llm.vllm_provider import VllmDeployment
from serve.wiring import models_file


class ModelArguments(BaseModel):
    """Holds the `args` of the application. `file`: a path, or the name of a file in configs/models."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    deployment: str = "main"


def deployment_of(args: ModelArguments) -> VllmDeployment:
    """Return the deployment that the arguments name. Raises UnknownNameError and DocumentFaults."""
    models = _models(args.file)
    found = models.deployments.get(args.deployment)
    if not isinstance(found, VllmDeployment):
        known = sorted(name for name, each in models.deployments.items() if isinstance(each, VllmDeployment))
        raise UnknownNameError(
            f"{args.file} has no vLLM deployment '{args.deployment}'; it has {', '.join(known) or 'none'}",
            name=args.deployment,
            known=known,
        )
    return found


def application(args: dict[str, Any]) -> Any:
    """Return the application of the model, where vLLM is installed. `args`: the fields of `ModelArguments`.

    Raises pydantic.ValidationError, and as `deployment_of` does.
    """
    told = ModelArguments.model_validate(args)
    deployment = deployment_of(told)
    from ray.serve.llm import LLMConfig, build_llm_deployment

    from serve.llm.model_server import ModelServer
    from serve.llm.resources import llm_config_of

    config = LLMConfig(**llm_config_of(told.deployment, deployment))
    return build_llm_deployment(config, deployment_cls=ModelServer)


def _models(file: str) -> ModelsFile:
    settings = load_settings()
    given = settings.models.model_copy(update={"file": file, "roles": {}})
    models = models_file(settings.model_copy(update={"models": given}))
    assert models is not None, "a file was given"
    return models
