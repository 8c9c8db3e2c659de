"""Connects to a system that is up: that of `jeeves up` on this machine, or one on an attached cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.origin import code_version
from runtime.errors import InputError, RunStateError
from runtime.primitives.ids import RunId
from runtime.settings import Settings
from serve.library.backend import Backend
from serve.library.hosted_backend import HostedBackend, RunHost
from serve.library.warm_backend import WarmBackend
from serve.principals import at_terminal
from serve.runtimes.warm import WarmRuntime, read_record, settings_digest

if TYPE_CHECKING:
    from serve.runtimes.ray_runtime import RayRuntime


class GuestHosts:
    """Drives runs with the actors of a system that another process keeps."""

    def __init__(self, runtime: RayRuntime) -> None:
        self._runtime = runtime

    async def of_pipeline(self, pipeline: str) -> RunHost:
        return self._runtime.system

    def opened(self) -> list[RunHost]:
        return [self._runtime.system]

    async def take_over(self, run_id: RunId, pipeline: str) -> RunHost:
        problem = f"run {run_id} is not driven by this system: it can be read here, and changed where it is driven"
        raise RunStateError(problem, run_id=run_id)

    async def close(self) -> None:
        await self._runtime.close()


async def cluster_backend(settings: Settings) -> Backend:
    """Return the backend over the system that is up. Raises InputError if there is none, VersionMismatchError."""
    user_id = at_terminal().user_id
    record = read_record(settings)
    if record is not None:
        if record.settings_digest != settings_digest(settings):
            raise InputError(
                f"the system that is up (process {record.pid}) has other settings; use those that it was started with,"
                " or run `jeeves down` and `jeeves up`"
            )
        return WarmBackend(settings, user_id, WarmRuntime(record, code_version()))
    if settings.ray.mode == "attach":
        # Imported here: connecting to a warm system must not pay for importing Ray.
        from serve.runtimes.ray_runtime import guest_runtime

        guest = await guest_runtime(settings)
        if guest is not None:
            return HostedBackend(settings, user_id, GuestHosts(guest))
    raise InputError("no system is up; start one with `jeeves up`, or answer in this process: Jeeves.in_process()")
