"""Builds the HTTP service as an application of Ray Serve, for `serve deploy` and KubeRay's RayService.

Replicas answer for one system on their cluster. Whichever comes first starts it, and it stays when replicas go: runs
survive an update of the application. docs/guides/deploy.md says how to deploy it; on one machine, `jeeves serve` bounds
slow clients better (docs/decisions/012-http-proxy.md).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from ray import serve as ray_serve
from ray.serve import Application
from starlette.types import ASGIApp

DEPLOYMENT = "service"


class ServiceArguments(BaseModel):
    """Holds the `args` of the application in a Serve config.

    `config`: a settings file on the nodes; without it, settings are found as by commands.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: Path | None = None


class JeevesService:
    """Answers HTTP requests in one replica."""

    def __init__(self, config: str | None) -> None:
        # Imported here: the class travels by value, and what it needs is installed where replicas run.
        from serve.deployed.joined_service import joined_service
        from serve.replica_port import keep_to_the_node

        keep_to_the_node()
        self._app, self._check = joined_service(config)

    def __serve_build_asgi_app__(self) -> ASGIApp:
        """Return the application, as Ray Serve asks after construction."""
        return self._app

    async def check_health(self) -> None:
        """Raise ClusterError once the system is gone for good, so that another replica starts it anew."""
        await self._check()


def application(args: dict[str, Any]) -> Application:
    """Return the application, with the one deployment `service`. `args`: the fields of `ServiceArguments`.

    Raises pydantic.ValidationError, which Ray Serve tells as the reason why the application was not deployed.
    """
    told = ServiceArguments.model_validate(args)
    with_ingress: Callable[[type], Any] = ray_serve.ingress()
    deployment: Any = ray_serve.deployment(
        name=DEPLOYMENT, ray_actor_options={"num_cpus": 0}, max_ongoing_requests=1_000
    )(with_ingress(JeevesService))
    bound: Application = deployment.bind(None if told.config is None else str(told.config))
    return bound
