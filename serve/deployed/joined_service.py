"""Joins a replica of Ray Serve to the system of its cluster, which it has started if nobody did.

A process of its own starts the system: the system's actors then belong to a job of their own, with their own namespace
and import path, rather than to Ray Serve, and need no process to stay.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import ray
from starlette.types import ASGIApp

from actors.actor_logs import configure_actor_logs
from actors.origin import check_origin, code_tree
from actors.ray_version import check_ray_version
from actors.system import System
from actors.system_actors import attach_system, systems_on_cluster
from runtime.errors import ClusterError, SettingsError
from runtime.pipeline.config import PipelineConfig
from runtime.processes.garbage import collect_rarely
from runtime.settings import Settings, load_settings, open_state_dir
from serve.deployed.replica_stop import close_once_stopping, drain_s_within, grace_s, stopping_seen
from serve.http.answering.service import Service
from serve.http.app import http_app
from serve.http.running import service_spec
from serve.pipeline_files import load_named_pipeline, warm_pipeline_names

if TYPE_CHECKING:
    from serve.grpc.door import GrpcDoor

START_WITHIN_S = 300
LOOK_AGAIN_S = 0.5
TOLD_CHARS = 2_000

log = logging.getLogger(__name__)


class Joined(NamedTuple):
    """Holds the service over the system of this cluster, and the pipelines that it keeps ready, by name.

    `check` raises ClusterError once the system is gone.
    """

    service: Service
    pipelines: dict[str, PipelineConfig]
    check: Callable[[], Awaitable[None]]

    def http_app(self) -> ASGIApp:
        """Return the application that answers HTTP."""
        return http_app(self.service)

    def end_with_replica(self) -> asyncio.Task[None] | None:
        """Begin to watch for the end of this replica, and refuse calls then; None if it cannot be seen."""
        is_stopping = stopping_seen()
        if is_stopping is None:
            return None
        closing = close_once_stopping(is_stopping, self.service.closing, drain_s_within(grace_s()))
        return asyncio.get_running_loop().create_task(closing)

    def grpc_door(self) -> GrpcDoor:
        """Return what answers gRPC."""
        # Imported here: protobuf's generated code needs newer libraries than the rest, and few deployments use it.
        from serve.grpc.door import GrpcDoor

        return GrpcDoor(self.service, self.pipelines)


def joined_service(config: str | None) -> Joined:
    """Return the service over the system of this cluster, which is started if nobody did.

    Blocks until the system is there. Raises VersionMismatchError, SettingsError, DocumentFaults and ClusterError.
    """
    check_origin()
    check_ray_version()
    collect_rarely()
    configure_actor_logs("http")
    settings = _settings_here(load_settings(None if config is None else Path(config)))
    pipelines = [load_named_pipeline(settings, name) for name in warm_pipeline_names(settings)]
    repositories = {name: str(folder) for name, folder in settings.http.repositories.items()}
    if not repositories:
        raise SettingsError("no repository is registered; name those that callers may ask about in http.repositories")
    system = _started(settings)
    # Whoever can reach a node can reach the proxy there.
    spec = msgspec.structs.replace(service_spec(settings, pipelines, repositories), tokens_required=True)

    async def check() -> None:
        if settings.system not in systems_on_cluster():
            raise ClusterError(f"the system '{settings.system}' is no longer on the cluster")

    return Joined(Service(system, spec), {pipeline.name: pipeline for pipeline in pipelines}, check)


def _settings_here(settings: Settings) -> Settings:
    """Return settings that join the cluster of this process."""
    address = ray.get_runtime_context().gcs_address
    here = settings.ray.model_copy(update={"mode": "attach", "address": address})
    return settings.model_copy(update={"ray": here})


def _started(settings: Settings) -> System:
    """Return the system of the settings, started if need be. Raises ClusterError."""
    gives_up_s = time.monotonic() + START_WITHIN_S
    while True:
        if settings.system in systems_on_cluster():
            return attach_system(settings.system)
        starting = subprocess.run(
            [sys.executable, "-m", "serve.deployed.start_system"],
            input=settings.json_with_secrets(),
            capture_output=True,
            text=True,
            # Ray puts the working folder of a driver before all others that modules are imported from.
            cwd=open_state_dir(settings.state_dir),
            env=_environment(),
            timeout=max(1.0, gives_up_s - time.monotonic()),
            check=False,
        )
        if starting.returncode == 0:
            return attach_system(settings.system)
        told = starting.stderr.strip()[-TOLD_CHARS:]
        # Another replica may have been first, and its system may be half there.
        if settings.system not in systems_on_cluster() or time.monotonic() > gives_up_s:
            raise ClusterError(f"the system '{settings.system}' could not be started: {told}")
        log.info("system.started_elsewhere", extra={"system": settings.system})
        time.sleep(LOOK_AGAIN_S)


def _environment() -> dict[str, str]:
    """Return the environment of the process that starts the system: without what names this worker to Ray."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("RAY_") or name.startswith("RAY_AUTH_") or name == "RAY_BACKEND_LOG_LEVEL"
    }
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, [str(code_tree()), kept.get("PYTHONPATH")]))}
