"""Checks whether the models that agents reason with answer, for `GET /ready`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.errors import ModelDownError
from runtime.llm.model_file import ModelsFile, read_models
from runtime.llm.protocol import ModelBackend
from runtime.llm.provider import Opening, all_providers
from runtime.llm.tokens import ByteCounter
from runtime.primitives.clock import SystemClock, wait_at_most

CHECK_TIMEOUT_S = 5.0
ANSWERS = "answers"


class ModelState:
    """Checks the deployments that roles use. `backends`: deployment → the backend that reaches it."""

    def __init__(self, models: ModelsFile, backends: Mapping[str, ModelBackend]) -> None:
        self._models = models
        self._backends = backends
        self._clock = SystemClock()

    @classmethod
    def open(cls, told: Mapping[str, Any], contributed: Iterable[str] = ()) -> ModelState:
        """Open the backends of a model file, given as plain data; `contributed`: providers beside the kernel's own.

        No keys are needed: an endpoint that refuses the request does answer.
        """
        providers, clock = all_providers(contributed), SystemClock()
        models, backends = read_models(told, providers), dict[str, ModelBackend]()
        for name in models.used_deployments():
            deployment = models.deployments[name]
            backends[name] = providers[deployment.backend].open(Opening(name, deployment, ByteCounter(), clock))
        return cls(models, backends)

    async def look(self) -> dict[str, str]:
        """Return the state of each deployment: `answers`, or the reason why it does not."""
        said = await asyncio.gather(*(self._said(backend) for backend in self._backends.values()))
        return dict(zip(self._backends, said, strict=True))

    def roles_without(self, said: Mapping[str, str]) -> list[str]:
        """Return the roles of which no deployment answers."""
        return [
            name
            for name, role in self._models.roles.items()
            if all(said[deployment] != ANSWERS for deployment in (role.deployment, *role.fallbacks))
        ]

    async def _said(self, backend: ModelBackend) -> str:
        try:
            await wait_at_most(self._clock, CHECK_TIMEOUT_S, backend.check())
        except ModelDownError as error:
            return error.message
        except TimeoutError:
            return f"no answer within {CHECK_TIMEOUT_S:g} s"
        return ANSWERS
