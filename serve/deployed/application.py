"""Builds the HTTP service as an application of Ray Serve, for `serve deploy` and KubeRay's RayService.

Replicas answer for one system on their cluster, gRPC as well if the arguments say so. Whichever comes first starts it,
and it stays when replicas go: runs survive an update of the application. docs/guides/deploy.md says how to deploy it;
on one machine, `jeeves serve` bounds slow clients better (docs/decisions/012-http-proxy.md).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from ray import serve as ray_serve
from ray.serve import Application
from starlette.types import ASGIApp

DEPLOYMENT = "service"


class ServiceArguments(BaseModel):
    """Holds the `args` of the application in a Serve config.

    `config`: a settings file on the nodes; without it, settings are found as by commands. `grpc`: replicas answer gRPC
    too, where `grpc_options` of the same file opens its port.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: Path | None = None
    grpc: bool = False


class JeevesService:
    """Answers HTTP requests in one replica."""

    def __init__(self, config: str | None) -> None:
        # Imported here: the class travels by value, and what it needs is installed where replicas run.
        from serve.deployed.joined_service import joined_service
        from serve.replica_port import keep_to_the_node

        keep_to_the_node()
        self._joined = joined_service(config)
        self._stopping = self._joined.end_with_replica()

    def __serve_build_asgi_app__(self) -> ASGIApp:
        """Return the application, as Ray Serve asks after construction."""
        return self._joined.http_app()

    async def check_health(self) -> None:
        """Raise ClusterError once the system is gone for good, so that another replica starts it anew."""
        await self._joined.check()


def _call(name: str) -> Callable[[JeevesGrpcService, Any, Any], Awaitable[Any]]:
    async def call(self: JeevesGrpcService, request: Any, grpc_context: Any) -> Any:
        return await self.door.reply(name, request, grpc_context)

    return call


class JeevesGrpcService(JeevesService):
    """Answers gRPC besides: Ray Serve's proxy calls the method that is named like the call."""

    def __init__(self, config: str | None) -> None:
        super().__init__(config)
        self.door = self._joined.grpc_door()

    Run = _call("Run")
    Answer = _call("Answer")
    Resume = _call("Resume")
    Cancel = _call("Cancel")
    Get = _call("Get")
    List = _call("List")
    CreateEnvelope = _call("CreateEnvelope")
    CanContinue = _call("CanContinue")
    Result = _call("Result")
    Validate = _call("Validate")

    async def Stream(self, request: Any, grpc_context: Any) -> AsyncGenerator[Any, None]:  # noqa: N802 (as in the file)
        """Answer the call with many replies."""
        async with aclosing(self.door.stream(request, grpc_context)) as parts:
            async for part in parts:
                yield part


def application(args: dict[str, Any]) -> Application:
    """Return the application, with the one deployment `service`. `args`: the fields of `ServiceArguments`.

    Raises pydantic.ValidationError, which Ray Serve tells as the reason why the application was not deployed.
    """
    told = ServiceArguments.model_validate(args)
    with_ingress: Callable[[type], Any] = ray_serve.ingress()
    deployment: Any = ray_serve.deployment(
        name=DEPLOYMENT, ray_actor_options={"num_cpus": 0}, max_ongoing_requests=1_000
    )(with_ingress(JeevesGrpcService if told.grpc else JeevesService))
    bound: Application = deployment.bind(None if told.config is None else str(told.config))
    return bound
